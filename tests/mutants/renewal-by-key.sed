# a renewal asks for the key alone, not for holder and fence (P5)
# file: src/store/postgresql/pg_renew.c
# model: expiry RENEW_BY_KEY
# caught by: store contract renew
s/"lease.key {=} item.key AND lease.holder {=} item.holder AND lease.fence {=} item.fence"/"lease.key {=} item.key"/

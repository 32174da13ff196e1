# a plain release of many asks for the keys alone, and so a late one frees the next holders' (P5)
# file: src/store/postgresql/pg_plain.c
# model: claim RELEASE_BY_KEY
# caught by: store contract batches
s/"WHERE lease.key {=} item.key AND lease.holder {=} item.holder "/"WHERE lease.key {=} item.key "/
s/"AND lease.fence {=} item.fence AND NOT lease.released RETURNING #wake)"/"AND NOT lease.released RETURNING #wake)"/

# a row of a batch that was not answered for, since it is locked, counts as lost (P5)
# file: src/store/postgresql/pg_renew.c
# model: expiry MISSING_IS_LOST
# caught by: unit pg_leases
s/"ELSE 'locked' END AS verdict, "/"ELSE 'gone' END AS verdict, "/

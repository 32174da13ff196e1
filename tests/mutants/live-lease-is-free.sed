# a claim takes a lease that another holds and that has not run out (P1)
# file: src/store/postgresql/pg_claim.c
# caught by: store contract claim
# caught by: faults 36 20
s/"WHEN NOT released AND expires_at {>} now THEN 'held' "//
s/AND (lease.released OR lease.expires_at {<=} !clock_timestamp()) "/"/

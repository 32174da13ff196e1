# a late duplicate of one's own claim wins again (P5)
# file: src/store/postgresql/pg_claim.c
# model: claim NO_ATTEMPT
# caught by: store contract claim
s/ AND attempt {>} lease_attempt "/ "/
s/ AND lease.attempt {<} EXCLUDED.attempt "/ "/

# the fence is what was drawn before the wait for the row's lock (P2)
# file: src/store/postgresql/pg_claim.c src/store/postgresql/pg_quick.c src/store/postgresql/pg_plain.c
# model: claim EXCLUDED_FENCE
# caught by: unit pg_leases
s/GREATEST(!nextval(@@fence_seq), lease.fence {+} 1)/EXCLUDED.fence/

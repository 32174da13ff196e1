# the same holder claims again after a lost reply and keeps its fence (P2, P5)
# file: src/store/postgresql/pg_claim.c
# model: claim FENCE_KEPT
# caught by: store contract claim
s/"fence = GREATEST(!nextval(@@fence_seq), lease.fence {+} 1), attempt = EXCLUDED.attempt, "/"fence = CASE WHEN lease.holder {=} EXCLUDED.holder THEN lease.fence ELSE GREATEST(!nextval(@@fence_seq), lease.fence {+} 1) END, attempt = EXCLUDED.attempt, "/

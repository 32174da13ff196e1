# a slot that has been started may be started again once the key is free (P3)
# file: src/store/postgresql/pg_claim.c
# model: slots SLOT_FORGOTTEN
# caught by: store contract slots
s/"WHEN (slot_run_id IS NOT NULL AND is_made_up IS NOT TRUE) OR lease_slot {=} slot OR "/"WHEN "/
s/"IS NOT TRUE AND (lease.slot {=} EXCLUDED.slot) IS NOT TRUE)) "/"IS NOT TRUE)) "/

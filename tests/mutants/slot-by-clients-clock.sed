# whether a slot is due is taken on the word of the client's clock (P3)
# file: src/store/postgresql/pg_claim.c
# model: slots CLIENT_CLOCK
# caught by: store contract slots
# caught by: faults 26 45
s/"WHEN slot {>} (now {+} '1 second'::!interval) THEN 'early' "//

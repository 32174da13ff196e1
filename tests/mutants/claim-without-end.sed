# a claim may win however late it arrives (P5)
# file: src/store/postgresql/pg_claim.c src/store/postgresql/pg_quick.c src/store/postgresql/pg_plain.c
# model: claim NO_NOT_AFTER
# caught by: store contract claim
s/"OR now {>} not_after THEN 'raced' "/"THEN 'raced' "/
s/!clock_timestamp() {<=} #instant(\$2::!int8)/$2::!int8 IS NOT NULL/
s/!clock_timestamp() {<=} \$2::!timestamptz/$2::!timestamptz IS NOT NULL/

# a claim may win however late it arrives (P5)
# file: src/store/postgresql/pg_claim.c src/store/postgresql/pg_quick.c
# caught by: store contract claim
# caught by: faults 13 40
s/ OR now {>} not_after THEN 'raced' "/ THEN 'raced' "/
s/WHERE !clock_timestamp() {<=} #instant(\$2::!int8) AND (/WHERE \$2::!int8 IS NOT NULL AND (/
s/ AND t.now {<=} #instant(\$2::!int8) "/ AND $2::!int8 IS NOT NULL "/
s/"AND !clock_timestamp() {<=} #instant(\$2::!int8) "/"AND $2::!int8 IS NOT NULL "/

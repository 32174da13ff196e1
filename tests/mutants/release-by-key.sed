# a release asks for the key alone, and so a late one frees the next holder's (P5)
# file: src/store/postgresql/pg_quick.c src/store/postgresql/pg_release.c
# model: claim RELEASE_BY_KEY
# caught by: store contract release
s/"AND lease.holder {=} \$3::!text AND lease.fence {=} \$4::!int8 AND NOT lease.released "/"AND $3::!text IS NOT NULL AND NOT lease.released "/
/^static const char release_sql/,/;$/ s/"WHERE lease.key {=} item.key AND lease.holder {=} item.holder "/"WHERE lease.key {=} item.key "/
/^static const char release_sql/,/;$/ s/"AND lease.fence {=} item.fence AND NOT lease.released RETURNING lease.key, #wake)"/"AND NOT lease.released RETURNING lease.key, #wake)"/

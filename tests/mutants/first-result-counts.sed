# the first result is acted on, before the statement is known to be committed (P5)
# file: src/store/postgresql/pg_query.c
# caught by: unit pg_leases
/keep(query, result);/,/continue;/ s/continue;/finish(query); return;/

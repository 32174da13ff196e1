# purge deletes what it has found without looking again (P5)
# file: src/store/postgresql/pg_lists.c
# model: purge BLIND_DELETE
# caught by: unit pg_leases
/UPKEEP ", dead AS MATERIALIZED/,/", old AS MATERIALIZED/ {
    s/ FOR UPDATE OF lease SKIP LOCKED)"/)"/
    s/"WHERE lease.key {=} dead.key AND " lease_condition " RETURNING 1)"/"WHERE lease.key {=} dead.key RETURNING 1)"/
}

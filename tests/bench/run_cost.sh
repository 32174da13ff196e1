#!/bin/sh
# SPDX-License-Identifier: ISC
# What one exclusive run of `true` costs, whole process, beside what else people use.
# usage: [BUILD=build] [ROUNDS=200] sh tests/bench/run_cost.sh [--check]
# --check: exit 1 when a goal is missed (PostgreSQL <= 1.10 x its floor, SQLite <= 1.5 x its floor).
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
: "${BUILD:=$top/build}" "${ROUNDS:=200}"
work=$(mktemp -d)
chmod 755 "$work"
PG_ROOT=$work/pg
mkdir "$PG_ROOT"
. "$top/tests/lib/pg.sh"
. "$here/peers.sh"
stop_all() {
    pg_stop_all
    etcd_stop
    rm -rf "$work"
}
trap stop_all EXIT
trap 'exit 130' INT TERM HUP
row() { name=$1; shift; printf '%s' "$name"; for word; do printf '\t%s' "$word"; done; echo; }

cc -O2 -D_GNU_SOURCE -static -o "$work/rounds" "$here/rounds.c" &&
    cc -O2 -D_GNU_SOURCE -I"$(pg_config --includedir)" -o "$work/pgfloor" "$here/pgfloor.c" -lpq &&
    cc -O2 -D_GNU_SOURCE -o "$work/sqfloor" "$here/sqfloor.c" -lsqlite3 || exit 2

pg_start bench fsync=on full_page_writes=on shared_buffers=128MB || exit 2
PGPASSWORD=$PG_PASSWORD
export PGPASSWORD
unix=$(pg_url bench postgres)
tcp="$(pg_tcp_url bench postgres postgres)?sslmode=disable&gssencmode=disable"
pg_sql bench postgres 'CREATE TABLE floor_lease (name text PRIMARY KEY, owner text, token bigint NOT NULL,
    claimed_at timestamptz, expires_at timestamptz) WITH (fillfactor = 50)' >/dev/null
"$BUILD/src/leaserun" init --store "$unix" >/dev/null || exit 2
"$work/sqfloor" -i "$work/floor.db" || exit 2

psql_lock_make "$work/psql-lock" pg_try_advisory_lock
{
    row 'true' true
    row 'flock' flock "$work/flock" true
    row 'SQLite floor' "$work/sqfloor" "$work/floor.db" job true
    row 'leaserun, SQLite' "$BUILD/src/leaserun" run --store "sqlite:$work/state/leaserun.db" job -- true
    row 'libpq floor, unix' "$work/pgfloor" "$unix" unix true
    row 'libpq floor, unix, again' "$work/pgfloor" "$unix" again true
    row 'leaserun, PostgreSQL, unix' "$BUILD/src/leaserun" run --store "$unix" unix -- true
    row 'libpq floor, TCP' "$work/pgfloor" "$tcp" tcp true
    row 'leaserun, PostgreSQL, TCP' "$BUILD/src/leaserun" run --store "$tcp" tcp -- true
    row 'psql, advisory lock' "$work/psql-lock" "$unix" job true
} >"$work/spec"
# shellcheck disable=SC2154  # set by etcd_start
! etcd_start ||
    row 'etcdctl lock' etcdctl --endpoints "$etcd_endpoint" lock job true >>"$work/spec"
"$work/rounds" "$ROUNDS" "$work/spec" >"$work/raw.tsv" || exit 2
python3 "$here/table.py" "$work/raw.tsv" "$@"

#!/bin/sh
# SPDX-License-Identifier: ISC
# How soon a waiter starts after the holder has ended, by several ways to wait.
# usage: [BUILD=build] [ROUNDS=30] sh tests/bench/handoff.sh [--check]
# --check: exit 1 when leaserun takes more than 1.3 x the NOTIFY floor.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
: "${BUILD:=$top/build}" "${ROUNDS:=30}"
work=$(mktemp -d)
chmod 755 "$work"
PG_ROOT=$work/pg
mkdir "$PG_ROOT"
. "$top/tests/lib/pg.sh"
stop_all() {
    [ ! -s "$work/pooler/pid" ] || kill "$(cat "$work/pooler/pid")"
    wait
    pg_stop_all
    rm -rf "$work"
}
trap stop_all EXIT
trap 'exit 130' INT TERM HUP
tab=$(printf '\t')
row() { name=$1; shift; printf '%s' "$name"; for word; do printf '%s%s' "$tab" "$word"; done; echo; }

cc -O2 -D_GNU_SOURCE -static -o "$work/hold" "$here/hold.c" &&
    cc -O2 -D_GNU_SOURCE -I"$(pg_config --includedir)" -o "$work/pgwait" "$here/pgwait.c" -lpq || exit 2
pg_start bench fsync=on full_page_writes=on shared_buffers=128MB || exit 2
url=$(pg_url bench postgres)
pg_sql bench postgres 'CREATE TABLE floor_lease (name text PRIMARY KEY, owner text, token bigint NOT NULL,
    claimed_at timestamptz, expires_at timestamptz) WITH (fillfactor = 50)' >/dev/null
"$BUILD/src/leaserun" init --store "$url" >/dev/null || exit 2
{
    row 'flock' flock "$work/flock" @
    row 'libpq floor, advisory lock' "$work/pgwait" advisory "$url" advisory @
    row 'libpq floor, NOTIFY' "$work/pgwait" notify "$url" notify @
    row 'libpq floor, poll 0.1 s' "$work/pgwait" 100 "$url" fast @
    row 'libpq floor, poll 1 s' "$work/pgwait" 1000 "$url" slow @
    row 'leaserun, direct' "$BUILD/src/leaserun" run --wait 60s --store "$url" direct -- @
    row 'leaserun, SQLite' "$BUILD/src/leaserun" run --wait 60s --store "sqlite:$work/state/leaserun.db" job -- @
} >"$work/spec"
if command -v pgbouncer >/dev/null; then
    mkdir "$work/pooler"
    cat >"$work/pooler/ini" <<-END
	[databases]
	postgres = host=$PG_ROOT/bench port=$(cat "$PG_ROOT/bench/port") user=postgres
	[pgbouncer]
	listen_addr =
	listen_port = 6432
	unix_socket_dir = $work/pooler
	auth_type = any
	pool_mode = transaction
	pidfile = $work/pooler/pid
	END
    _pg_own "$work/pooler"
    (cd / && _pg_as_owner pgbouncer -q "$work/pooler/ini" >"$work/pooler.log" 2>&1) &
    tries=0
    until [ -S "$work/pooler/.s.PGSQL.6432" ] || [ $tries -ge 100 ]; do
        tries=$((tries + 1))
        sleep 0.05
    done
    row 'leaserun, PgBouncer' "$BUILD/src/leaserun" run --wait 60s \
        --store "postgresql:///postgres?host=$work/pooler&port=6432&user=postgres" pooled -- @ >>"$work/spec"
else
    echo 'pgbouncer is not installed: its row is left out' >&2
fi
python3 "$here/handoff.py" "$work/hold" "$ROUNDS" "$work/spec" "$@"

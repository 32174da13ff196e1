#!/bin/sh
# SPDX-License-Identifier: ISC
# What a scheduler costs with many jobs, and how late 1,000 commands start that are due together:
# leaserun on PostgreSQL beside a floor (one sleep, a spawn for each, with and without one claim for
# all) and the crons of the distribution, in one run. A cell takes one to two minutes.
# usage: [BUILD=build] [SIZES='1000 10000 100000'] [DUE=1000] [REPEAT=1]
#        [PEERS='floor floor-claim leaserun busybox cron'] sh tests/bench/schedule_cost.sh
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
: "${BUILD:=$top/build}" "${SIZES:=1000 10000 100000}" "${DUE:=1000}" "${REPEAT:=1}"
: "${PEERS:=floor floor-claim leaserun busybox cron}"
work=$(mktemp -d)
chmod 755 "$work"
PG_ROOT=$work/pg
mkdir "$PG_ROOT"
. "$top/tests/lib/pg.sh"
stop_all() {
    pg_stop_all
    rm -rf "$work"
}
trap stop_all EXIT
trap 'exit 130' INT TERM HUP
cc -O2 -D_GNU_SOURCE -static -o "$work/stamp" "$here/stamp.c" &&
    cc -O2 -D_GNU_SOURCE -I"$(pg_config --includedir)" -o "$work/floor" "$here/schedule_floor.c" \
        -lpq || exit 2
pg_start bench fsync=on full_page_writes=on shared_buffers=128MB max_connections=200 || exit 2
url=$(pg_url bench postgres)
pg_sql bench postgres 'CREATE TABLE floor_lease (name text PRIMARY KEY, owner text, token bigint NOT NULL,
    claimed_at timestamptz, expires_at timestamptz) WITH (fillfactor = 50)' >/dev/null
"$BUILD/src/leaserun" init --store "$url" >/dev/null || exit 2
python3 "$here/schedule_cost.py" --work "$work" --leaserun "$BUILD/src/leaserun" --store "$url" \
    --due "$DUE" --repeat "$REPEAT" --sizes "$SIZES" --peers "$PEERS"

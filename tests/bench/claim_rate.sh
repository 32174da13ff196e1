#!/bin/sh
# SPDX-License-Identifier: ISC
# How fast one connection claims and gives back KEYS keys at once, beside the least that this must
# send, and what it costs the server. The rounds of all kinds are made in turn; medians are shown.
# Of the three proportions the first is to the floor that keeps no record of a run, the second to
# the floor that does (with slots: to the one whose record names them), the third to the first floor
# again, without the time that the record costs the floor.
# usage: [BUILD=build] [ROUNDS=5] [SECONDS_EACH=2] [KEYS=100] sh tests/bench/claim_rate.sh
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
: "${BUILD:=$top/build}" "${ROUNDS:=5}" "${SECONDS_EACH:=2}" "${KEYS:=100}"
work=$(mktemp -d)
chmod 755 "$work"
PG_ROOT=$work/pg
mkdir "$PG_ROOT"
# shellcheck source=tests/lib/pg.sh
. "$top/tests/lib/pg.sh"
trap 'pg_stop_all; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
ninja -C "$BUILD" tests/bench/claim_rate >/dev/null || exit 2
bench=$BUILD/tests/bench/claim_rate

pg_start bench fsync=on full_page_writes=on shared_buffers=128MB max_wal_size=4GB autovacuum=off || exit 2
url=$(pg_url bench postgres)
"$BUILD/src/leaserun" init --store "$url" >/dev/null || exit 2

sql() { pg_sql bench postgres "$@"; }
median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
column() { awk -v kind="$1" -v column="$2" '$1 == kind { print $column }' "$work/rounds" | median; }

echo "load average before: $(cut -d ' ' -f 1-3 /proc/loadavg)"
round=0
while [ $round -lt "$ROUNDS" ]; do
    round=$((round + 1))
    for kind in floor record dated store slots losing; do
        echo "$kind $("$bench" $kind "$url" "$KEYS" "$SECONDS_EACH")" >>"$work/rounds" || exit 2
    done
done
echo "load average after: $(cut -d ' ' -f 1-3 /proc/loadavg)"

floor=$(column floor 3)
printf '%-8s %10s %8s %9s %13s %7s %7s %8s %6s\n' kind cycles/s x_floor x_record x_less_record CPU_us own_us WAL_B xids
for kind in floor record dated store slots losing; do
    case $kind in dated | slots) with=dated ;; *) with=record ;; esac
    awk -v kind=$kind -v rate="$(column $kind 3)" -v floor="$floor" -v record="$(column $with 3)" \
        -v cpu="$(column $kind 4)" -v wal="$(column $kind 5)" -v xids="$(column $kind 6)" \
        -v own="$(column $kind 7)" 'BEGIN {
            less = kind ~ /store|slots/ ? sprintf("%.2f", 1 / floor / (1 / rate - 1 / record + 1 / floor)) : "-"
            printf "%-8s %10d %8.2f %9.2f %13s %7.1f %7.1f %8.1f %6.3f\n", kind, rate, rate / floor,
                rate / record, less, cpu, own, wal, xids }'
done

# One round alone, by what its WAL is about. Indexes and the sequence count with their table.
"$bench" slots "$url" "$KEYS" 0.2 >/dev/null
sql 'select pg_stat_reset()' checkpoint >/dev/null
from=$(sql 'select pg_current_wal_insert_lsn()')
cycles=$("$bench" slots "$url" "$KEYS" 1 | cut -d ' ' -f 1)
to=$(sql 'select pg_switch_wal()')
bytes_of() { # RELATION...: bytes a cycle, without images of whole pages
    for relation; do
        file=$(sql "select pg_relation_filepath('leaserun.$relation')")
        "$PG_BIN/pg_waldump" -p "$PG_ROOT/bench/data/pg_wal" -s "$from" -e "$to" -R "1663/${file#base/}"
    done 2>/dev/null | sed -n '/FPW/d; s|^.*len (rec/tot): *[0-9]*/ *\([0-9]*\),.*|\1|p' |
        awk -v cycles="$cycles" '{ sum += $1 } END { printf "%.0f", sum / cycles }'
}
echo "WAL of a claim and its release: $(bytes_of leases leases_pkey fence_seq) bytes for the lease," \
    "$(bytes_of runs runs_pkey runs_key_slot_key runs_once) for the record of the run"
sleep 1
sql "select relname || ': ' || round(100.0 * n_tup_hot_upd / nullif(n_tup_upd, 0), 1) || '% of ' ||
    n_tup_upd || ' updates HOT' from pg_stat_user_tables where relname in ('leases', 'runs')
    order by 1"
pg_stop bench

pg_start fast || exit 2 # fsync off: only the CPU is asked for
url=$(pg_url fast postgres)
"$BUILD/src/leaserun" init --store "$url" >/dev/null || exit 2
"$bench" pinned "$url" 10000 1000 | awk '{ print "CPU for a renewal: " $1 " us; after 10000 versions \
that an open transaction keeps: " $2 " us, " $3 " times as much" }'

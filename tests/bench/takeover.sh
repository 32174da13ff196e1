#!/bin/sh
# SPDX-License-Identifier: ISC
# How soon another starts when whoever holds the lock for a command is killed with -9, and whether
# the killed one's command still runs then; beside what else people use.
# usage: [BUILD=build] [TRIES=20] sh tests/bench/takeover.sh [--check]
# --check: exit 1 when leaserun's median is above 100 ms, or two ran at once.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
: "${BUILD:=$top/build}" "${TRIES:=20}"
work=$(mktemp -d)
chmod 755 "$work"
PG_ROOT=$work/pg
mkdir "$PG_ROOT"
. "$top/tests/lib/pg.sh"
. "$here/peers.sh"
trap 'pg_stop_all; etcd_stop; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
tab=$(printf '\t')

# row NAME TRIES KIND COMMAND: KIND wait: a second one waits for the first; again: it is started
# again and again until it runs. JOB in the command is what runs under the lock.
row() { printf "%s$tab%s$tab%s$tab%s\n" "$@"; }

pg_start bench fsync=on || exit 2
unix=$(pg_url bench postgres)
leaserun=$BUILD/src/leaserun
"$leaserun" init --store "$unix" >/dev/null || exit 2
psql_lock_make "$work/psql-lock" pg_advisory_lock
{
    row 'leaserun, PostgreSQL' "$TRIES" again "$leaserun run --quiet --store $unix k -- JOB"
    row 'leaserun --wait, PostgreSQL' "$TRIES" wait "$leaserun run --wait 1m --store $unix w -- JOB"
    row 'leaserun, SQLite' "$TRIES" again "$leaserun run --store sqlite:$work/s/a.db k -- JOB"
    row 'flock' 3 wait "flock $work/flock JOB"
    row 'flock -o' "$TRIES" wait "flock -o $work/flock JOB"
    row 'psql, advisory lock' "$TRIES" wait "$work/psql-lock $unix lock JOB"
} >"$work/spec"
# shellcheck disable=SC2154  # set by etcd_start
! etcd_start ||
    row 'etcdctl lock' 3 wait "etcdctl --endpoints $etcd_endpoint lock lock JOB" >>"$work/spec"
python3 "$here/takeover.py" "$work/spec" "$BUILD/tests/tools/stamp" "$work" "$@"

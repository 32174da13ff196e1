#!/bin/sh
# SPDX-License-Identifier: ISC
# Five jobs such as people have (database backup, certificate check, log rotation, report, queue
# drain), kept by three replicas against one PostgreSQL. One replica is killed, one restarted; in the
# end what their logs say, what history says and what the jobs have done must agree. Prints TAP.
#
#     BUILD=FOLDER [MINUTES=10] sh tests/replicas/real_jobs.sh
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
top=$(cd "$here/../.." && pwd)
: "${BUILD:=$top/build}" "${MINUTES:=10}"
work=$(mktemp -d) || exit 1
chmod 755 "$work"
PG_ROOT=$work/pg
mkdir "$PG_ROOT"
. "$top/tests/lib/pg.sh"
stop_all() {
    pg_stop_all
    rm -rf "$work"
}
trap stop_all EXIT
trap 'exit 130' HUP INT TERM

pg_start real >/dev/null || exit 1
pg_sql real postgres 'create database app' >/dev/null
pg_sql real app 'create table queue (id serial primary key, at timestamptz not null default now());
    create table drained (id int not null, fence bigint not null);
    create table customers (name text, since date);
    insert into customers select $$customer $$ || n, current_date - n from generate_series(1, 2000) n' >/dev/null
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$work/key.pem" -out "$work/cert.pem" -days 90 \
    -subj /CN=localhost 2>/dev/null || exit 1
PATH=$PG_BIN:$PATH PGHOST=$PG_ROOT/real PGPORT=$(cat "$PG_ROOT/real/port") PGUSER=postgres \
    PGDATABASE=app python3 "$here/real_jobs.py" --work "$work" --leaserun "$BUILD/src/leaserun" \
    --store "$(pg_url real app)" --minutes "$MINUTES"

# SPDX-License-Identifier: ISC
# shellcheck shell=bash
# For the tests of wrong clocks, after helpers: servers and hosts whose wall clock is another, or is
# stepped while they run, by libfaketime. CLOCK_MONOTONIC and CLOCK_BOOTTIME stay true, as they do
# when a clock is set.
#
# A clock is a file that holds an offset to the true time, such as "+7200" or "-0.5".

FAKETIME_LIBRARY=(/usr/lib/*/faketime/libfaketime.so.1)

# setup_file calls this, and teardown_file clocks_end: processes under libfaketime share a piece of
# memory, which one that leaves by _exit would not remove.
clocks_begin() {
    FAKETIME_MEMORY=$(LD_PRELOAD=${FAKETIME_LIBRARY[0]} FAKETIME=+0 \
        bash -c 'echo "$FAKETIME_SHARED"; kill -KILL $$' 2>/dev/null) || true
    [ -n "$FAKETIME_MEMORY" ]
    export FAKETIME_MEMORY
}

clocks_end() {
    local semaphore memory
    read -r semaphore memory <<<"$FAKETIME_MEMORY"
    rm -f "/dev/shm/sem.${semaphore#/}" "/dev/shm/${memory#/}"
}

# Starts a command (env takes our place: a pid is the command's) under a clock.
under_clock() { # FILE COMMAND...
    local file=$1
    shift
    exec env LD_PRELOAD="${FAKETIME_LIBRARY[0]}" FAKETIME_SHARED="$FAKETIME_MEMORY" \
        FAKETIME_TIMESTAMP_FILE="$file" FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1 "$@"
}

# A clock that is off by so many seconds, as a file; prints its path.
clock_file() { # SECONDS
    local file
    file=$(mktemp "$BATS_TEST_TMPDIR/clock.XXXXXX")
    step_clock "$file" "$1"
    echo "$file"
}

# Renamed into place: a reader never sees half a number.
step_clock() { # FILE SECONDS
    printf '%+.6f\n' "$2" >"$1.new"
    chmod 644 "$1.new"
    mv "$1.new" "$1"
}

# ---- servers -------------------------------------------------------------------------------

# A server with a clock of its own, which server_clock steps while it runs.
clocked_server() { # NAME [SETTING...]
    local folder=$PG_ROOT/.clock.$1
    mkdir "$folder"
    chmod 711 "$folder"
    step_clock "$folder/clock" 0
    # Not before it is the server's own user: the piece of memory is to be his.
    cat >"$folder/pg_ctl" <<-END
	#!/bin/sh
	exec env LD_PRELOAD=${FAKETIME_LIBRARY[0]} FAKETIME_TIMESTAMP_FILE=$folder/clock \\
	    FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1 $PG_BIN/pg_ctl "\$@"
	END
    chmod 755 "$folder/pg_ctl"
    PG_BIN=$folder pg_start "$@"
}

server_clock() { # NAME SECONDS
    step_clock "$PG_ROOT/.clock.$1/clock" "$2"
}

# What the server thinks how far it is from the true time, in whole seconds.
server_offset() { # NAME
    pg_sql "$1" postgres "select round(extract(epoch from clock_timestamp()) - $(date +%s.%N))"
}

# ---- expectations --------------------------------------------------------------------------

# One try for the key by another host ends with this status.
expect_try() { # STATUS
    run --separate-stderr leaserun run "$KEY" -- true
    expect_status "$1"
}

# It did what it was to do and said nothing.
ended_well() { # PID SECONDS
    finish "$1" "$2"
    expect_equal "$STATUS $(started_stderr "$1")" "0 "
}

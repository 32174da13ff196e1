# SPDX-License-Identifier: ISC
# shellcheck shell=bash
# For the tests of `leaserun schedule`, after helpers: a job table, replicas that keep it, and what
# they say (logfmt, one line an event: at, level, event, job, key, slot ...).

# Each test has a store and a table of its own; what jobs do stands in the file STARTS.
setup() {
    fresh_store
    TABLE=$BATS_TEST_TMPDIR/jobs.ini
    export STARTS=$BATS_TEST_TMPDIR/starts
    : >"$STARTS"
    REPLICAS=()
}

# Writes the table from standard input: renamed into place, nobody reads half of it.
table() { # [FILE]
    cat >"${1:-$TABLE}.new"
    mv "${1:-$TABLE}.new" "${1:-$TABLE}"
}

# The commands of most jobs here: the slot that was started, as a line of STARTS.
# shellcheck disable=SC2034,SC2016  # for tests; the command's own shell expands it
NOTE='echo "$LEASERUN_JOB $LEASERUN_SLOT" >>"$STARTS"'

# And one that says when two of them are alive at the same time.
# shellcheck disable=SC2016,SC2034
ALONE='mkdir "$STARTS.alone" || echo two >"$STARTS.two"; sleep 0.4; rmdir "$STARTS.alone"'

# Starts one more replica, and waits until it is ready; sets PID.
replica() { # [OPTION...]
    start_replica "$@"
    await 20 told "$PID" 'event=(scheduler_ready|table_empty)'
}

start_replica() { # [OPTION...]
    start "$LEASERUN" schedule --log-format logfmt "$@" "$TABLE"
    REPLICAS+=("$PID")
}

# Lines of one replica's log that match; the status is 0 when there is one.
told() { # PID REGEX
    grep -E -- "$2" "${OUTPUT[$1]}.err"
}

# How many of them there are, in the logs of all replicas.
count_told() { # REGEX [PID...]
    local regex=$1 pid
    shift
    [ $# -gt 0 ] || set -- "${REPLICAS[@]}"
    for pid; do
        cat "${OUTPUT[$pid]}.err"
    done | grep -Ec -- "$regex" || true
}

# What was told at WARN and above, apart from commands that the end of a test has cut short.
count_complaints() { # [PID...]
    local pid
    [ $# -gt 0 ] || set -- "${REPLICAS[@]}"
    for pid; do
        cat "${OUTPUT[$pid]}.err"
    done | grep -E 'level=(warn|error)' | grep -vc 'level=warn event=run_stopped' || true
}

# So many lines at least in the logs of all.
all_told() { # COUNT REGEX [PID...]
    local count=$1
    shift
    [ "$(count_told "$@")" -ge "$count" ]
}

# So many lines of STARTS at least, of that job or of any.
has_started() { # COUNT [JOB]
    [ "$(grep -c "^${2:-}" "$STARTS")" -ge "$1" ]
}

# TERM, and it ends as it should.
stop_replica() { # PID [SECONDS]
    kill -TERM "$1"
    finish "$1" "${2:-10}"
    expect_equal "$STATUS" 0
}

stop_replicas() {
    local pid
    for pid in "${REPLICAS[@]}"; do
        stop_replica "$pid"
    done
}

# No slot of the job twice in STARTS, and none left out between its first and its last.
each_slot_once() { # JOB SECONDS
    grep "^$1 " "$STARTS" | python3 -c '
import sys
from datetime import datetime
step = float(sys.argv[1])
slots = sorted(datetime.fromisoformat(line.split()[-1].replace("Z", "+00:00")).timestamp()
               for line in sys.stdin)
wrong = [(a, b) for a, b in zip(slots, slots[1:]) if abs(b - a - step) > 0.01]
assert len(slots) > 1 and not wrong, (slots, wrong)' "$2"
}

# Sleeps until the wall clock is so many milliseconds past a multiple of so many.
until_phase() { # MS EVERY-MS
    python3 -c '
import sys, time
after, every = int(sys.argv[1]) / 1000, int(sys.argv[2]) / 1000
time.sleep((after - time.time()) % every)' "$1" "$2"
}

# Ends another process of a test before the test does.
stop_started_one() { # PID
    kill -TERM "$1"
    finish "$1" 10
}

#!/bin/sh
# SPDX-License-Identifier: ISC
# endurance.sh thousand|steady STORE: many runs, or many processes of one; BUILD is the folder of the
# program. The status is 0 when nothing has grown.
set -u

# Of the runs, and their guards.
count_processes() {
    pgrep -c -f '^([^ ]*/)?leaserun(-guard)? (run .*)?thousand ' || true
}

# A thousand runs of one key: each leaves neither a process nor a descriptor, a file or a lease.
thousand() { # STORE
    before=$(count_processes)
    for _ in $(seq 1000); do
        "$BUILD/src/leaserun" run --store "$1" thousand -- true || return 1
    done
    # A guard outlives its leaserun by a moment; whoever is process 1 then reaps it.
    polls=0
    while zombies=$(ps -eo stat,comm | grep -c '^Z.*leaserun') && [ $polls -lt 100 ]; do
        sleep 0.1
        polls=$((polls + 1))
    done
    after=$(count_processes)
    echo "processes before $before, after $after, zombies $zombies"
    [ "$after" -le "$before" ] && [ "$zombies" -eq 0 ] &&
        "$BUILD/src/leaserun" status --store "$1" --json | grep -q '"state": *"released"'
}

resources() { # PID
    find "/proc/$1/fd" -mindepth 1 | wc -l
    awk '/^VmRSS/ { print $2 }' "/proc/$1/status"
}

# A command that runs 1,000 short commands of its own: leaserun's descriptors and memory stand.
steady() { # STORE
    "$BUILD/src/leaserun" run --store "$1" --ttl 5s steady -- \
        sh -c 'for i in $(seq 1000); do (sleep 0.01 &) ; done; sleep 20' &
    pid=$!
    sleep 4
    first=$(resources $pid | paste -sd ' ')
    sleep 12
    last=$(resources $pid | paste -sd ' ')
    wait $pid
    status=$?
    echo "descriptors and kB: $first, then $last; status $status"
    [ "${first% *}" -eq "${last% *}" ] && [ $((${last#* } - ${first#* })) -lt 512 ] && [ $status -eq 0 ]
}

"$1" "$2"

# SPDX-License-Identifier: ISC
# shellcheck shell=bash
# For the tests of bad days, after helpers: processes that are struck, and what their stamps tell.
# Instants are microseconds of CLOCK_BOOTTIME, as `stamp` writes them.

# A signal to all of them, as close together as can be; prints the instant before the first.
strike() { # SIGNAL PID...
    python3 -c 'import os, signal, sys, time
print(time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000)
for pid in sys.argv[2:]: os.kill(int(pid), signal.Signals["SIG" + sys.argv[1]])' "$@"
}

boot_us() {
    python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000)'
}

guard_of() { # PID of leaserun
    pgrep -P "$1" -f '^leaserun-guard'
}

# The milliseconds from an instant to the first or last line of stamps, or the first of an EVENT.
first_stamp() { # FILE INSTANT [EVENT]
    awk -v from="$2" -v event="${3:-start}" '$2 == event { print int(($1 - from) / 1000); exit }' "$1"
}

second_start() { # FILE INSTANT
    awk -v from="$2" '$2 == "start" && ++n == 2 { print int(($1 - from) / 1000) }' "$1"
}

last_stamp() { # FILE INSTANT
    awk -v from="$2" '$1 > last { last = $1 } END { print int((last - from) / 1000) }' "$1"
}

stamp_pids() { # FILE
    awk '{ print $3 }' "$1" 2>/dev/null | sort -u
}

count_lives() { # FILE
    stamp_pids "$1" | wc -l
}

has_lives() { # FILE COUNT
    [ "$(count_lives "$1")" -ge "$2" ]
}

# None of those that left stamps is there any more.
all_gone() { # FILE
    local pid
    for pid in $(stamp_pids "$1"); do
        is_gone "$pid" || return 1
    done
}

# A leaserun in the background whose command leaves stamps; returns once it does. Sets PID.
start_stamp() { # FILE OPTION... (of run)
    local file=$1
    shift
    start "$LEASERUN" run "$@" "$KEY" -- "$TOOLS/stamp" "$file" 0
    await 10 test -s "$file"
}

# Two beats are 10 ms apart, and a machine that is busy with other tests is late at times: limits
# are wider than what is promised, where no_overlaps judges the promise itself.
expect_within() { # MS LOW HIGH
    [ "$1" -ge "$2" ] && [ "$1" -le "$3" ] || {
        echo "$1 ms instead of $2 to $3" >&2
        return 1
    }
}

count_events() { # PID EVENT: lines of a started leaserun
    started_stderr "$1" | grep -c "event=$2 " || true
}

# Shown in the TAP stream, for who reads it.
measured() { # WHAT MS
    echo "# $STORE_KIND: $1: $2 ms" >&3
}

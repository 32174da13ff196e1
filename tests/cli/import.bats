#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# A crontab as a job table: commands that do the same, and no line that is silently dropped.
# stores: sqlite

load ../lib/helpers

setup() {
    cd "$BATS_TEST_TMPDIR"
    export TZ=UTC
}

# The job's setting in table.ini: setting JOB KEY
setting() {
    awk -v section="[job $1]" -v key="$2 = " '
        /^\[/ { inside = $0 == section }
        inside && index($0, key) == 1 { print substr($0, length(key) + 1) }' table.ini
}

# What a job's command prints, run as leaserun runs it.
perform() { # JOB
    local shell
    shell=$(setting "$1" shell)
    eval "env $(setting "$1" env) ${shell:-/bin/sh} -c \"\$(setting $1 command)\"" </dev/null
}

import() { # OPTION...: of stdin, to table.ini
    cat >crontab
    leaserun import "$@" crontab >table.ini
}

is_good_table() {
    run --separate-stderr leaserun check table.ini
    expect_equal "$stderr" ''
    expect_contains "$output" 'table.ini: no fault'
}

@test "a user's crontab: each entry is a job, in a table without a fault" {
    import <<'END'
# m h  dom mon dow   command
*/5 * * * * /usr/local/bin/report --all >>/var/log/report.log 2>&1
0 2 * * mon-fri cd /srv/app && ./backup.sh; echo "done"   # nightly

@reboot /usr/bin/warm-up
END
    is_good_table
    expect_equal "$(grep -v -e '^$' table.ini)" "\
# The jobs of crontab, by leaserun import.
# m h  dom mon dow   command
# crontab:2
[job report]
schedule = */5 * * * *
command = /usr/local/bin/report --all >>/var/log/report.log 2>&1
# crontab:3
[job backup]
schedule = 0 2 * * mon-fri
command = cd /srv/app && ./backup.sh; echo \"done\"   # nightly
# crontab:5
[job warm-up]
schedule = @reboot
command = /usr/bin/warm-up"
}

@test "percent signs: the command gets as input what cron would have given it" {
    import <<'END'
0 0 * * * cat # here%one%two \%2%%it's $HOME%
0 0 * * * date -u -d @0 +\%F
0 0 * * * cat%
0 0 * * * sed 's/^/> /' & wait%quoted
END
    is_good_table
    expect_equal "$(perform cat)" "$(printf 'one\ntwo %%2\n\nit'\''s $HOME\n')"
    expect_equal "$(perform date)" 1970-01-01
    expect_equal "$(perform cat-2)" ''
    expect_equal "$(perform sed)" ''
}

@test "variables: the command's stand in env, in order; those that cron itself reads become settings" {
    import <<'END'
SHELL=/bin/bash
PATH = "/opt/bin:/usr/bin:/bin"
GREETING = it's "here", $HOME \ and 100% 
EMPTY=
0 0 * * * echo "$GREETING|${BASH_VERSION:+bash}|$EMPTY"
GREETING='changed '
HOME=/srv
CRON_TZ=Europe/Paris
RANDOM_DELAY=10
0 1 * * * echo "$GREETING|"
CRON_TZ=
SHELL=/bin/sh
0 2 * * * echo "${BASH_VERSION:-none}"
END
    is_good_table
    expect_equal "$(perform echo)" "it's \"here\", \$HOME \\ and 100%|bash|"
    expect_equal "$(perform echo-2)" 'changed |'
    expect_equal "$(setting echo timezone)" ''
    expect_equal "$(setting echo-2 timezone)" Europe/Paris
    expect_equal "$(setting echo-2 cwd)" /srv
    expect_equal "$(setting echo-2 jitter)" 10m
    expect_equal "$(setting echo-3 timezone)" ''
    expect_equal "$(setting echo-3 shell)" ''
}

@test "what cron knows and leaserun does not is told in a comment with its line" {
    import <<'END'
MAILTO=ops
TZ=Asia/Tokyo
-*/15 * * * * /usr/local/bin/quiet
0 0 * * 1#2 /usr/local/bin/second
END
    is_good_table
    grep -qx '# crontab:1: MAILTO=ops: leaserun sends no mail' table.ini
    grep -q '^# crontab:2: TZ=Asia/Tokyo: .* the schedule does not follow it$' table.ini
    grep -q '^# cron was not to log it' table.ini
    grep -q '^# cron itself knows no L, W and #' table.ini
    expect_equal "$(setting quiet schedule)" '*/15 * * * *'
    expect_equal "$(setting quiet env)" TZ=Asia/Tokyo
}

@test "lines that cannot be said: 78, each told and kept as a comment, and the others are there" {
    cat >crontab <<'END'
0 24 * * * /bin/late
this is no line
0 0 * * *
0 0 22-2 * * /bin/backwards
CRON_TZ=Mars/Base
0 0 * * * /bin/there
CRON_TZ=UTC
0 0 * * * /bin/good
END
    printf '0 0 * * * /bin/control \001\n' >>crontab
    run --separate-stderr leaserun import crontab
    expect_status 78
    echo "$output" >table.ini
    expect_equal "$stderr" "\
leaserun: crontab:1: hour \"24\": must be 0 to 23
leaserun: crontab:2: it is neither schedule and command nor NAME=VALUE
leaserun: crontab:3: the command is missing
leaserun: crontab:4: day of month \"22-2\": the range runs backwards: write 22-31,1-2
leaserun: crontab:5: unknown time zone \"Mars/Base\": there is no /usr/share/zoneinfo/Mars/Base
leaserun: crontab:6: CRON_TZ before it names no known zone
leaserun: crontab:9: it has a control character"
    is_good_table
    for line in 1 2 3 4 5 6 9; do
        grep -q "^# crontab:$line: left out: " table.ini
    done
    grep -qx '#   0 24 \* \* \* /bin/late' table.ini
    expect_equal "$(grep -c '^\[job ' table.ini)" 1
}

@test "a system crontab: the user's column" {
    import --user-column <<'END'
17 *	* * *	root    cd / && run-parts --report /etc/cron.hourly
0 4 * * * www-data [ -x /usr/bin/php ] && php /srv/shop/artisan schedule:run
END
    expect_equal "$(setting cron-hourly user)" root
    expect_equal "$(setting cron-hourly command)" 'cd / && run-parts --report /etc/cron.hourly'
    expect_equal "$(setting artisan user)" www-data
    run -0 leaserun import /etc/crontab
    expect_contains "$output" 'user = root'
}

@test "supercronic: seven fields lose their year, @every stays, % is a character" {
    import --format supercronic <<'END'
*/5 * * * * * * /bin/often
0 0 4 * * mon * /bin/weekly
@every 1m30s /bin/steady
0 0 * * * date +%F
0 4 */2 * 1 /bin/either
END
    is_good_table
    expect_equal "$(setting often schedule)" '*/5 * * * * *'
    expect_equal "$(setting weekly schedule)" '0 0 4 * * mon'
    expect_equal "$(setting steady schedule)" '@every 1m30s'
    expect_equal "$(setting date command)" 'date +%F'
    expect_equal "$(setting either schedule)" '0 4 1-31/2 * 1'
    echo '0 0 1 1 * 2030 /bin/year' >crontab
    run --separate-stderr leaserun import --format supercronic crontab
    expect_status 78
    expect_contains "$stderr" 'crontab:1: a schedule has no field for years ("2030")'
}

@test "the host's zone is written down, unless it is UTC; --timezone counts over it" {
    echo '0 0 * * * true' >crontab
    TZ=Asia/Tokyo leaserun import crontab >table.ini
    expect_equal "$(setting true timezone)" Asia/Tokyo
    TZ=Asia/Tokyo leaserun import --timezone Europe/Paris crontab >table.ini
    expect_equal "$(setting true timezone)" Europe/Paris
    leaserun import crontab >table.ini
    expect_equal "$(setting true timezone)" ''
    run --separate-stderr leaserun import --timezone Nowhere crontab
    expect_status 64
}

@test "stdin, CRLF, no newline at the end, a file that is not there" {
    printf '0 0 * * * one\r\n0 1 * * * two' | leaserun import >table.ini
    is_good_table
    expect_equal "$(setting one command) $(setting two command)" 'one two'
    grep -qx '# stdin:2' table.ini
    printf '0 0 * * * one\n' | leaserun import - | grep -qx 'command = one'
    run --separate-stderr leaserun import missing
    expect_status 78
    expect_contains "$stderr" 'missing: No such file or directory'
}

@test "a command of 64 KiB is kept, one that is longer is told" {
    { printf '0 0 * * * echo ' && head -c 65000 /dev/zero | tr '\0' x && echo; } >crontab
    leaserun import crontab >table.ini
    is_good_table
    [ "$(setting echo command | wc -c)" -gt 65000 ]
    { printf '0 0 * * * echo ' && head -c 66000 /dev/zero | tr '\0' x && echo; } >crontab
    run --separate-stderr leaserun import crontab
    expect_status 78
    expect_contains "$stderr" 'crontab:1: command or variables are longer than 64 KiB'
}

# What public repositories have in their crontabs: each expression, and a command of each shape
# that tests/cron/data/real-command-shapes.tsv counts.
@test "expressions of real crontabs with commands of all shapes: all but the impossible ones" {
    commands=('/usr/bin/python3 /srv/app/report.py' 'backup >>/var/log/backup.log'
        '/opt/job 2>&1' 'cd /srv && ./run' '/usr/bin/true' 'run-parts /etc/cron.daily'
        'job >/dev/null' 'tar cf "/b/$(date +\%F).tar" /srv' 'a | b' 'sleep 30; poll'
        '[ -x /bin/x ] && /bin/x' 'LANG=C sort' 'mail ops%hello' 'curl -fsS http://localhost/hook'
        'flock -n /run/lock x' 'nice -n 19 timeout 60 slow')
    count=0
    while IFS=$'\t' read -r expression _; do
        [[ $expression != '# '* ]] || continue
        printf '%s %s\n' "$expression" "${commands[count++ % ${#commands[@]}]}"
    done <"$TESTS/cron/data/real-expressions.tsv" >crontab
    [ $count -gt 190 ]
    run --separate-stderr leaserun import --format supercronic crontab
    expect_status 78
    expect_equal "$(grep -c 'day of month "0": must be 1 to 31' <<<"$stderr")" "$(wc -l <<<"$stderr")"
    echo "$output" >table.ini
    expect_equal "$(($(grep -c '^\[job ' table.ini) + $(wc -l <<<"$stderr")))" $count
    is_good_table
    run -0 leaserun next --config table.ini
    run ! grep -q never <<<"$output"
}

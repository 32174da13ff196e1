#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# Another table while the scheduler runs: on SIGHUP, and by itself with watch = yes.
# stores: sqlite

load ../lib/helpers

setup() {
    FOLDER=$BATS_TEST_TMPDIR/jobs
    TABLE=$FOLDER/a.ini
    RAN=$BATS_TEST_TMPDIR/ran
    : >"$RAN"
    mkdir "$FOLDER"
    NAME=job$BATS_TEST_NUMBER-$RANDOM
}

# A table whose job writes this word each second.
write_table() { # WORD FILE [WATCH]
    printf '[defaults]\ntimezone = UTC\n[schedule]\nwatch = %s\n[job %s]\n' "${3:-no}" "$NAME" >"$2"
    printf 'schedule = every 1s\ncommand = echo %s >>%s\n' "$1" "$RAN" >>"$2"
}

start_scheduler() {
    start "$LEASERUN" schedule "$FOLDER"
    await 10 tells scheduler_ready
}

tells() { # EVENT
    grep -q "event=$1 " "${OUTPUT[$PID]}.err"
}

has_run() { # WORD
    grep -q "^$1\$" "$RAN"
}

has_run_twice() { # WORD
    [ "$(grep -c "^$1\$" "$RAN")" -eq 2 ]
}

end_scheduler() {
    kill -TERM "$PID"
    finish "$PID" 10
    expect_equal "$STATUS" 0
}

@test "SIGHUP: the new table is in use, and no slot is run twice" {
    write_table old "$TABLE"
    start_scheduler
    await 10 has_run old
    write_table new "$TABLE"
    kill -HUP "$PID"
    await 10 has_run new
    end_scheduler
    expect_equal "$(leaserun history --json --limit 100 "$NAME" | json_field slot | sort | uniq -d)" ''
}

@test "SIGHUP, a broken table: the one before stays, and each fault is told with its line" {
    write_table old "$TABLE"
    start_scheduler
    printf '[job b]\nschedule = 61 * * * *\ncommand = true\ncolour = red\n' >>"$TABLE"
    kill -HUP "$PID"
    await 10 tells reload_failed
    : >"$RAN"
    await 10 has_run old
    end_scheduler
    expect_contains "$(started_stderr "$PID")" "$TABLE:9:"
    expect_contains "$(started_stderr "$PID")" "$TABLE:11:"
}

@test "SIGHUP while a command runs: it goes on, the next slot is the new table's" {
    write_table old "$TABLE"
    sed -i "s|^command.*|command = echo begun >>$RAN; sleep 3; echo over >>$RAN|" "$TABLE"
    start_scheduler
    await 10 has_run begun
    write_table new "$TABLE"
    kill -HUP "$PID"
    await 10 tells table_reloaded
    await 10 has_run over
    await 10 has_run new
    end_scheduler
    expect_equal "$(started_stderr "$PID" | grep -c level=error || true)" 0
}

@test "SIGHUP while a job waits for its turn behind max-running: it starts all the same" {
    printf '[schedule]\nmax-running = 1\n[defaults]\nstart-within = 1m\n' >"$TABLE"
    printf '[job %s-%s]\nschedule = @once\ncommand = echo %s >>%s; sleep 3\n' \
        "$NAME" first any "$RAN" "$NAME" second any "$RAN" >>"$TABLE"
    start_scheduler
    await 10 has_run any
    kill -HUP "$PID"
    await 10 tells table_reloaded
    await 15 has_run_twice any
    end_scheduler
}

@test "a job that is gone starts no more" {
    write_table old "$TABLE"
    start_scheduler
    await 10 has_run old
    rm "$TABLE"
    kill -HUP "$PID"
    await 10 tells table_empty
    sleep 0.5
    : >"$RAN"
    sleep 2
    end_scheduler
    expect_equal "$(cat "$RAN")" ''
}

@test "watch: a file that is renamed over the old one" {
    write_table old "$TABLE" yes
    start_scheduler
    write_table new "$FOLDER/a.tmp" yes
    mv "$FOLDER/a.tmp" "$TABLE"
    await 10 has_run new
    end_scheduler
}

@test "watch: a symbolic link that is swapped, as Kubernetes does" {
    mkdir "$FOLDER/..1" "$FOLDER/..2"
    write_table old "$FOLDER/..1/a.ini" yes
    write_table new "$FOLDER/..2/a.ini" yes
    ln -s ..1 "$FOLDER/..data"
    ln -s ..data/a.ini "$TABLE"
    start_scheduler
    await 10 has_run old
    ln -s ..2 "$FOLDER/..next"
    mv -T "$FOLDER/..next" "$FOLDER/..data"
    await 10 has_run new
    end_scheduler
}

@test "watch: what has nothing to do with the table is not told, and a fault is told once" {
    write_table old "$TABLE" yes
    start_scheduler
    for i in 1 2 3 4; do
        echo "$i" >"$FOLDER/notes"
        sleep 0.4
    done
    expect_equal "$(started_stderr "$PID" | grep -c table_reloaded || true)" 0
    echo 'nonsense' >>"$TABLE"
    await 10 tells reload_failed
    echo again >"$FOLDER/notes"
    sleep 1
    end_scheduler
    expect_equal "$(started_stderr "$PID" | grep -c reload_failed)" 1
}

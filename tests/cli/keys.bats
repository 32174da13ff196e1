#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# Keys are bytes: any line of UTF-8 is one, as it is, and no two of them are the same.
# stores: postgresql sqlite

load ../lib/helpers

long=$(printf '%01024d' 0)
accented=$(printf 'é%.0s' {1..512}) # 1024 bytes, and a name that may be cut within a character

# Many of them differ by what some program or collation takes for no difference.
KEYS=(
    k K ' k' 'k ' 'k  ' kk
    É $'E\u0301' é $'e\u0301' e
    'Straße' 'STRASSE' 'strasse' 'ﬁ' 'fi' 'K' 'I' 'i' 'İ' 'ı'
    $'a\u200db' $'a\u200bb' ab $'\ufeffab' $'\u00a0k'
    $'\u202eright to left' 'مفتاح' 'מפתח' '鍵' '🔑' '👩‍💻' '👩💻'
    "it's" '"quoted"' "'; drop table leases; --" '$1' '%' '%s%n' '_' '100%' '\' '\\' '\0' '\x41' A
    ../x ./x /x x 'a/b' 'a|b' 'a,b' '{a,b}' '{"a"}' NULL null '*' '~' '$HOME' '`id`' '#' ';'
    $'tab\there' 'tab here' $'\t' ' ' $'\r' $'bell\a' $'\e[31mred\e[0m' $'\x01' $'\x7f' $'\u009b31mred'
    -k -- --ttl --help -- =
    "$long" "${long:1}1" "$accented"
)

teardown() {
    stop_started
}

# The words of run before the command, for any key.
words() { # KEY
    WORDS=("$1")
    [[ $1 != -* ]] || WORDS=(-- "$1")
}

unique_keys() {
    printf '%s\n' "${KEYS[@]}" | LC_ALL=C sort -u
}

@test "sixty keys and more that resemble one another are held at the same time, each as it was given" {
    mapfile -t keys < <(unique_keys)
    [ "${#keys[@]}" -ge 60 ]
    mkfifo "$BATS_TEST_TMPDIR/enough"
    for key in "${keys[@]}"; do
        words "$key"
        start "$LEASERUN" run --ttl 30s "${WORDS[@]}" -- \
            sh -c 'printf "%s\n" "$LEASERUN_KEY"; read -r _ <"$0"' "$BATS_TEST_TMPDIR/enough"
    done
    for pid in "${STARTED[@]}"; do
        await 30 test -s "${OUTPUT[$pid]}.out"
    done
    told=$(for pid in "${STARTED[@]}"; do started_stdout "$pid"; done)
    expect_equal "$told" "$(printf '%s\n' "${keys[@]}")"
    # Sorted by bytes, nothing changed.
    expect_equal "$(leaserun status --json | json_field key)" "$(printf '%s\n' "${keys[@]}")"
    expect_equal "$(leaserun status --json | json_field state | sort -u)" held
    # Asked for by name, each is held; tried together, that none waits for another.
    pids=()
    for key in "${keys[@]}"; do
        words "$key"
        start "$LEASERUN" run "${WORDS[@]}" -- true
        pids+=("$PID")
    done
    for pid in "${pids[@]}"; do
        finish "$pid" 30
        expect_equal "$STATUS $(started_stderr "$pid")" "75 "
    done
    exec 7>"$BATS_TEST_TMPDIR/enough"
    exec 7>&-
    for pid in "${STARTED[@]}"; do
        await 20 is_gone "$pid"
    done
}

@test "status, history, release and purge --forget take each of them, and only that one" {
    mapfile -t keys < <(unique_keys)
    for key in k -k -- --ttl $'E\u0301' '%s%n' "'; drop table leases; --" $'tab\there' "$accented"; do
        expect_equal "$(leaserun status --json -- "$key" | json_field key)" "$key"
        expect_equal "$(leaserun history --json -- "$key" | json_field key)" "$key"
        run -0 leaserun release -- "$key"
        expect_contains "$output" 'is free'
        run -0 leaserun purge --forget "$key"
        expect_equal "$output" '1 lease and 1 run deleted'
        expect_equal "$(leaserun status --json -- "$key")" ''
    done
    expect_equal "$(leaserun status --json | wc -l)" $((${#keys[@]} - 9))
}

@test "what is shown to people has a key on its line, without what moves a terminal" {
    for command in status history; do
        run -0 leaserun $command
        run -1 grep -P '[\x01-\x1f\x7f-\x9f\x{2028}-\x{202e}\x{2066}-\x{2069}]' <<<"$output"
    done
    expect_equal "$(leaserun status | wc -l)" "$(($(leaserun status --json | wc -l) + 1))"
}

@test "the log line of a key with odd characters is one line" {
    for key in $'\e[31mred\e[0m' $'\r' $'tab\there' '"quoted"' $'\u202eright to left' '\'; do
        for format in text logfmt json; do
            run --separate-stderr leaserun run --log-level debug --log-format $format "$key" -- true
            expect_status 0
            [ "$(wc -l <<<"$stderr")" -eq "$(grep -cE 'claim_won|run_finished|the lease is ours|has ended' <<<"$stderr")" ]
            run -1 grep -P '[\x01-\x1f\x7f-\x9f\x{2028}-\x{202e}\x{2066}-\x{2069}]' <<<"$stderr"
        done
        run --separate-stderr leaserun run --log-level debug --log-format json "$key" -- true
        expect_equal "$(json_field key <<<"$stderr" | sort -u)" "$key"
    done
}

@test "a newline, bytes that are not UTF-8, nothing and too much are refused with a sentence, by all commands" {
    for wrong in $'two\nlines' $'\n' $'a\xff' $'\xc3' $'\xed\xa0\x80' $'\xc0\x80' $'\xf5\x80\x80\x80' '' "0$long"; do
        for command in status history release 'purge --forget'; do
            # shellcheck disable=SC2086  # words
            run --separate-stderr leaserun $command "$wrong"
            expect_status 64
            expect_one_line
        done
        run --separate-stderr leaserun run "$wrong" -- true
        expect_status 64
        expect_one_line
        expect_contains "$stderr" key
    done
}

@test "a key that begins with a dash needs another --, and an option that is none is told" {
    run --separate-stderr leaserun run -k -- true
    expect_status 64
    expect_one_line
    run --separate-stderr leaserun run -- -k -- true
    expect_status 0
}

@test "a long key whose name is cut within a character: the run survives its connection's end" {
    [ "$STORE_KIND" = postgresql ] || skip 'a file has no connection'
    KEY=a${accented:1} # with "leaserun:" before it, the 63rd byte is half an é
    start_holder --ttl 5s
    pg_sql main "$DATABASE" "select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()" >/dev/null
    expires=$(lease_field "$KEY" expires_at)
    await 5 eval '[ "$(lease_field "$KEY" expires_at)" != "$expires" ]'
    is_held "$KEY"
}

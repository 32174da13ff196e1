#!/bin/sh
# SPDX-License-Identifier: ISC
# The pages in $BUILD/man are complete: no gap is left, mandoc warns of nothing, every option of
# `leaserun help run`, every exit status, event and setting has its place in the page as it is
# read, and no option or event that prose speaks of is unknown to the program. No line of help is
# over 80 columns.
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
leaserun=$build/src/leaserun
command -v mandoc >/dev/null || { echo 'no mandoc'; exit 77; }
status=0
known=

complain() {
    echo "$*"
    status=1
}

# A page as it is read, on lines that do not break within a name.
read_page() {
    mandoc -T ascii -O width=200 "$1" | col -bx
}

words_of() { # TOPIC: the first words of its lines that do not continue another
    "$leaserun" help "$1" | sed -n 's/^\([a-z0-9_+-][a-z0-9_+-]*\).*/\1/p'
}

for page in leaserun.1 leaserun.ini.5 leaserun.7; do
    file=$build/man/$page
    [ -f "$file" ] || { complain "$file: not built"; continue; }
    gap=$(grep -n '^@.*@$' "$file") && complain "$file:$gap is not filled"
    mandoc -T lint -W warning "$file" || status=1
done
[ $status -eq 0 ] || exit $status
run=$(read_page "$build/man/leaserun.1")
settings=$(read_page "$build/man/leaserun.ini.5")

has_entry() { # TEXT WORD: as the head of an entry
    printf '%s\n' "$1" | grep -qE -- "^ +$2( |\$)"
}

commands=$("$leaserun" help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p')
[ -n "$commands" ] || complain "leaserun help lists no command"
for command in $commands; do
    has_entry "$run" "$command" || complain "leaserun.1: the command $command is missing"
    for option in $("$leaserun" help "$command" | sed -n 's/^  \(--[a-z-]*\).*/\1/p'); do
        has_entry "$run" "$option" || complain "leaserun.1: $option of $command is missing"
        known="$known $option"
    done
done
for number in $(words_of exit); do
    has_entry "$run" "$(printf '%s' "$number" | sed 's/+/[+]/')" ||
        complain "leaserun.1: the exit status $number is missing"
done
events=$(words_of events)
for event in $events; do
    has_entry "$run" "$event" || complain "leaserun.1: the event $event is missing"
done
for key in $("$leaserun" help settings | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p'); do
    has_entry "$settings" "$key = [A-Za-z|]+" || complain "leaserun.ini.5: the key $key is missing"
done

for option in $(sed -n 's/^[.].*Fl \(-[a-z][a-z-]*\).*/-\1/p; s/^[.].*Cm .* \(--[a-z-]*\).*/\1/p' \
    man/*.in man/*.[157] | sort -u); do
    case " $known --version --sample " in
    *" $option "*) ;;
    *) complain "man: $option is in no help" ;;
    esac
done
for event in $(sed -n 's/^[.]Li \([a-z]*_[a-z_]*\).*/\1/p' man/*.in man/*.[157] | sort -u); do
    case " $(printf '%s ' $events) not_started timed_out " in
    *" $event "*) ;;
    *) complain "man: $event is no event" ;;
    esac
done

for topic in '' $commands events exit settings; do
    # shellcheck disable=SC2086  # none for the general help
    long=$("$leaserun" help $topic | awk 'length($0) > 80' | head -n 1)
    [ -z "$long" ] || complain "leaserun help $topic: over 80 columns: $long"
done
exit $status

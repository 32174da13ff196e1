#!/bin/sh
# SPDX-License-Identifier: ISC
# From a fresh Debian 12 machine to a job that runs once although it was started twice:
#
#   sh packaging/quickstart.sh
#
# Installs what building needs, builds into the folder build, and shows a run in a temporary
# folder that is removed in the end. Installs leaserun nowhere.
set -eu
cd "$(dirname "$0")/.."
top=$(pwd)

say() {
    printf '\n%s\n' "$*"
}

# Shows a command as it would be typed, and runs it.
show() {
    printf '  $ leaserun'
    for word; do
        case $word in
        *[!a-zA-Z0-9_./:=-]*) printf " '%s'" "$word" ;;
        *) printf ' %s' "$word" ;;
        esac
    done
    printf '\n'
    "$top/build/src/leaserun" "$@"
}

say 'Installing the packages that building needs, if any is missing.'
. packaging/packages.sh
# shellcheck disable=SC2086  # a list of words
install_packages $build_packages

say 'Building leaserun in the folder build.'
log=$(mktemp)
demo=$(mktemp -d)
trap 'rm -rf "$demo" "$log"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
if [ -e build/build.ninja ]; then
    meson setup --reconfigure build >"$log" 2>&1 || { cat "$log"; exit 1; }
else
    meson setup build >"$log" 2>&1 || { cat "$log"; exit 1; }
fi
ninja -C build >"$log" 2>&1 || { cat "$log"; exit 1; }
echo "Built: build/src/leaserun ($(build/src/leaserun --version))"

say "The job: a dated archive of this source tree's src folder. Whoever starts it holds the lease
\"archive\" while it runs. The leases of this demonstration are in an SQLite file in a temporary
folder; as root --local would keep them in /var/lib/leaserun, and a PostgreSQL URL in place of it
makes the same true for all hosts that use that database."
# Not --local itself: a demonstration leaves nothing behind, and root's --local is /var/lib.
if [ "$(id -u)" -eq 0 ]; then
    store="--store=sqlite:$demo/leaserun.db"
else
    store=--local
    export XDG_STATE_HOME="$demo"
fi
# Two seconds more than tar needs, so that the second start comes while the first one works.
cat >"$demo/archive.sh" <<'END'
#!/bin/sh
set -eu
file=$1/archive-$(date +%F).tar.gz
tar -czf "$file.part" -C "$2" src
mv "$file.part" "$file"
sleep 2
END

say 'Started twice at once, as two crontabs would:'
for number in 1 2; do
    {
        status=0
        "$top/build/src/leaserun" run "$store" archive -- \
            sh "$demo/archive.sh" "$demo" "$top" || status=$?
        echo $status >"$demo/status.$number"
    } &
done
printf "  \$ leaserun run %s archive -- sh archive.sh &\n" "$store"
printf "  \$ leaserun run %s archive -- sh archive.sh &\n" "$store"
wait
for number in 1 2; do
    case $(cat "$demo/status.$number") in
    0) echo "Number $number ran the job and ended with 0:" "$(cd "$demo" && ls archive-*.tar.gz)" ;;
    75) echo "Number $number was turned away with 75, since the lease was held: it ran nothing." ;;
    *) echo "Number $number ended with $(cat "$demo/status.$number"), which is a fault." ;;
    esac
done

say 'Who holds what:'
show status "$store"
say 'What has become of every run:'
show history "$store"
[ "$(cat "$demo/status.1" "$demo/status.2" | sort | tr '\n' ' ')" = '0 75 ' ]

say 'The manual: man build/man/leaserun.1. The tests: sh tests/run.sh. The demonstration is removed.'

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

say() {
    printf '\n%s\n' "$*"
}

quietly() {
    "$@" >"$log" 2>&1 </dev/null || { cat "$log"; exit 1; }
}

# leaserun from the temporary folder. Root lends itself another user, because root's --local is
# /var/lib/leaserun and a demonstration leaves nothing behind.
demo_leaserun() {
    set -- "$demo/bin/leaserun" "$@"
    [ "$(id -u)" -ne 0 ] || set -- setpriv --reuid nobody --regid nogroup --clear-groups "$@"
    XDG_STATE_HOME="$demo/state" "$@"
}

show() {
    printf '  $ leaserun %s\n' "$*"
    demo_leaserun "$@"
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
    quietly meson setup --reconfigure build
else
    quietly meson setup build
fi
quietly ninja -C build
echo "Built: build/src/leaserun ($(build/src/leaserun --version))"

# The job: two seconds longer than tar needs, so that the second start comes while it works.
mkdir "$demo/bin" "$demo/state" "$demo/folder"
cp build/src/leaserun build/src/leaserun-guard build/src/*.so "$demo/bin"
cp -R README.md conf "$demo/folder"
cat >"$demo/archive.sh" <<'END'
set -eu
cd "$(dirname "$0")"
tar -czf archive.part folder
mv archive.part "archive-$(date +%F).tar.gz"
sleep 2
END
[ "$(id -u)" -ne 0 ] || chown -R nobody "$demo"

say 'The job makes a dated archive of a folder. Whoever runs it holds the lease "archive". With
--local, leases live in a file on this host; with --store postgresql://... in its place, the same is
true for all hosts that use that database. Started twice at once, as two crontabs would:'
for number in 1 2; do
    echo '  $ leaserun run --local archive -- sh archive.sh &'
    {
        status=0
        demo_leaserun run --local archive -- sh "$demo/archive.sh" || status=$?
        echo $status >"$demo/status.$number"
    } &
done
wait
for number in 1 2; do
    status=$(cat "$demo/status.$number")
    case $status in
    0) echo "Start $number ran the job, which made $(cd "$demo" && ls archive-*.gz): status 0." ;;
    75) echo "Start $number was turned away because the lease was held, and ran nothing: status 75." ;;
    *) echo "Start $number ended with status $status, which is a fault." ;;
    esac
done

say 'Who holds what:'
show status --local
say 'What became of every run:'
show history --local
[ "$(cat "$demo/status.1" "$demo/status.2" | sort | tr '\n' ' ')" = '0 75 ' ]

say 'The temporary folder is removed. Read on: build/src/leaserun help. Tests: sh tests/run.sh.'

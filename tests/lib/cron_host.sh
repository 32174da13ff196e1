#!/bin/sh
# SPDX-License-Identifier: ISC
# cron_host.sh NAME FOLDER: Debian's cron in the foreground, as on a host of its own: its own host
# name, processes, /run and crontabs. FOLDER/crontab is root's crontab, FOLDER/home its home; cron
# itself logs to FOLDER/log. Runs inside `unshare --mount --uts --pid --fork --mount-proc` and, for
# a network of its own, `ip netns exec`.
set -eu
name=$1 folder=$2
hostname "$name"
mount --make-rprivate /
mkdir -p "$folder/spool" "$folder/cron.d" "$folder/run"
cp "$folder/crontab" "$folder/spool/root"
chmod 600 "$folder/spool/root"
: >"$folder/etc-crontab"
mount --bind "$folder/spool" /var/spool/cron/crontabs
mount --bind "$folder/cron.d" /etc/cron.d
mount --bind "$folder/etc-crontab" /etc/crontab
mount -t tmpfs none /run
exec cron -f -L 0 >"$folder/log" 2>&1

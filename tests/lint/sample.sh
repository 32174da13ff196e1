#!/bin/sh
# SPDX-License-Identifier: ISC
# conf/leaserun.ini is what the program prints as its sample, and `check` finds no fault in it.
cd "$(dirname "$0")/../.." || exit 1
[ -e conf/leaserun.ini ] || { echo 'no sample yet'; exit 77; }
leaserun=${BUILD:-build}/src/leaserun
"$leaserun" help --sample | diff -u conf/leaserun.ini - &&
    "$leaserun" check conf/leaserun.ini

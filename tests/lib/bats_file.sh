#!/bin/sh
# SPDX-License-Identifier: ISC
# bats_file.sh FILE KIND: runs one .bats file against one kind of store; TAP and status go to the
# folder $TAP. A file that hangs is ended after ten minutes.
name=$(basename "$1" .bats).$2
status=0
STORE_KIND=$2 BATS_TEST_TIMEOUT=${BATS_TEST_TIMEOUT:-180} timeout --kill-after=10 600 \
    bats --tap "$1" >"$TAP/$name.tap" 2>&1 </dev/null || status=$?
echo $status >"$TAP/$name.status"

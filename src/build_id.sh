#!/bin/sh
# SPDX-License-Identifier: ISC
# build_id.sh VERSION FILE...: a header with one id for all that share these structs by layout.
version=$1
shift
printf '#define BUILD_ID "%s-%s"\n' "$version" "$(cat "$@" | sha256sum | cut -c1-16)"

# SPDX-License-Identifier: ISC
# shellcheck shell=sh disable=SC2034
# Debian packages, for scripts to source: what building and testing need, and how they get here.

build_packages='gcc libc6-dev meson ninja-build pkg-config libuv1-dev libpq-dev libsqlite3-dev
    libinih-dev'
test_packages='libcmocka-dev bats postgresql-15 pgbouncer libfaketime openssl mandoc clang-format-14
    universal-ctags python3 procps strace iproute2 iptables cron spin'
long_test_packages='valgrind clang-tidy-14 cppcheck clang-14 libclang-rt-14-dev'

# Prints those of the named packages that are not installed.
missing_packages() {
    for package; do
        case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
        installed) ;;
        *) printf '%s ' "$package" ;;
        esac
    done
}

# Installs what is missing, asking nothing and starting none of the services that come with it.
# Touches neither apt nor the network when nothing is missing.
install_packages() {
    missing=$(missing_packages "$@")
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        echo "Missing packages, which only root can install: $missing" >&2
        return 1
    fi
    echo "Installing $missing"
    apt_log=$(mktemp)
    policy=/usr/sbin/policy-rc.d
    [ ! -e $policy ] || policy=
    [ -z "$policy" ] || install -m 755 /dev/stdin $policy <<-'END'
	#!/bin/sh
	exit 101
	END
    apt_status=0
    # shellcheck disable=SC2086  # a list of words
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive \
        apt-get install -q -y --no-install-recommends $missing; } </dev/null >"$apt_log" 2>&1 ||
        apt_status=$?
    [ -z "$policy" ] || rm -f $policy
    [ $apt_status -eq 0 ] || cat "$apt_log" >&2
    rm -f "$apt_log"
    return $apt_status
}

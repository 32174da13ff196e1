#!/bin/sh
# SPDX-License-Identifier: ISC
# Fills the gaps of a manual page: a line @EXIT_STATUS@ becomes what `leaserun help
# --mdoc=exit-status` prints, with prose folded to the width that mandoc(1) asks for.
#
#     fill.sh LEASERUN PAGE.in >PAGE
set -eu

leaserun=$1
page=$2

fold_prose() {
    awk '/^[.]/ { print; next }
    {
        while (length($0) > 80) {
            for (at = 80; at > 1 && substr($0, at, 1) != " "; at--);
            if (at == 1)
                break
            print substr($0, 1, at - 1)
            $0 = substr($0, at + 1)
            if ($0 ~ /^[.\047]/)
                $0 = "\\&" $0
        }
        print
    }'
}

fill() {
    name=$(printf '%s' "$1" | tr -d @ | tr '[:upper:]_' '[:lower:]-')
    text=$("$leaserun" help --mdoc="$name") && [ -n "$text" ] || {
        echo "$page: leaserun help --mdoc=$name does not fill $1" >&2
        exit 1
    }
    printf '%s\n' "$text" | fold_prose
}

while IFS= read -r line; do
    case $line in
    @*[!A-Z_]*@) printf '%s\n' "$line" ;;
    @?*@) fill "$line" ;;
    *) printf '%s\n' "$line" ;;
    esac
done <"$page"

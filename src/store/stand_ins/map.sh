#!/bin/sh
# SPDX-License-Identifier: ISC
# What a stand-in must be called and must have, as the installed libpq says.
# usage: map.sh soname|map ldap|gssapi LIBPQ SOURCE
#   soname  the name under which libpq asks the dynamic linker for the library
#   map     a linker's version script with the symbols that libpq takes from it
# Fails, with a sentence, when libpq cannot be read, does not use the library or not with symbol
# versions, or uses a symbol that SOURCE does not define.
set -eu
what=$1 library=$2 libpq=$3 source=$4
export LC_ALL=C
give_up() { echo "$*" >&2; exit 1; }

soname=$(readelf -dW "$libpq" | sed -n "s/.*(NEEDED).*\[\(lib${library}[^]]*\)\].*/\1/p")
case $soname in
'') give_up "$libpq does not use lib$library" ;;
*'
'*) give_up "$libpq uses more than one lib$library" ;;
esac
version=$(readelf -VW "$libpq" | awk -v soname="$soname" '
    / File: / { is_ours = 0; for (i = 1; i < NF; i++) if ($i == "File:" && $(i + 1) == soname) is_ours = 1; next }
    / Name: / && is_ours { for (i = 1; i < NF; i++) if ($i == "Name:") print $(i + 1) }')
case $version in
'' | *'
'*) give_up "$libpq does not ask for one version of $soname" ;;
esac
symbols=$(readelf --dyn-syms -W "$libpq" | awk -v version="$version" '
    $7 == "UND" && split($8, part, "@") > 1 && part[2] == version { print part[1] }' | sort)
[ -n "$symbols" ] || give_up "$libpq takes nothing from $soname"
for symbol in $symbols; do
    grep -q "[^a-zA-Z_]${symbol}[^a-zA-Z_]" "$source" || give_up "$libpq uses $symbol, which is new"
done
case $what in
soname) echo "$soname" ;;
map)
    echo "$version {"
    echo '  global:'
    echo "$symbols" | sed 's/.*/    &;/'
    echo '  local: *;'
    echo '};'
    ;;
esac

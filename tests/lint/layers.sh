#!/bin/sh
# SPDX-License-Identifier: ISC
# A folder of src includes only itself and folders before it in the `layers` list of
# src/meson.build; foreign libraries are seen only where they belong; guard and its program use
# base alone and know no libuv.
cd "$(dirname "$0")/../.." || exit 1
layers=$(sed -n "/^layers = \[/,/^]/s/^ *'\([a-z-]*\)',.*/\1/p" src/meson.build)
[ -n "$layers" ] || { echo 'src/meson.build: no list "layers"' >&2; exit 1; }

find src -name '*.[ch]' | sort | xargs awk -v layers="$layers" '
BEGIN {
    count = split(layers, names, /[ \n]+/)
    for (i = 1; i <= count; i++)
        rank[names[i]] = i
    only["libpq-fe.h"] = "^src/store/postgresql/"
    only["sqlite3.h"] = "^src/store/sqlite/"
    only["ini.h"] = "^src/conf/ini_text[.]c$"
    not_in["uv.h"] = "^src/(base|guard|log|conf)/|^src/guard_main[.]c$"
    generated["build_id.h"] = 1
}
function complain(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text
    faults++
}
FNR == 1 {
    split(FILENAME, parts, "/")
    folder = parts[3] == "" ? "" : parts[2]
    is_guard = folder == "guard" || FILENAME == "src/guard_main.c"
    if (folder != "" && !(folder in rank))
        complain("folder " folder " is not in the list \"layers\" of src/meson.build")
}
/^[ \t]*#[ \t]*include[ \t]*</ {
    match($0, /<[^>]*>/)
    header = substr($0, RSTART + 1, RLENGTH - 2)
    if (header in only && FILENAME !~ only[header])
        complain(header " does not belong here, only in " only[header])
    if (header in not_in && FILENAME ~ not_in[header])
        complain(header " does not belong here")
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
    match($0, /"[^"]*"/)
    header = substr($0, RSTART + 1, RLENGTH - 2)
    if (header in generated || header ~ /_sql[.]h$/)
        next
    if (header !~ /\//) {
        complain("\"" header "\" is written without its folder")
        next
    }
    split(header, parts, "/")
    if (!(parts[1] in rank))
        complain("\"" header "\" is of no layer")
    else if (folder != "" && rank[parts[1]] > rank[folder])
        complain(folder " may not use " parts[1] ", which is above it")
    else if (is_guard && parts[1] != "guard" && parts[1] != "base")
        complain("the guard may use base only, not " parts[1])
}
END { exit faults > 0 }'

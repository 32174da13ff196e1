# the guard does not end the tree when leaserun has died (P7)
# file: src/guard/guard_words.c
# model: guard GUARD_WITHOUT_EOF
# caught by: unit guard ending
# caught by: faults 36 60
/heard == GUARD_LINK_CLOSED/,/^}/ {
    /guard_tree_kill/ d
}

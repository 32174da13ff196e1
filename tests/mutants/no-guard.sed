# nobody watches: neither the death of leaserun nor the deadline ends the tree (P1, P6, P7)
# file: src/guard/guard_tree.c src/guard/guard_words.c
# model: guard NO_GUARD
# caught by: unit guard ending
# caught by: faults 36 45
s/\[GUARD_INSTANT_LEASE_KILL\] = on_lease_kill/[GUARD_INSTANT_LEASE_KILL] = on_nothing/
s/\[GUARD_INSTANT_LEASE_TERM\] = on_lease_term/[GUARD_INSTANT_LEASE_TERM] = on_nothing/
/^static void (\*const on_instant/ i static void on_nothing(struct guard *guard) { (void)on_lease_kill; (void)on_lease_term; }
/heard == GUARD_LINK_CLOSED/,/^}/ {
    /guard_tree_kill/ d
}

# the guard does not end the tree at the deadline, whatever has become of leaserun (P6)
# file: src/guard/guard_tree.c
# model: guard GUARD_WITHOUT_DEADLINE
# caught by: unit guard ending
# caught by: faults 1533 45
s/\[GUARD_INSTANT_LEASE_KILL\] = on_lease_kill/[GUARD_INSTANT_LEASE_KILL] = on_nothing/
s/\[GUARD_INSTANT_LEASE_TERM\] = on_lease_term/[GUARD_INSTANT_LEASE_TERM] = on_nothing/
/^static void (\*const on_instant/ i static void on_nothing(struct guard *guard) { (void)on_lease_kill; (void)on_lease_term; }

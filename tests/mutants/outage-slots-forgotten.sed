# a slot whose window closed while the store was away is not asked for again (P4)
# file: src/schedule/turn_claim.c
# caught by: schedule month
/turn->job->start_within_ms != 0)$/{n;s/entry_add_late(.*/(void)turn;/}

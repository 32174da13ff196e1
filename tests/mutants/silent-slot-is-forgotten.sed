# a slot counts as tried although its claim had no answer, and is not asked for again (P4)
# file: src/schedule/turn_claim.c
# caught by: schedule month
/^    if (turn->job->start_within_ms != 0)$/,/entry_add_late/d

# slots before one that is recorded are not asked for at a start (P4)
# file: src/schedule/recall.c
# caught by: schedule month
s/if (told_us < last_us)/if (false)/

# a reload takes every job for a new one (P3)
# file: src/schedule/reload.c
# caught by: schedule month
s/if (old != NULL \&\& has_same_slots(entry, old))/if (false \&\& old != NULL)/

# a winner writes that all slots before its own are told, whatever waits (P4)
# file: src/schedule/past.c
# caught by: schedule past
s/if (entry->late_count > 0 \&\& entry->late\[0\].slot_us < oldest_us)/if (false)/

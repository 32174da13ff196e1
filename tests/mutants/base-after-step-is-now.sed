# after a clock was set back, or found to be ahead, slots between are left out (P3)
# file: src/schedule/scheduler.c
# caught by: schedule month
s/entry_go_back(entry, base_us);/entry_go_back(entry, now_us);/

# @once is asked for as a job that may succeed more than once (P3)
# file: src/schedule/turn_claim.c
# caught by: schedule month
s/\.is_once = turn->entry->slots.cron.kind == CRON_ONCE,/.is_once = false,/

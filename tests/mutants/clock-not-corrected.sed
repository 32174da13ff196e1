# a clock that is known to be ahead is believed (P3)
# file: src/schedule/scheduler.c
# caught by: schedule month
s/return now_wall_us() - scheduler->ahead_us;/return now_wall_us();/

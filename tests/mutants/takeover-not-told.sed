# who begins an interrupted run again does not say so (P4)
# file: src/schedule/turn_claim.c
# caught by: schedule rerun
/^        schedule_tell_taken_over(turn);/d

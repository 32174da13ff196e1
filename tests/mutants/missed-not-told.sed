# a slot that is recorded as missed is not told (P4)
# file: src/schedule/turn_claim.c
# caught by: schedule month
s/schedule_tell_missed(turn, level_of_missed(turn));/(void)level_of_missed(turn);/

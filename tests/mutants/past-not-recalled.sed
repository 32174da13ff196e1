# slots that passed while no scheduler was there are not asked for (P4)
# file: src/schedule/recall.c
# caught by: schedule month
s/for (int i = 0; i < count; i++)/for (int i = 0; i < 0 * count; i++)/

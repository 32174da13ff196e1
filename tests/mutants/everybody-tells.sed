# every scheduler that finds a slot missed tells it, not only the one that writes it down (P4)
# file: src/schedule/turn_claim.c
# caught by: schedule month
# caught by: faults 77 40
s/!turn->run.claim.item.is_first_to_tell || //

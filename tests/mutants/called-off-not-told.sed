# what is recorded for a claim that is called off is not told (P4)
# file: src/lease/claim.c
# caught by: schedule month
# caught by: lease claim_cancel
s/ && !claim->item.is_first_to_tell;/;/

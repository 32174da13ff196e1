# what is won after leaserun was told to end is not given back (P4)
# file: src/lease/claim.c
# caught by: lease claim_cancel
s/undo(claim, claim->item.fence);/finish(claim);/

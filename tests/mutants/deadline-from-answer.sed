# the deadline is counted from the answer, not from before the renewal left (P6, P9)
# file: src/lease/renew.c
# model: expiry DEADLINE_FROM_REPLY
# caught by: lease renew
/^static void on_renewed/,/^}/ s/request\.sent_boot_ms/request.answered_boot_ms/

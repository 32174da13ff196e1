# a slot that was won and could not be started is left to nobody (P3)
# file: src/schedule/turn.c
# caught by: schedule month
/^    } else if (is_undone) {$/,/^    } else/s/come_again(turn, SPAWN_AGAIN_MS);/end(turn);/

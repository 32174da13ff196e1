/* SPDX-License-Identifier: ISC */
#include "schedule/slots.h"

#include "cron/cron_hash.h"

int64_t slots_next(const struct slots *slots, int64_t after_us)
{
    int64_t next = cron_next(&slots->cron, slots->zone, after_us - slots->offset_us);
    return next == NO_INSTANT ? NO_INSTANT : next + slots->offset_us;
}

int64_t slots_latest(const struct slots *slots, int64_t after_us, int64_t until_us)
{
    int64_t latest = cron_latest(&slots->cron, slots->zone, after_us - slots->offset_us,
                                 until_us - slots->offset_us);
    return latest == NO_INSTANT ? NO_INSTANT : latest + slots->offset_us;
}

int64_t slots_window_ms(const struct slots *slots, int64_t slot_us, int64_t start_within_ms)
{
    if (start_within_ms > 0)
        return start_within_ms;
    int64_t next = slots_next(slots, slot_us);
    if (next == NO_INSTANT || next - slot_us > SLOTS_WINDOW_MOST_MS * 1000)
        return SLOTS_WINDOW_MOST_MS;
    return (next - slot_us) / 1000;
}

/* From where on to look, so that about SLOTS_BACKLOG_MOST slots follow and not many thousands:
 * spans before `until` that grow until they hold enough. */
static int64_t find_start(const struct slots *slots, int64_t after_us, int64_t until_us)
{
    int64_t latest = slots_latest(slots, after_us, until_us);
    int64_t before = latest == NO_INSTANT ? NO_INSTANT : slots_latest(slots, after_us, latest - 1);
    if (before == NO_INSTANT)
        return after_us;
    int64_t span = latest - before;
    for (;;) {
        int64_t start = span > until_us - after_us ? after_us : until_us - span;
        int count = 0;
        for (int64_t s = start; count <= SLOTS_BACKLOG_MOST && s != NO_INSTANT && s <= until_us;
             count++)
            s = slots_next(slots, s);
        if (start == after_us || count > SLOTS_BACKLOG_MOST)
            return start;
        span *= 2;
    }
}

int slots_backlog(const struct slots *slots, int64_t after_us, int64_t until_us,
                  int64_t ret_slots_us[SLOTS_BACKLOG_MOST], bool *ret_is_cut)
{
    int64_t ring[SLOTS_BACKLOG_MOST];
    int64_t start = find_start(slots, after_us, until_us);
    int count = 0;
    for (int64_t s = start; (s = slots_next(slots, s)) != NO_INSTANT && s <= until_us; count++)
        ring[count % SLOTS_BACKLOG_MOST] = s;
    int kept = count < SLOTS_BACKLOG_MOST ? count : SLOTS_BACKLOG_MOST;
    for (int i = 0; i < kept; i++)
        ret_slots_us[i] = ring[(count - kept + i) % SLOTS_BACKLOG_MOST];
    *ret_is_cut = count > kept || start != after_us;
    return kept;
}

uint64_t slots_fingerprint(const struct slots *slots)
{
    char text[CRON_TEXT_MAX];
    uint64_t hash = cron_hash_text(cron_format(&slots->cron, text));
    if (slots->cron.kind == CRON_CALENDAR)
        hash = cron_hash_with(hash, cron_hash_text(zone_name(slots->zone)));
    return hash;
}

/* SPDX-License-Identifier: ISC */
#include "store/sqlite/sqlite_ops.h"

#include "base/now.h"
#include "store/sqlite/sqlite_row.h"

/* What is left of a claim that was undone: no run of anything. */
#define IS_UNDONE "(outcome IS 'not_started' AND started_us IS NULL)"

/* In the order of enum store_kind. A lease is read, judged by sqlite_liveness.c, and written back
 * whole, within one write transaction: nothing is decided in SQL that a clock or a process table
 * has to decide. */
#define RUN_COLUMNS                                                                                \
    "run_id, key, job, holder, fence, slot_us, started_us, finished_us, outcome, status,"          \
    " iif(?4, output_tail, NULL)"

const char *const sqlite_ops_sql[SQL_COUNT] = {
    [SQL_BEGIN] = "BEGIN IMMEDIATE",
    [SQL_COMMIT] = "COMMIT",
    [SQL_LEASE] = "SELECT " SQLITE_ROW_COLUMNS " FROM main.leases WHERE key = ?1",
    [SQL_LEASE_WRITE] = "REPLACE INTO main.leases (key, " SQLITE_ROW_COLUMNS ")"
                        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,"
                        " ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25)",

    /* claim */
    [SQL_RUN_OF_SLOT] = "SELECT run_id, outcome FROM main.runs WHERE key = ?1 AND slot_us = ?2",
    [SQL_ONCE_SUCCEEDED] = "SELECT 1 FROM main.runs"
                           " WHERE key = ?1 AND is_once = 1 AND outcome = 'succeeded' LIMIT 1",
    [SQL_NEXT_FENCE] = "UPDATE main.fence_seq SET last = max(last, ?1) + 1 RETURNING last",
    /* a claim whose reply was lost, made again: its run has not been started */
    [SQL_RUN_AGAIN] = "UPDATE main.runs SET attempt = ?4, fence = ?5,"
                      " started_us = iif(starts > 1, started_us, ?6)"
                      " WHERE run_id = ?1 AND key = ?2 AND holder = ?3 AND attempt < ?4"
                      " AND outcome IS NULL",
    [SQL_RUN_START] = "INSERT INTO main.runs"
                      " (run_id, key, holder, attempt, fence, started_us, job, slot_us, is_once,"
                      " status, starts) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, -1, ?10)"
                      " ON CONFLICT DO NOTHING",
    /* what nobody started, unless the claim is a late duplicate: its run has a row */
    [SQL_RUN_GIVE_WAY] = "DELETE FROM main.runs WHERE key = ?1 AND slot_us = ?2"
                         " AND outcome IN ('missed', 'skipped')"
                         " AND NOT EXISTS (SELECT 1 FROM main.runs WHERE run_id = ?3)",
    [SQL_RUN_UNSTARTED] =
        "INSERT INTO main.runs"
        " (run_id, key, holder, attempt, fence, finished_us, job, slot_us, is_once,"
        " outcome, status) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, -1)"
        " ON CONFLICT DO NOTHING",
    [SQL_RUN_ABANDON] = "UPDATE main.runs SET outcome = 'abandoned', abandoned_by = ?2,"
                        " finished_us = coalesce(finished_us, max(?3, started_us))"
                        " WHERE run_id = ?1 AND (outcome IS NULL OR abandoned_by = ?2)"
                        " RETURNING holder, fence",
    [SQL_RUN_STATE] = "SELECT fence, holder, starts, abandoned_by,"
                      " outcome IS NULL OR outcome = 'stopped'"
                      " FROM main.runs WHERE run_id = ?1 AND key = ?2",
    [SQL_RUN_TAKE] = "UPDATE main.runs SET holder = ?2, attempt = ?3, fence = ?4,"
                     " starts = starts + 1, outcome = NULL, status = -1, finished_us = NULL,"
                     " output_tail = NULL"
                     " WHERE run_id = ?1",
    /* it keeps its outcome, and its holder's name tells whose claim it was */
    [SQL_RUN_GIVE_UP] = "UPDATE main.runs SET starts = NULL, abandoned_by = ?2,"
                        " outcome = coalesce(outcome, 'abandoned'),"
                        " finished_us = coalesce(finished_us, max(?3, started_us))"
                        " WHERE run_id = ?1",

    /* release */
    [SQL_RUN_FINISH] = "UPDATE main.runs SET outcome = ?3, status = ?4,"
                       " finished_us = max(?5, started_us), output_tail = ?6"
                       " WHERE run_id = ?1 AND fence = ?2 AND outcome IS NULL",
    [SQL_RUN_OUTCOME] = "SELECT outcome FROM main.runs WHERE run_id = ?1 AND ?2 IN (fence, 0)",

    /* undo */
    /* what is left says that the run is over: a late claim of it meets it; see history, purge */
    [SQL_RUN_UNDO] = "INSERT INTO main.runs"
                     " (run_id, key, holder, attempt, fence, finished_us, is_once, outcome, status)"
                     " VALUES (?1, ?3, ?4, 0, ?2, ?5, 0, 'not_started', -1)"
                     " ON CONFLICT (run_id) DO UPDATE SET"
                     " slot_us = iif(starts > 1, slot_us, NULL),"
                     " started_us = iif(starts > 1, started_us, NULL), finished_us = ?5,"
                     " outcome = iif(starts > 1, 'stopped', 'not_started'), starts = starts - 1"
                     " WHERE outcome IS NULL AND holder = ?4 AND ?2 IN (fence, 0)",
    /* of a take-over that never came: should it come later it finds its holder's name */
    [SQL_RUN_KEEP_OUT] = "UPDATE main.runs SET abandoned_by = ?2"
                         " WHERE run_id = ?1 AND holder <> ?2 AND starts IS NOT NULL",
    [SQL_LAST_SLOT] = "SELECT max(slot_us) FROM main.runs"
                      " WHERE key = ?1 AND slot_us IS NOT NULL",

    /* status, history */
    [SQL_LEASES] = "SELECT key, " SQLITE_ROW_COLUMNS " FROM main.leases"
                   " WHERE ?1 IS NULL OR key = ?1 ORDER BY key",
    [SQL_RUNS] = "SELECT " RUN_COLUMNS " FROM main.runs"
                 " WHERE (?1 IS NULL OR key = ?1 OR job = ?1 OR run_id = ?1) AND NOT " IS_UNDONE
                 " ORDER BY rowid DESC LIMIT ?2",
    [SQL_SLOTS] = "SELECT " RUN_COLUMNS " FROM main.runs"
                  " WHERE key = ?1 AND slot_us >= ?3 ORDER BY slot_us DESC LIMIT ?2",
    [SQL_OLDEST_SLOT] = "SELECT min(slot_us) FROM main.runs"
                        " WHERE key = ?1 AND slot_us IS NOT NULL",

    /* recall */
    [SQL_RECALL] =
        "SELECT (SELECT max(slot_us) FROM main.runs"
        " WHERE runs.key = ?1 AND slot_us < ?2 AND (?3 IS NULL OR job = ?3)),"
        " CASE WHEN slot_us < ?2 AND ?3 IS NULL THEN slot_us END, fingerprint, acquired_us,"
        " (SELECT outcome FROM main.runs WHERE runs.key = ?1 AND slot_us < ?2"
        " AND (?3 IS NULL OR job = ?3) ORDER BY slot_us DESC LIMIT 1) FROM (SELECT ?1 AS wanted)"
        " LEFT JOIN main.leases ON key = wanted",
    [SQL_INTERRUPTED] = "SELECT run_id, fence, slot_us, starts FROM"
                        " (SELECT * FROM main.runs WHERE key = ?1 AND slot_us IS NOT NULL"
                        " ORDER BY slot_us DESC LIMIT ?3)"
                        " WHERE starts IS NOT NULL AND (outcome IS NULL OR outcome = 'stopped')"
                        " AND (?2 IS NULL OR job = ?2) ORDER BY slot_us DESC LIMIT 1",

    /* purge, forget */
    [SQL_LEASES_PURGE] = "DELETE FROM main.leases"
                         " WHERE expires_us < CASE WHEN slot_us IS NULL THEN ?1 ELSE ?2 END"
                         " AND (is_released = 1 OR clock <> ?3 OR expires_boot_ms <= ?4)"
                         " AND (hold_until_us IS NULL OR hold_until_us <= ?5)"
                         " AND (clock <> ?3 OR hold_boot_ms <= ?4)"
                         " AND NOT EXISTS (SELECT 1 FROM main.runs"
                         " WHERE runs.run_id = leases.run_id AND outcome IS NULL)"
                         " AND NOT EXISTS (SELECT 1 FROM main.runs"
                         " WHERE runs.key = leases.key AND is_once = 1 AND outcome = 'succeeded')",
    [SQL_RUNS_PURGE] = "DELETE FROM main.runs WHERE rowid IN (SELECT rowid FROM main.runs"
                       " WHERE outcome IS NOT NULL AND finished_us < iif(" IS_UNDONE ", ?3, ?1)"
                       " AND NOT (is_once = 1 AND outcome = 'succeeded') LIMIT ?2)",
    [SQL_LEASE_FORGET] = "DELETE FROM main.leases WHERE key = ?1",
    [SQL_RUNS_FORGET] = "DELETE FROM main.runs WHERE key = ?1 AND outcome IS NOT NULL",
    /* a forgotten key has no next claim that would close the run of a holder that is gone */
    [SQL_RUNS_CLOSE] =
        "UPDATE main.runs SET outcome = 'abandoned', finished_us = max(?2, started_us)"
        " WHERE key = ?1 AND outcome IS NULL",
};

static bool (*const serve_kind[STORE_KIND_COUNT])(struct sqlite_link *, struct store_request *) = {
    [STORE_CLAIM] = sqlite_claim,     [STORE_RENEW] = sqlite_renew,
    [STORE_RELEASE] = sqlite_release, [STORE_UNDO] = sqlite_undo,
    [STORE_FREE] = sqlite_free,       [STORE_REVOKE] = sqlite_revoke,
    [STORE_STATUS] = sqlite_status,   [STORE_HISTORY] = sqlite_history,
    [STORE_RECALL] = sqlite_recall,   [STORE_PURGE] = sqlite_purge,
    [STORE_FORGET] = sqlite_forget,   [STORE_INIT] = sqlite_init,
    [STORE_INSPECT] = sqlite_inspect,
};

/* The part of the limit that is left for the work itself once a lock is had. */
static int64_t busy_until_boot_ms(const struct store_request *request)
{
    int64_t reserve = request->limit_ms / 8 < 5 ? 5 : request->limit_ms / 8;
    return request->give_up_boot_ms - reserve;
}

void sqlite_ops_serve(struct sqlite_link *link, struct store_request *request)
{
    link->sent_boot_ms = request->sent_boot_ms;
    link->busy_until_boot_ms = busy_until_boot_ms(request);
    link->is_created = false;
    link->failure = FAILURE_NONE;
    if (sqlite_link_open(link) && serve_kind[request->kind](link, request)) {
        request->outcome = STORE_ANSWERED;
        return;
    }
    sqlite_link_rollback(link);
    /* After anything but a wait for a lock the file may be another by the next request. */
    if (link->failure != FAILURE_CONFLICT)
        sqlite_link_close(link);
    request->outcome = STORE_FAILED;
    request->failure = link->failure;
    request->error = link->error;
}

/* SPDX-License-Identifier: ISC */
/* The two statements of the PostgreSQL floor: the least that one exclusive run must send. */
#pragma once
#define FLOOR_CLAIM                                                                                \
    "INSERT INTO floor_lease AS l (name, owner, token, claimed_at, expires_at) "                   \
    "VALUES ($1, $2, 1, clock_timestamp(), clock_timestamp() + interval '1 minute') "              \
    "ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, token = l.token + 1, "               \
    "claimed_at = excluded.claimed_at, expires_at = excluded.expires_at "                          \
    "WHERE l.owner IS NULL OR l.expires_at <= clock_timestamp() RETURNING token"
#define FLOOR_RELEASE                                                                              \
    "UPDATE floor_lease SET owner = NULL, expires_at = NULL "                                      \
    "WHERE name = $1 AND owner = $2 AND token = $3::bigint"

/* The same for many keys in one statement each. */
#define FLOOR_TABLE                                                                                \
    "CREATE TABLE IF NOT EXISTS floor_lease (name text PRIMARY KEY, owner text, "                  \
    "token bigint NOT NULL, claimed_at timestamptz, expires_at timestamptz) "                      \
    "WITH (fillfactor = 50)"
#define FLOOR_CLAIM_ALL                                                                            \
    "INSERT INTO floor_lease AS l (name, owner, token, claimed_at, expires_at) "                   \
    "SELECT u, $2, 1, clock_timestamp(), clock_timestamp() + interval '1 minute' "                 \
    "FROM unnest($1::text[]) AS u ORDER BY u "                                                     \
    "ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, token = l.token + 1, "               \
    "claimed_at = excluded.claimed_at, expires_at = excluded.expires_at "                          \
    "WHERE l.owner IS NULL OR l.expires_at <= clock_timestamp() RETURNING token"
#define FLOOR_RELEASE_ALL                                                                          \
    "UPDATE floor_lease SET owner = NULL, expires_at = NULL "                                      \
    "WHERE name = ANY ($1::text[]) AND owner = $2"

/* With a record of each run, as leaserun keeps one: written at the claim, finished at the end. $4:
 * whether it names a slot, by which it is unique too. */
#define RECORD_TABLE                                                                               \
    "CREATE TABLE IF NOT EXISTS floor_run (id text PRIMARY KEY, name text, due timestamptz, "      \
    "started_at timestamptz, finished_at timestamptz, outcome text) WITH (fillfactor = 50)"
#define RECORD_INDEX                                                                               \
    "CREATE UNIQUE INDEX IF NOT EXISTS floor_run_due ON floor_run (name, due) "                    \
    "WHERE due IS NOT NULL"
#define RECORD_CLAIM_ALL                                                                           \
    "WITH won AS (INSERT INTO floor_lease AS l (name, owner, token, claimed_at, expires_at) "      \
    "SELECT u, $2, 1, clock_timestamp(), clock_timestamp() + interval '1 minute' "                 \
    "FROM unnest($1::text[]) AS u ORDER BY u "                                                     \
    "ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, token = l.token + 1, "               \
    "claimed_at = excluded.claimed_at, expires_at = excluded.expires_at "                          \
    "WHERE l.owner IS NULL OR l.expires_at <= clock_timestamp() RETURNING name, token), "          \
    "r AS (INSERT INTO floor_run (id, name, due, started_at) SELECT i.id, i.name, "                \
    "CASE WHEN $4::bool THEN clock_timestamp() END, clock_timestamp() "                            \
    "FROM unnest($3::text[], $1::text[]) AS i (id, name) "                                         \
    "JOIN won ON won.name = i.name) SELECT token FROM won"
#define RECORD_RELEASE_ALL                                                                         \
    "WITH freed AS (UPDATE floor_lease SET owner = NULL, expires_at = NULL "                       \
    "WHERE name = ANY ($1::text[]) AND owner = $2) "                                               \
    "UPDATE floor_run SET finished_at = clock_timestamp(), outcome = 'succeeded' "                 \
    "WHERE id = ANY ($3::text[])"

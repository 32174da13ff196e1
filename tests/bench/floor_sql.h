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

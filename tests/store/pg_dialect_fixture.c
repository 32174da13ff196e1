/* SPDX-License-Identifier: ISC */
#include "pg_dialect_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pg_client *open_dialect(struct pg_fixture *fixture, const char *schema,
                               enum store_dialect dialect, const char *table,
                               const char *parameters)
{
    char name[128];
    char *url = pg_fixture_url_with(parameters == NULL ? "connect_timeout=10" : parameters);
    char *quoted = PQescapeIdentifier(fixture->person, fixture->schema, strlen(fixture->schema));
    snprintf(name, sizeof name, "%s.\"%s\"", quoted, table);
    PQfreemem(quoted);
    const struct store_config config = {
        .url = url,
        .schema = (char *)(uintptr_t)(schema == NULL ? fixture->schema : schema),
        .dialect = dialect,
        .table = name,
    };
    struct pg_client *client = pg_client_open_config(fixture, &config);
    free(url);
    return client;
}

void make_shedlock(struct pg_fixture *fixture, const char *table)
{
    pg_person(fixture, "SET client_min_messages = error");
    pg_person(fixture, "SET default_transaction_isolation = 'read committed'");
    pg_person(fixture, "DROP TABLE IF EXISTS \"%s\" CASCADE", table);
    pg_person(fixture,
              "CREATE TABLE \"%s\" (name VARCHAR(64) NOT NULL, lock_until TIMESTAMP NOT NULL, "
              "locked_at TIMESTAMP NOT NULL, locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name))",
              table);
}

void make_fenceless(struct pg_fixture *fixture, const char *table, const char *holder,
                    const char *instant)
{
    pg_person(fixture, "SET client_min_messages = error");
    pg_person(fixture, "DROP TABLE IF EXISTS \"%s\" CASCADE", table);
    pg_person(fixture,
              "CREATE TABLE \"%s\" (key text PRIMARY KEY, holder %s NOT NULL, acquired_at %s NOT "
              "NULL, expires_at %s NOT NULL, CHECK (expires_at > acquired_at))",
              table, holder, instant, instant);
}

bool shedlock_locks(struct pg_fixture *fixture, const char *table, const char *key)
{
    const char *name = pg_person(
        fixture,
        "INSERT INTO \"%s\" AS lock (name, lock_until, locked_at, locked_by) VALUES ('%s', "
        "timezone('utc', CURRENT_TIMESTAMP) + cast('60000 milliseconds' AS interval), "
        "timezone('utc', CURRENT_TIMESTAMP), 'java-host') ON CONFLICT (name) DO UPDATE SET "
        "lock_until = timezone('utc', CURRENT_TIMESTAMP) + cast('60000 milliseconds' AS interval), "
        "locked_at = timezone('utc', CURRENT_TIMESTAMP), locked_by = 'java-host' "
        "WHERE lock.name = '%s' AND lock.lock_until <= timezone('utc', CURRENT_TIMESTAMP) "
        "RETURNING name",
        table, key, key);
    return name != NULL && name[0] != '\0';
}

void shedlock_unlocks(struct pg_fixture *fixture, const char *table, const char *key)
{
    pg_person(fixture,
              "UPDATE \"%s\" SET lock_until = timezone('utc', CURRENT_TIMESTAMP) "
              "WHERE name = '%s' AND locked_by = 'java-host'",
              table, key);
}

int close_dialects(void **state)
{
    struct pg_fixture *fixture = *state;
    while (fixture->client_count > 1) /* the first is the fixture's own */
        store_close(fixture->clients[--fixture->client_count].store, NULL, NULL);
    pg_fixture_turn_ms(fixture, 1);
    return 0;
}

/* SPDX-License-Identifier: ISC */
/* Connections that fail, end, or never answer; and sentences about what is not there. */
#include "base/mem.h"
#include "pg_fixture.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void close_clients(struct pg_fixture *fixture, int keep)
{
    while (fixture->client_count > keep)
        store_close(fixture->clients[--fixture->client_count].store, NULL, NULL);
    pg_fixture_turn_ms(fixture, 1);
}

/* A socket that takes connections (in its backlog) and never answers. */
static int open_silent_server(int *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static struct store_request ask_status(struct pg_fixture *fixture, const char *url,
                                       const char *schema, int64_t limit_ms)
{
    int keep = fixture->client_count;
    struct pg_client *client = pg_client_open(fixture, url, schema);
    struct store_request request = {.kind = STORE_STATUS};
    pg_client_submit(client, &request, limit_ms);
    pg_fixture_settle(fixture);
    close_clients(fixture, keep);
    store_request_clear(&request);
    return request;
}

/* ---- refused ----------------------------------------------------------------------------- */

static void expect_refusal(struct pg_fixture *fixture, char *url, const char *sqlstate,
                           const char *part)
{
    int64_t start = now_boot_ms();
    struct store_request request = ask_status(fixture, url, NULL, 20000);
    print_message("# %s\n", request.error.text);
    free(url);
    assert_int_equal(request.outcome, STORE_FAILED);
    assert_int_equal(request.failure, FAILURE_REFUSED);
    assert_string_equal(request.error.sqlstate, sqlstate);
    assert_non_null(strstr(request.error.text, part));
    assert_null(strstr(request.error.text, "wrong horse"));
    assert_int_equal(request.sent_boot_ms, 0);
    assert_true(now_boot_ms() - start < 5000);
}

static void no_such_database__request__is_refused_at_once(void **state)
{
    char *url = pg_fixture_url_as("postgres", "no_such_database", "");
    expect_refusal(*state, url, "3D000", "no_such_database");
}

static void no_such_role__request__is_refused_at_once(void **state)
{
    char *url = pg_fixture_url_as("no_such_role", "postgres", "password='wrong horse'");
    expect_refusal(*state, url, "28000", "no_such_role");
}

static void bad_sslmode__request__is_refused_at_once(void **state)
{
    char *url = pg_fixture_url_as("postgres", "postgres", "sslmode=sometimes");
    expect_refusal(*state, url, "", "sometimes");
}

static void no_such_service__request__is_refused_at_once(void **state)
{
    expect_refusal(*state, mem_strdup("service=no_such_service"), "", "no_such_service");
}

static void bad_session_attrs__request__is_refused_at_once(void **state)
{
    char *url = pg_fixture_url_as("postgres", "postgres", "target_session_attrs=good");
    expect_refusal(*state, url, "", "target_session_attrs");
}

/* ---- not answered ------------------------------------------------------------------------ */

static void expect_silence(struct pg_fixture *fixture, const char *url, const char *part)
{
    int64_t start = now_boot_ms();
    struct store_request request = ask_status(fixture, url, NULL, 700);
    print_message("# %s\n", request.error.text);
    assert_int_equal(request.outcome, STORE_FAILED);
    assert_int_equal(request.failure, FAILURE_UNREACHABLE);
    assert_int_equal(request.sent_boot_ms, 0);
    assert_non_null(strstr(request.error.text, part));
    assert_in_range(now_boot_ms() - start, 690, 1200);
}

static void nobody_listens__request__ends_at_its_limit_with_the_last_fault(void **state)
{
    expect_silence(*state, "host=127.0.0.1 port=1 user=postgres", "Connection refused");
}

static void no_socket__request__ends_at_its_limit_with_the_last_fault(void **state)
{
    expect_silence(*state, "host=/no/such/folder user=postgres", "/no/such/folder");
}

static void unknown_host__request__ends_at_its_limit_with_the_last_fault(void **state)
{
    expect_silence(*state, "host=no-such-host.invalid user=postgres", "no-such-host.invalid");
}

static void silent_server__request__ends_at_its_limit(void **state)
{
    int port, fd = open_silent_server(&port);
    char *url = mem_printf("host=127.0.0.1 port=%d user=postgres", port);
    expect_silence(*state, url, "has not answered yet");
    free(url);
    close(fd);
}

static void silent_and_good_host__request__is_answered_by_the_good_one(void **state)
{
    struct pg_fixture *fixture = *state;
    int port, fd = open_silent_server(&port);
    char *good_port = mem_strdup(PQport(fixture->person));
    char *url = mem_printf("host=127.0.0.1,%s port=%d,%s user=postgres dbname=postgres "
                           "connect_timeout=1",
                           PQhost(fixture->person), port, good_port);
    int64_t start = now_boot_ms();
    struct store_request request = ask_status(fixture, url, NULL, 8000);
    assert_int_equal(request.outcome, STORE_ANSWERED);
    assert_in_range(now_boot_ms() - start, 900, 2000);
    free(good_port);
    free(url);
    close(fd);
}

static void refused_and_good_host__request__is_answered_by_the_good_one(void **state)
{
    struct pg_fixture *fixture = *state;
    char *url = mem_printf("host=localhost,127.0.0.1,%s port=1,1,%s user=postgres dbname=postgres",
                           PQhost(fixture->person), PQport(fixture->person));
    int lower_fd = dup(0);
    int keep = fixture->client_count;
    struct pg_client *client = pg_client_open(fixture, url, NULL);
    close(lower_fd); /* libpq's next socket takes a lower number than the one before */
    struct store_request request = {.kind = STORE_STATUS};
    assert_int_equal(pg_client_ask(client, &request), STORE_ANSWERED);
    assert_int_equal(client->lost_count, 1);
    assert_int_equal(client->restored_count, 1);
    store_request_clear(&request);
    close_clients(fixture, keep);
    free(url);
}

static void name_on_its_way__store_closed__is_left_alone(void **state)
{
    struct pg_fixture *fixture = *state;
    int keep = fixture->client_count;
    pg_client_open(fixture, "host=localhost port=1 user=postgres", NULL);
    close_clients(fixture, keep);
    pg_fixture_turn_ms(fixture, 100);
}

/* ---- lost -------------------------------------------------------------------------------- */

static void kill_backends(struct pg_fixture *fixture, const char *name)
{
    pg_person(fixture,
              "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
              "WHERE application_name = '%s'",
              name);
}

static void idle_backend_terminated__is_told_once_and_reconnected_soon(void **state)
{
    struct pg_fixture *fixture = *state;
    int keep = fixture->client_count;
    char *url = pg_fixture_url_with("application_name=idle%20one");
    struct pg_client *client = pg_client_open(fixture, url, NULL);
    struct store_request request = {.kind = STORE_STATUS};
    assert_int_equal(pg_client_ask(client, &request), STORE_ANSWERED);
    store_request_clear(&request);
    pg_fixture_turn_ms(fixture, 1100); /* a connection that has lasted */
    for (int i = 1; i <= 2; i++) {
        kill_backends(fixture, "idle one");
        int64_t start = now_boot_ms();
        while (client->restored_count < i && now_boot_ms() - start < 3000)
            uv_run(&fixture->loop, UV_RUN_ONCE);
        assert_int_equal(client->lost_count, i);
        assert_int_equal(client->restored_count, i);
        assert_true(now_boot_ms() - start < 1000);
        assert_string_equal(client->last_lost.sqlstate, "57P01");
    }
    print_message("# %s\n", client->last_lost.text);
    close_clients(fixture, keep);
    free(url);
}

static void backend_terminated_in_a_statement__request__fails_as_unreachable(void **state)
{
    struct pg_fixture *fixture = *state;
    int keep = fixture->client_count;
    char *url = pg_fixture_url_with("application_name=busy%20one");
    struct pg_client *client = pg_client_open(fixture, url, NULL);
    struct pg_contender one;
    pg_contender_init(&one, pg_fixture_key(fixture));
    assert_int_equal(pg_contender_claim(&one, client), CLAIM_WON);
    pg_person(fixture, "BEGIN");
    pg_person(fixture, "SELECT 1 FROM leases WHERE key = '%s' FOR UPDATE", one.item.key);
    struct renew_item item = {
        .key = one.item.key, .holder = one.holder, .fence = one.item.fence, .ttl_ms = 60000};
    struct store_request request = {.kind = STORE_RENEW, .u.renew = {.items = &item, .count = 1}};
    pg_client_submit(client, &request, 8000);
    pg_fixture_turn_ms(fixture, 100);
    kill_backends(fixture, "busy one");
    pg_fixture_settle(fixture);
    pg_person(fixture, "COMMIT");
    print_message("# %s\n", request.error.text);
    assert_int_equal(request.outcome, STORE_FAILED);
    assert_int_equal(request.failure, FAILURE_UNREACHABLE);
    assert_int_equal(pg_contender_renew(&one, client).verdict, RENEW_RENEWED);
    close_clients(fixture, keep);
    free(url);
}

/* The answer does not come within the limit: the connection is dropped, and the next request goes
 * over a new one at once. */
static void unanswered_statement__limit_passes__next_request_is_answered(void **state)
{
    struct pg_fixture *fixture = *state;
    int keep = fixture->client_count;
    struct pg_client *client = pg_client_open(fixture, NULL, NULL);
    struct store_request request = {.kind = STORE_STATUS};
    assert_int_equal(pg_client_ask(client, &request), STORE_ANSWERED);
    store_request_clear(&request);
    pg_fixture_turn_ms(fixture, 1100);
    pg_person(fixture, "BEGIN");
    pg_person(fixture, "LOCK TABLE leases IN ACCESS EXCLUSIVE MODE");
    request = (struct store_request){.kind = STORE_STATUS};
    int64_t start = now_boot_ms();
    pg_client_submit(client, &request, 300);
    pg_fixture_settle(fixture);
    pg_person(fixture, "COMMIT");
    assert_int_equal(request.outcome, STORE_FAILED);
    assert_int_equal(request.failure, FAILURE_UNREACHABLE);
    assert_true(request.sent_boot_ms > 0);
    assert_in_range(now_boot_ms() - start, 290, 600);
    request = (struct store_request){.kind = STORE_STATUS};
    pg_client_submit(client, &request, 1000);
    pg_fixture_settle(fixture);
    assert_int_equal(request.outcome, STORE_ANSWERED);
    store_request_clear(&request);
    close_clients(fixture, keep);
}

static void hundred_reconnects__all_are_answered(void **state)
{
    struct pg_fixture *fixture = *state;
    for (int i = 0; i < 100; i++)
        assert_int_equal(ask_status(fixture, NULL, NULL, 5000).outcome, STORE_ANSWERED);
}

/* ---- what is not there ------------------------------------------------------------------- */

static void expect_failure(struct pg_fixture *fixture, const char *url, const char *schema,
                           enum store_failure failure, const char *sqlstate, const char *part)
{
    int keep = fixture->client_count;
    struct pg_client *client = pg_client_open(fixture, url, schema);
    struct pg_contender one;
    pg_contender_init(&one, pg_fixture_key(fixture));
    pg_contender_submit(&one, client);
    pg_fixture_settle(fixture);
    print_message("# %s\n", one.request.error.text);
    assert_int_equal(one.request.outcome, STORE_FAILED);
    assert_int_equal(one.request.failure, failure);
    assert_string_equal(one.request.error.sqlstate, sqlstate);
    assert_non_null(strstr(one.request.error.text, part));
    close_clients(fixture, keep);
}

static void no_schema__claim__names_init(void **state)
{
    struct pg_fixture *fixture = *state;
    expect_failure(fixture, NULL, "no such schema", FAILURE_SCHEMA, "42P01", "leaserun init");
    pg_person(fixture, "CREATE SCHEMA IF NOT EXISTS empty_one");
    expect_failure(fixture, NULL, "empty_one", FAILURE_SCHEMA, "42P01", "leaserun init");
    pg_person(fixture, "DROP SCHEMA empty_one");
}

static void no_rights__claim__names_what_is_missing(void **state)
{
    struct pg_fixture *fixture = *state;
    pg_person(fixture, "DROP ROLE IF EXISTS powerless");
    pg_person(fixture, "CREATE ROLE powerless LOGIN");
    char *url = pg_fixture_url_as("powerless", "postgres", "");
    expect_failure(fixture, url, NULL, FAILURE_RIGHTS, "42501", "permission denied");
    pg_person(fixture, "DROP ROLE powerless");
    free(url);
}

/* The grants that --print-sql shows are enough, the greeting included. */
static void granted_role__whole_life__needs_no_more(void **state)
{
    struct pg_fixture *fixture = *state;
    int keep = fixture->client_count;
    pg_person(fixture, "DROP ROLE IF EXISTS granted");
    pg_person(fixture, "CREATE ROLE granted LOGIN");
    pg_person_grant(fixture, "granted");
    pg_person(fixture, "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC");
    char *url = pg_fixture_url_as("granted", "postgres", "");
    struct pg_client *client = pg_client_open(fixture, url, NULL);
    struct pg_contender one;
    pg_contender_init(&one, pg_fixture_key(fixture));
    assert_int_equal(pg_contender_claim(&one, client), CLAIM_WON);
    assert_int_equal(pg_contender_renew(&one, client).verdict, RENEW_RENEWED);
    assert_int_equal(pg_contender_give_back(&one, client, STORE_RELEASE), RELEASE_RELEASED);
    struct store_request purge = {.kind = STORE_PURGE};
    assert_int_equal(pg_client_ask(client, &purge), STORE_ANSWERED);
    struct store_request inspect = {.kind = STORE_INSPECT};
    assert_int_equal(pg_client_ask(client, &inspect), STORE_ANSWERED);
    for (size_t i = 0; i < inspect.u.inspection.fault_count; i++)
        print_message("%s\n", inspect.u.inspection.faults[i].text);
    assert_int_equal(inspect.u.inspection.fault_count, 0);
    store_request_clear(&inspect);
    pg_person(fixture, "GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC");
    close_clients(fixture, keep);
    pg_person(fixture, "DROP OWNED BY granted");
    pg_person(fixture, "DROP ROLE granted");
    free(url);
}

static void read_only_server__claim__says_so(void **state)
{
    char *url = pg_fixture_url_with("options=-c%20default_transaction_read_only%3Don");
    expect_failure(*state, url, NULL, FAILURE_READ_ONLY, "25006", "takes no writes");
    free(url);
}

static void read_only_and_good_host__claim_again__is_won_there(void **state)
{
    struct pg_fixture *fixture = *state;
    int keep = fixture->client_count;
    pg_person(fixture, "DROP ROLE IF EXISTS reader");
    const char *host = PQhost(fixture->person), *port = PQport(fixture->person);
    char *url =
        mem_printf("host=%s,%s port=%s,%s user=postgres dbname=postgres", host, host, port, port);
    struct pg_client *client = pg_client_open(fixture, url, NULL);
    struct pg_contender one;
    pg_contender_init(&one, pg_fixture_key(fixture));
    pg_person(fixture, "ALTER ROLE postgres SET default_transaction_read_only = on");
    pg_contender_submit(&one, client);
    pg_fixture_settle(fixture);
    pg_person(fixture, "ALTER ROLE postgres RESET default_transaction_read_only");
    assert_int_equal(one.request.outcome, STORE_FAILED);
    assert_int_equal(one.request.failure, FAILURE_READ_ONLY);
    one.item.attempt++;
    assert_int_equal(pg_contender_claim(&one, client), CLAIM_WON); /* over a new connection */
    close_clients(fixture, keep);
    free(url);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(no_such_database__request__is_refused_at_once),
        cmocka_unit_test(no_such_role__request__is_refused_at_once),
        cmocka_unit_test(bad_sslmode__request__is_refused_at_once),
        cmocka_unit_test(no_such_service__request__is_refused_at_once),
        cmocka_unit_test(bad_session_attrs__request__is_refused_at_once),
        cmocka_unit_test(nobody_listens__request__ends_at_its_limit_with_the_last_fault),
        cmocka_unit_test(no_socket__request__ends_at_its_limit_with_the_last_fault),
        cmocka_unit_test(unknown_host__request__ends_at_its_limit_with_the_last_fault),
        cmocka_unit_test(silent_server__request__ends_at_its_limit),
        cmocka_unit_test(silent_and_good_host__request__is_answered_by_the_good_one),
        cmocka_unit_test(refused_and_good_host__request__is_answered_by_the_good_one),
        cmocka_unit_test(name_on_its_way__store_closed__is_left_alone),
        cmocka_unit_test(idle_backend_terminated__is_told_once_and_reconnected_soon),
        cmocka_unit_test(backend_terminated_in_a_statement__request__fails_as_unreachable),
        cmocka_unit_test(unanswered_statement__limit_passes__next_request_is_answered),
        cmocka_unit_test(hundred_reconnects__all_are_answered),
        cmocka_unit_test(no_schema__claim__names_init),
        cmocka_unit_test(no_rights__claim__names_what_is_missing),
        cmocka_unit_test(granted_role__whole_life__needs_no_more),
        cmocka_unit_test(read_only_server__claim__says_so),
        cmocka_unit_test(read_only_and_good_host__claim_again__is_won_there),
    };
    return pg_fixture_run("postgresql connection", cases, CASE_COUNT(cases));
}

/* SPDX-License-Identifier: ISC */
/* From what libpq and the server say to an error a person can act on. */
#pragma once
#include "base/error.h"
#include "store/store.h"

#include <libpq-fe.h>

/* By SQLSTATE; "" (none) means that there was no answer: unreachable. */
enum store_failure pg_failure_of(const char *sqlstate);

/* The sentence for a statement that the server refused. what: "claim", for the sentence. */
enum store_failure pg_failure_of_result(const PGresult *result, const char *what,
                                        const char *schema, struct error *err);

/* A failed connect, or a connection that broke: libpq has only text, with the SQLSTATE in it
 * when the verbosity is VERBOSE. Fills err->sqlstate when it finds one. ERROR_CONFIG: the server
 * asked for a password, and none is given. */
void pg_failure_of_connection(PGconn *conn, struct error *err);

/* Whether trying the same again can never help: wrong user, password or database. */
bool pg_failure_is_refusal(const char *sqlstate);

/* SPDX-License-Identifier: ISC */
#include "base/mem.h"
#include "store/inspection.h"
#include "store/postgresql/pg_foreign_facts.h"
#include "store/postgresql/pg_foreign_ops.h"

#include <stdlib.h>

void pg_foreign_inspect_begin(struct pg_task *task, const PGresult *facts)
{
    struct inspection *inspection = &task->request->u.inspection;
    struct pg_foreign *foreign = task->foreign;
    char *note;
    pg_foreign_facts_read(foreign, task->schema, facts, inspection_add_fault, inspection);
    task->work->has_schema = pg_foreign_facts_has_schema(facts);
    task->work->description =
        mem_printf("PostgreSQL %s, table %s (%s)", pg_foreign_facts_version(facts), foreign->shown,
                   store_dialect_name(foreign->table.dialect));
    for (int i = 0; pg_foreign_is_known(foreign) &&
                    (note = pg_foreign_facts_note(foreign, task->schema, facts, i)) != NULL;
         i++)
        inspection_add_note(inspection, note);
}

void pg_foreign_inspect_end(struct pg_task *task)
{
    struct inspection *inspection = &task->request->u.inspection;
    char *own = inspection->description;
    inspection->description = own == NULL ? mem_strdup(task->work->description)
                                          : mem_printf("%s; %s", task->work->description, own);
    free(own);
}

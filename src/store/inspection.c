/* SPDX-License-Identifier: ISC */
#include "store/inspection.h"

#include "base/mem.h"

void inspection_add_fault(void *owner, const struct error *fault)
{
    struct inspection *inspection = owner;
    inspection->faults =
        mem_grow(inspection->faults, inspection->fault_count + 1, sizeof inspection->faults[0]);
    inspection->faults[inspection->fault_count++] = *fault;
}

void inspection_add_note(struct inspection *inspection, char *owned_text)
{
    inspection->notes =
        mem_grow(inspection->notes, inspection->note_count + 1, sizeof inspection->notes[0]);
    inspection->notes[inspection->note_count++] = owned_text;
}

/* SPDX-License-Identifier: ISC */
#include "fake_terminal.h"

#include "fake_clock.h"
#include "journal.h"

struct fake_terminal fake_terminal;

void terminal_open(struct terminal *terminal)
{
    *terminal = (struct terminal){.fd = fake_terminal.exists ? 99 : -1};
    fake_terminal.open_count++;
}

void terminal_close(struct terminal *terminal)
{
    terminal->fd = -1;
    fake_terminal.open_count--;
}

bool terminal_is_ours(const struct terminal *terminal)
{
    return terminal->fd >= 0 && fake_terminal.is_ours;
}

bool terminal_should_give(const struct terminal *terminal)
{
    return terminal->fd >= 0 && fake_terminal.should_give;
}

bool terminal_is_at(const struct terminal *terminal, pid_t group)
{
    return terminal->fd >= 0 && fake_terminal.is_at_command;
}

bool terminal_is_gone(const struct terminal *terminal)
{
    return fake_terminal.is_gone;
}

void terminal_give(struct terminal *terminal)
{
    terminal->is_given = true;
}

void terminal_restore_modes(const struct terminal *terminal)
{
    if (terminal->fd >= 0)
        journal_add("restore modes");
}

bool terminal_can_stop_self(void)
{
    return !fake_terminal.is_orphaned;
}

void terminal_take_back(struct terminal *terminal, pid_t command_group)
{
    terminal->is_given = false;
    journal_add("take back from %d", (int)command_group);
}

void terminal_stop_self(void)
{
    journal_add("stop ourselves");
    fake_clock_stop_for(fake_terminal.stopped_ms);
}

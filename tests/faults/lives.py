# SPDX-License-Identifier: ISC
"""The leaseruns that are alive, and the pids of what belongs to them."""
import contextlib


def children(pid):
    try:
        with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def is_named(pid, name):
    try:
        with open(f'/proc/{pid}/comm', encoding='ascii') as file:
            return file.read().strip() == name
    except OSError:
        return False


def guards_of(pid):
    return [child for child in children(pid) if is_named(child, 'leaserun-guard')]


def worker_of(guard):
    return next((child for child in children(guard) if is_named(child, 'worker')), None)


def environment_of(pid):
    with contextlib.suppress(OSError), open(f'/proc/{pid}/environ', 'rb') as file:
        words = file.read().decode(errors='replace').split('\0')
        return dict(word.split('=', 1) for word in words if '=' in word)
    return {}


class Live:
    """A `leaserun run` that has been started and not yet been waited for."""
    run_id = None  # of its strikes; it has one run only

    def __init__(self, process, node, key):
        self.process, self.pid, self.node, self.key = process, process.pid, node, key
        self.leaserun = self  # whose guard and worker are struck

    def find(self, role):
        """The pid of 'leaserun', its 'guard' or the 'worker', or None."""
        if role == 'leaserun':
            return self.pid
        guard = next(iter(guards_of(self.pid)), None)
        return guard if role == 'guard' or guard is None else worker_of(guard)


class SchedulerLive(Live):
    """A `leaserun schedule`, of which only it itself is struck; for guards and workers see its
    runs."""

    def __init__(self, process, node):
        super().__init__(process, node, '')

    def find(self, role):
        return self.pid if role == 'leaserun' else None

    def runs(self):
        """Those whose worker has begun: before, nobody could tell whose run it is."""
        workers = ((guard, worker_of(guard)) for guard in guards_of(self.pid))
        runs = [SchedulersRun(self, guard, worker) for guard, worker in workers if worker]
        return [run for run in runs if run.run_id]


class SchedulersRun:
    """One run of a scheduler: strikes at its guard or worker are this run's alone."""

    def __init__(self, leaserun, guard, worker):
        told = environment_of(worker)
        self.leaserun, self.node, self.pid = leaserun, leaserun.node, leaserun.pid
        self.guard, self.key = guard, told.get('LEASERUN_KEY', '')
        self.run_id = told.get('LEASERUN_RUN_ID')

    def find(self, role):
        if role == 'leaserun':
            return self.pid
        if self.guard not in guards_of(self.pid):
            return None
        return self.guard if role == 'guard' else worker_of(self.guard)

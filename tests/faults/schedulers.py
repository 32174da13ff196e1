# SPDX-License-Identifier: ISC
"""The replicas: every node keeps one `leaserun schedule` of the same jobs, and starts it again
whenever it has ended. How their tables look, and the faults that are theirs."""
import collections
import contextlib
import os
import random
import resource
import signal
import threading
import time

WORDS = ('worker', 'stamps', 'resource')
Job = collections.namedtuple('Job', 'name every_s work status settings')

# work: milliseconds, and how the command takes a TERM. A window is start-within, else every_s.
JOBS = (
    Job('second', 1, '10-700', '0', {}),
    Job('pair', 2, '100-3000', '0', {'overlap': 'wait', 'start-within': '6s'}),
    Job('moody', 2, '10-500', '7/3', {'retries': '2', 'retry-delay': '200ms'}),
    Job('slow', 4, '500-2500', '0 --deaf', {'timeout': '1500ms', 'start-within': '4s'}),
    Job('long', 5, '2000-9000', '0', {'schedule': '*/5 * * * * *', 'timezone': 'UTC'}),
    Job('every-one', 3, '10-200', '0', {'misfire': 'all'}),
    Job('newest', 4, '10-200', '0', {'misfire': 'latest', 'overlap': 'wait'}),
    Job('twin-a', 3, '10-1000', '0', {'key': 'twins', 'start-within': '5s'}),
    Job('twin-b', 3, '10-1000', '7/5', {'key': 'twins', 'start-within': '5s'}),
    Job('first', 0, '500', '7/2', {'schedule': '@once'}),
)
KEYS = sorted({job.settings.get('key', job.name) for job in JOBS})
LEFT_OUT = 'second'  # of a table that lacks a job
END_S = 20  # for the commands of one that was told to end


def key_of(job):
    return job.settings.get('key', job.name)


def window_s(job):
    return int(job.settings.get('start-within', f'{job.every_s}s').removesuffix('s'))


def tell_jobs(events):
    """What a judge has to know of them."""
    for job in JOBS:
        events.tell('job', name=job.name, key=key_of(job), every_s=job.every_s,
                    window_s=window_s(job), overlap=job.settings.get('overlap', 'skip'),
                    misfire=job.settings.get('misfire', 'skip'),
                    is_interval='schedule' not in job.settings,
                    retries=int(job.settings.get('retries', 0)))


class Keeper:
    """Of one node's replica."""

    def __init__(self, scene, node, seed):
        self.scene, self.node = scene, node
        self.chance = random.Random(f'{seed} {node.number} scheduler')
        self.table = os.path.join(node.folder, 'jobs.ini')
        self.config = os.path.join(node.folder, 'leaserun.ini')
        with open(self.config, 'w', encoding='ascii') as file:
            file.write('[log]\nlevel = debug\n')  # and not that of the machine
        self.waits = node.number == 1  # for its commands, when it is told to end
        self.live, self.is_over, self.may_start_at = None, threading.Event(), 0
        self.write_table()
        self.thread = threading.Thread(target=self.keep, daemon=True)

    def write_table(self, left_out=None, more=''):
        lines = ['[schedule]', f'on-shutdown = {"wait" if self.waits else "terminate"}',
                 '[defaults]', 'ttl = 5s', 'grace = 300ms', 'retry-delay = 200ms']
        words = ' '.join(getattr(self.scene, word) if word != 'resource' else
                         self.scene.resource.path for word in WORDS)
        for job in (job for job in JOBS if job.name != left_out):
            settings = {'schedule': f'every {job.every_s}s', **job.settings}
            lines += [f'[job {job.name}]', f'exec = {words} {job.work} {job.status}']
            lines += [f'{name} = {value}' for name, value in settings.items()]
        text = '\n'.join([*lines, more]) + '\n'
        with open(self.table + '.new', 'w', encoding='utf-8') as file:
            file.write(text)
        os.rename(self.table + '.new', self.table)

    def keep(self):
        while not self.is_over.is_set():
            if (left_s := self.may_start_at - time.monotonic()) > 0:
                self.is_over.wait(left_s)
                continue
            begin = time.monotonic()
            self.scene.keep(self)
            is_early = time.monotonic() - begin < 1
            self.is_over.wait(0.5 if is_early else self.chance.choice([0, 0, 0.3]))

    def rest(self, seconds):
        """Not started again before that."""
        self.may_start_at = max(self.may_start_at, time.monotonic() + seconds)

    def arguments(self):
        return ['schedule', '--log-format', 'json', '--config', self.config, self.table]


# ---- faults --------------------------------------------------------------------------------------

def keeper_of(scene, fault):
    """Of the node, if its replica is there."""
    keeper = scene.keepers[fault.node] if scene.keepers else None
    return keeper if keeper and keeper.live else None


def run_of(scene, fault):
    """One of the replica's runs, or None."""
    keeper = keeper_of(scene, fault)
    with scene.lock:
        runs = keeper.live.runs() if keeper and keeper.live else []
    return runs[int(fault.pick * len(runs))] if runs else None


def target_of(scene, fault, roles):
    """The replica; for a guard or worker, one run that it has."""
    keeper = keeper_of(scene, fault)
    return keeper and (keeper.live if roles == ('leaserun',) else run_of(scene, fault))


def strike_at(scene, target, number, *roles):
    struck = [(scene.strike(target, role, number), role) for role in roles if target]
    return [(pidfd, role) for pidfd, role in struck if pidfd is not None]


def strike(number, *roles):
    def inject(scene, fault):
        if fault.details.get('after_slot_ms') is not None:
            time.sleep(1 - time.time() % 1 + fault.details['after_slot_ms'] / 1000)
        if 'down_s' in fault.details and scene.keepers:
            scene.keepers[fault.node].rest(fault.details['down_s'])
        struck = strike_at(scene, target_of(scene, fault, roles), number, *roles)
        for pidfd, _ in struck:
            os.close(pidfd)
        return bool(struck)
    return inject


def power_cut(scene, fault):
    """No replica is there for a while."""
    for keeper in scene.keepers:
        keeper.rest(fault.details['seconds'])
    struck = [one for keeper in scene.keepers if keeper.live
              for one in strike_at(scene, keeper.live, signal.SIGKILL, 'leaserun')]
    for pidfd, _ in struck:
        os.close(pidfd)
    return bool(struck)


def stop(*roles):
    def inject(scene, fault):
        target = target_of(scene, fault, roles)
        struck = strike_at(scene, target, signal.SIGSTOP, *roles)
        if struck:
            time.sleep(fault.details['seconds'])
        for pidfd, role in struck:
            scene.revive(pidfd, target, role)
        return bool(struck)
    return inject


def freeze(scene, fault):
    """A machine that stands still: the replica and what it has started."""
    keeper = keeper_of(scene, fault)
    if keeper is None:
        return False
    live = keeper.live
    struck = [(*one, live) for one in strike_at(scene, live, signal.SIGSTOP, 'leaserun')]
    for run in live.runs() if struck else []:
        struck += [(*one, run) for one in strike_at(scene, run, signal.SIGSTOP, 'guard', 'worker')]
    if struck:
        time.sleep(fault.details['seconds'])
    random.Random(fault.pick).shuffle(struck)
    for pidfd, role, target in struck:
        scene.revive(pidfd, target, role)
    return bool(struck)


def read_table(scene, fault):
    """The same, or for a while one with a fault, which nobody could start with, or one that lacks a
    job."""
    keeper = keeper_of(scene, fault)
    if keeper is None:
        return False
    how = fault.details['how']
    tables = {'same': {}, 'faulty': {'more': 'every = 2s\n[job second]'},
              'fewer': {'left_out': LEFT_OUT}}
    if how == 'faulty':
        keeper.rest(fault.details['seconds'] + 0.5)
    keeper.write_table(**tables[how])
    struck = strike_at(scene, keeper.live, signal.SIGHUP, 'leaserun')
    if how != 'same':
        time.sleep(fault.details['seconds'])
        keeper.write_table()
        scene.events.tell('table whole', node=fault.node, left_out=tables[how].get('left_out'))
        struck += strike_at(scene, keeper.live, signal.SIGHUP, 'leaserun') if keeper.live else []
    for pidfd, _ in struck:
        os.close(pidfd)
    return bool(struck)


def limit(number, name):
    """Of the living replica, for a while; what it starts meanwhile inherits it."""
    def inject(scene, fault):
        keeper = keeper_of(scene, fault)
        if keeper is None:
            return False
        pid = keeper.live.pid
        with contextlib.suppress(ProcessLookupError, PermissionError):  # not while it is exec'd
            old = resource.prlimit(pid, number)
            resource.prlimit(pid, number, (fault.details[name], old[1]))
            time.sleep(fault.details['seconds'])
            with scene.lock:
                if keeper.live and keeper.live.pid == pid:
                    resource.prlimit(pid, number, old)
        return True
    return inject

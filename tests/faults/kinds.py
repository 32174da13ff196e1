# SPDX-License-Identifier: ISC
"""The kinds of faults, and the plan of a run: which kind comes when, drawn from a seed.

A kind has a weight, a function that draws its details (so that the plan is whole before anything
has begun), and one that injects it. `inject` returns False when there was nothing to strike.
"""
import collections
import contextlib
import os
import random
import resource
import signal
import subprocess
import time

import schedulers

TTL_S = 5
HOT_KEYS = ('alpha', 'beta')
STATEMENTS = {'claim': 'INTO .*leases', 'renewal': 'renewed AS', 'release': 'freed AS'}
LEAST_WITH_STANDBY_S = 40
QUIET_S = 6  # between two faults of the server, so that something goes on meanwhile

Fault = collections.namedtuple('Fault', 'number at kind node pick details')
Kind = collections.namedtuple('Kind', 'weight draw inject')


def plan(seed, seconds, node_count):
    chance = random.Random(seed)
    faults = draw_faults(chance, KINDS, 0.7, seconds, node_count)
    if seconds >= LEAST_WITH_STANDBY_S:
        at = round(seconds * chance.uniform(0.3, 0.7), 2)
        faults.append(Fault(0, at, PROMOTION, 0, 0, {}))
    chance = random.Random(f'{seed} schedulers')
    more = draw_faults(chance, SCHEDULERS_KINDS, 1.2, seconds, node_count)
    faults += [fault._replace(number=-fault.number) for fault in more]
    return sorted(faults, key=lambda fault: fault.at)


def draw_faults(chance, kinds, mean_gap_s, seconds, node_count):
    at, quiet_until, faults = 1.0, 0.0, []
    while at < seconds - 1:
        kind = chance.choices(list(kinds), [kind.weight for kind in kinds.values()])[0]
        details = kinds[kind].draw(chance)
        node, pick = chance.randrange(node_count), chance.random()
        if kind not in OF_THE_SERVER or at >= quiet_until:
            faults.append(Fault(len(faults) + 1, round(at, 2), kind, node, pick, details))
            quiet_until = at + QUIET_S if kind in OF_THE_SERVER else quiet_until
        at += chance.expovariate(1 / mean_gap_s)
    return faults


# ---- processes ---------------------------------------------------------------------------------

def choose(scene, fault):
    """A leaserun of the node that has a worker, if there is one; else one that waits. What stands
    still for longer than a ttl should have a key that others want."""
    with scene.lock:
        live = [live for live in scene.live if live.node.number == fault.node]
        busy = [one for one in live if one.find('worker') is not None]
    wanted = [one for one in busy if one.key in HOT_KEYS] if 'long' in fault.kind else []
    candidates = wanted or busy or live
    return candidates[int(fault.pick * len(candidates))] if candidates else None


def strike(number, *roles):
    def inject(scene, fault):
        live = choose(scene, fault)
        struck = [scene.strike(live, role, number) for role in roles if live]
        for pidfd in struck:
            if pidfd is not None:
                os.close(pidfd)
        return any(pidfd is not None for pidfd in struck)
    return inject


def stop(*roles):
    def inject(scene, fault):
        live = choose(scene, fault)
        struck = [(scene.strike(live, role, signal.SIGSTOP), role) for role in roles if live]
        struck = [(pidfd, role) for pidfd, role in struck if pidfd is not None]
        if struck:
            time.sleep(fault.details['seconds'])
        chance = random.Random(fault.pick)
        chance.shuffle(struck)
        if chance.random() < 0.6:  # the command goes on before anybody could end it
            struck.sort(key=lambda one: one[1] != 'worker')
        for pidfd, role in struck:
            scene.revive(pidfd, live, role)
            time.sleep(chance.uniform(0, 0.3))
        return bool(struck)
    return inject


# ---- the network -------------------------------------------------------------------------------

def cut(scene, fault):
    with scene.nodes[fault.node].cut(fault.details['direction']):
        time.sleep(fault.details['seconds'])


def reset(scene, fault):
    """Connections end, and for a while there are no new ones."""
    node = scene.nodes[fault.node]
    node.tell_proxy('refuse on')
    node.tell_proxy('cut')
    time.sleep(fault.details['seconds'])
    node.tell_proxy('refuse off')


def spoil(scene, fault):
    """One message is lost, swallowed, or comes late."""
    details = fault.details
    node = scene.nodes[fault.node]
    late_ms = [str(int(details['seconds'] * 1000))] if details['how'].startswith('delay') else []
    for _ in range(details['times']):
        node.tell_proxy(details['how'], *late_ms, STATEMENTS[details['of']])


def slow_line(scene, fault):
    """Whatever is said on the node's connections comes late."""
    node, end = scene.nodes[fault.node], time.monotonic() + fault.details['seconds']
    while (left_s := end - time.monotonic()) > 0:
        node.tell_proxy(f'delay-{fault.details["what"]}', str(fault.details['late_ms']), '.')
        time.sleep(min(left_s, fault.details['late_ms'] / 2000))


def draw_spoil(chance):
    how = chance.choice(['lose-reply', 'lose-reply', 'lose-request', 'drop-reply', 'drop-request',
                         'delay-reply', 'delay-request', 'delay-request'])
    return {'how': how, 'of': chance.choice(list(STATEMENTS)), 'times': chance.choice([1, 1, 2]),
            'seconds': round(chance.choice([chance.uniform(0.1, 1), chance.uniform(1, 8)]), 2)}


# ---- the server --------------------------------------------------------------------------------

def find_backend(scene, fault):
    """A pidfd of one that serves a leaserun, or None."""
    with scene.server.lock, contextlib.suppress(subprocess.CalledProcessError, ProcessLookupError):
        pids = scene.server.sql("select pid from pg_stat_activity where application_name "
                                "like 'leaserun%' order by pid").split()
        if pids:
            return os.pidfd_open(int(pids[int(fault.pick * len(pids))]))
    return None


def backend(scene, fault):
    """Killed, ended, or stopped for a while: it alone does not answer then."""
    pidfd, details = find_backend(scene, fault), fault.details
    if pidfd is None:
        return False
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(pidfd, signal.Signals[details['signal']])
        if 'seconds' in details:
            time.sleep(details['seconds'])
            signal.pidfd_send_signal(pidfd, signal.SIGCONT)
    os.close(pidfd)
    return True


def restart(scene, fault):
    with scene.server.lock:
        scene.server.shell(f'pg_stop {scene.server.name} {fault.details["mode"]}')
        time.sleep(fault.details['seconds'])
        scene.server.shell(f'pg_start {scene.server.name}')


def promote(scene, _fault):
    with scene.server.lock:
        scene.server.promote_standby()


def lock(scene, fault):
    what = 'lock table leaserun.leases in access exclusive mode'
    if 'key' in fault.details:
        what = f"select 1 from leaserun.leases where key = '{fault.details['key']}' for update"
    with contextlib.suppress(subprocess.CalledProcessError):  # a restart comes between
        scene.server.sql(f'begin; {what}; select pg_sleep({fault.details["seconds"]}); commit')


def release(*keys):
    """A person's word, straight to the server."""
    def inject(scene, fault):
        key = keys[int(fault.pick * len(keys))]
        scene.events.tell('release', key=key)
        subprocess.run([scene.leaserun, 'release', '--stop', '--store', scene.server.url(), key],
                       capture_output=True, check=False, timeout=60)
    return inject


# ---- hosts -------------------------------------------------------------------------------------

def few_files(scene, fault):
    node = scene.nodes[fault.node]
    node.file_limit = fault.details['files']
    time.sleep(fault.details['seconds'])
    node.file_limit = None


def few_processes(scene, fault):
    """For another user, since root has no such limit."""
    node = scene.nodes[fault.node]
    node.process_limit = fault.details['processes']
    time.sleep(fault.details['seconds'])
    node.process_limit = None


def full_disk(scene, fault):
    """Nothing that leaserun says can be written."""
    node = scene.nodes[fault.node]
    node.is_disk_full = True
    time.sleep(fault.details['seconds'])
    node.is_disk_full = False


def slow_names(scene, fault):
    """The answers of a node's name server come late, or too late."""
    node = next((node for node in scene.nodes if node.has_names), None)
    if node is None:
        return False
    node.set_names_late(fault.details['late_s'])
    time.sleep(fault.details['seconds'])
    node.set_names_late(0)
    return True


def starve(scene, fault):
    """The node's processes stand behind others that only burn time."""
    node, seconds = scene.nodes[fault.node], fault.details['seconds']
    node.niceness = 15
    burners = [subprocess.Popen(['timeout', str(seconds), 'nice', '-n', '3', 'sh', '-c',
                                 'while :; do :; done']) for _ in range(os.cpu_count() or 1)]
    for burner in burners:
        burner.wait()
    node.niceness = 0


def step_clock(scene, fault):
    node = scene.nodes[-1]
    if not node.has_clock:
        return False
    node.set_clock(fault.details['step'])
    time.sleep(fault.details['seconds'])
    node.set_clock(0)
    return True


# ---- all of them -------------------------------------------------------------------------------

def nothing(_chance):
    return {}


def lasting(shortest, longest, **more):
    """Seconds, and one of each list."""
    return lambda chance: {'seconds': round(chance.uniform(shortest, longest), 2),
                           **{name: chance.choice(choices) for name, choices in more.items()}}


def draw_end(chance):
    """Whether just when slots are due, and how long the replica is not started again."""
    down_s = chance.choice([0, 0, chance.uniform(0, 3), chance.uniform(3, 9)])
    return {'after_slot_ms': chance.choice([None, chance.randrange(40)]),
            'down_s': round(down_s, 2)}


YEAR_S = 31_556_952
STEPS = [-9 * YEAR_S, -7200, -90, -3, 0.9, 3, 20, 90, 7200, 9 * YEAR_S]
KILL, STOP_SHORT, STOP_LONG = signal.SIGKILL, lasting(0.1, 2.5), lasting(TTL_S + 0.5, TTL_S + 5)

KINDS = {
    'kill leaserun': Kind(6, nothing, strike(KILL, 'leaserun')),
    'kill guard': Kind(5, nothing, strike(KILL, 'guard')),
    'kill leaserun and guard': Kind(5, nothing, strike(KILL, 'leaserun', 'guard')),
    'kill worker': Kind(2, nothing, strike(KILL, 'worker')),
    'TERM to leaserun': Kind(3, nothing, strike(signal.SIGTERM, 'leaserun')),
    'stop leaserun, short': Kind(3, STOP_SHORT, stop('leaserun')),
    'stop leaserun, long': Kind(3, STOP_LONG, stop('leaserun')),
    'stop guard, short': Kind(2, STOP_SHORT, stop('guard')),
    'stop guard, long': Kind(3, STOP_LONG, stop('guard')),
    'stop worker': Kind(1, STOP_LONG, stop('worker')),
    'freeze all of a run, short': Kind(2, STOP_SHORT, stop('leaserun', 'guard', 'worker')),
    'freeze all of a run, long': Kind(3, STOP_LONG, stop('leaserun', 'guard', 'worker')),
    'kill a backend': Kind(2, lambda chance: {'signal': 'SIGKILL'}, backend),
    'end a backend': Kind(3, lambda chance: {'signal': 'SIGTERM'}, backend),
    'stop a backend': Kind(3, lasting(0.2, TTL_S + 3, signal=['SIGSTOP']), backend),
    'restart the server': Kind(3, lasting(0, 3, mode=['immediate', 'immediate', 'fast']), restart),
    'packets vanish, short': Kind(4, lasting(0.2, 2.5, direction=['requests', 'replies', 'both']),
                                  cut),
    'packets vanish, long': Kind(4, lasting(TTL_S, TTL_S + 4,
                                            direction=['requests', 'replies', 'both']), cut),
    'connections end': Kind(3, lasting(0, 3), reset),
    'a message is spoilt': Kind(16, draw_spoil, spoil),
    'the line is slow': Kind(3, lasting(1, TTL_S + 2, what=['request', 'reply'],
                                        late_ms=[50, 300, 1500]), slow_line),
    'a row is locked': Kind(4, lasting(0.2, 7, key=HOT_KEYS), lock),
    'the table is locked': Kind(1, lasting(0.2, 2), lock),
    'release by hand': Kind(3, nothing, release(*HOT_KEYS)),
    'few descriptors': Kind(3, lasting(1, 3, files=range(4, 28)), few_files),
    'few processes': Kind(2, lasting(1, 3, processes=range(1, 6)), few_processes),
    'the disk of the log is full': Kind(2, lasting(1, 4), full_disk),
    'names are slow': Kind(3, lasting(1, 6, late_s=[0.3, 1, 3, 20]), slow_names),
    'starved of time': Kind(2, lasting(1, 3), starve),
    'the clock is stepped': Kind(3, lasting(2, 6, step=STEPS), step_clock),
}
PROMOTION = 'a synchronous standby takes over'  # once in a run
KINDS[PROMOTION] = Kind(0, nothing, promote)

# A plan of their own, so that theirs does not depend on whether there are schedulers.
SCHEDULERS_KINDS = {
    'kill a scheduler': Kind(6, draw_end, schedulers.strike(KILL, 'leaserun')),
    'kill a scheduler and a guard': Kind(4, draw_end,
                                         schedulers.strike(KILL, 'leaserun', 'guard')),
    "kill a scheduler's guard": Kind(3, nothing, schedulers.strike(KILL, 'guard')),
    "kill a scheduler's command": Kind(2, nothing, schedulers.strike(KILL, 'worker')),
    'kill all schedulers': Kind(1, lasting(0, 8), schedulers.power_cut),
    'TERM to a scheduler': Kind(6, draw_end, schedulers.strike(signal.SIGTERM, 'leaserun')),
    'stop a scheduler, short': Kind(3, STOP_SHORT, schedulers.stop('leaserun')),
    'stop a scheduler, long': Kind(3, STOP_LONG, schedulers.stop('leaserun')),
    "stop a scheduler's guard, short": Kind(1, STOP_SHORT, schedulers.stop('guard')),
    "stop a scheduler's guard, long": Kind(2, STOP_LONG, schedulers.stop('guard')),
    'freeze a scheduler and its runs, short': Kind(2, STOP_SHORT, schedulers.freeze),
    'freeze a scheduler and its runs, long': Kind(3, STOP_LONG, schedulers.freeze),
    'a scheduler reads its table again': Kind(
        4, lasting(0.5, 4, how=['same', 'same', 'faulty', 'fewer']), schedulers.read_table),
    'a scheduler has few descriptors': Kind(
        3, lasting(1, 4, files=range(8, 32)), schedulers.limit(resource.RLIMIT_NOFILE, 'files')),
    'a scheduler has few processes': Kind(
        2, lasting(1, 4, processes=range(1, 9)),
        schedulers.limit(resource.RLIMIT_NPROC, 'processes')),
    "a scheduler's row is locked": Kind(3, lasting(0.2, 7, key=schedulers.KEYS), lock),
    "release a scheduler's key by hand": Kind(2, nothing, release(*schedulers.KEYS)),
}
EVERY_KIND = KINDS | SCHEDULERS_KINDS
OF_THE_SERVER = ('restart the server', 'kill a backend')

# SPDX-License-Identifier: ISC
"""What a set of replicas promises, judged: every slot starts at most once and has one story, which
is told once, at its level. A replica was healthy while it was up and nothing was done to it, its
node or the server, nor shortly before (the tails below)."""
import collections
import itertools

from evidence import NEVER, group

S = 1_000_000
READY_US = 2 * S  # from its start until a replica must be at work
LEAST_WINDOW_S = 4  # windows that are shorter may pass on a busy machine
SHUTDOWN_US = 8 * S + 2 * S  # shutdown-grace, and the machine's leave
LATER_COUNT = 4  # so many rows of slots so much later: earlier ones that it knew of were asked for
RECALL_US = 12 * S  # from a replica's start until the store has told it of slots before
RECALLED_COUNT = 90  # who starts asks for the newest 100 of a job, and knows not just when it is due
APART_US = 1000  # slots of jobs that share a key lie less than this apart
END_US = 3 * S  # before the replicas end: what comes then has no story yet

# Seconds after a fault in which it may still be felt: on its node, everywhere, for its key.
NODES = {'packets vanish, short': 12, 'packets vanish, long': 12, 'connections end': 5,
         'a message is spoilt': 15, 'the line is slow': 6, 'names are slow': 20,
         'the clock is stepped': 5, 'a scheduler reads its table again': 3,
         'a scheduler has few descriptors': 3, 'a scheduler has few processes': 3}
EVERYWHERE = {'kill a backend': 5, 'end a backend': 5, 'stop a backend': 5,
              'restart the server': 5, 'a synchronous standby takes over': 10,
              'the table is locked': 3, 'starved of time': 3}
KEYS = {"a scheduler's row is locked": 3}
OF_ANY_NODE = ('names are slow', 'the clock is stepped')  # the plan's node is not theirs

# What a holder tells of its run beside "the run has ended", at info, once.
ENDS = {'succeeded': [], 'failed': ['run_failed', 'guard_died'], 'not_started': ['run_failed'],
        'timed_out': ['run_failed'], 'stopped': ['run_stopped'], 'lost': ['lease_lost']}
LEVELS = {'run_failed': 'error', 'guard_died': 'error', 'lease_lost': 'error',
          'run_abandoned': 'error', 'run_finished': 'info', 'claim_won': 'info'}
LOUD = ('warn', 'error')


class Schedule:
    """The jobs, and for each slot of each its row in the store."""

    def __init__(self, evidence):
        self.evidence = evidence
        self.jobs = {event['name']: event for event in evidence.events if event['what'] == 'job'}
        self.replicas = [one for one in evidence.processes if one.is_scheduler]
        self.rows, self.strays = {}, []
        self.numbers = collections.defaultdict(set)  # of slots, by who made their rows, and job
        for run in evidence.runs:
            job = self.jobs.get(run['job'])
            if job and job['every_s'] and run['slot']:
                number = self.number(job, run['slot'])
                self.rows[job['name'], number] = run
                self.numbers[id(evidence.by_run_id.get(run['run_id'])), job['name']].add(number or 0)
                if number is None or self.due_us(job, number) < evidence.events[0]['at']:
                    self.strays.append(run)
        self.lines = [(replica, line) for replica in self.replicas for line in replica.lines]
        self.lines_of = collections.defaultdict(list)
        for replica, line in self.lines:
            job = self.jobs.get(line.get('job'))
            if job and job['every_s'] and line.get('slot'):
                self.lines_of[job['name'], self.number(job, line['slot'])].append((replica, line))
        self.faults, self.left_out, self.behind = read_faults(evidence)
        self.last_node = max(one.node for one in evidence.processes)  # which has a clock of its own
        self.end = next(event['at'] for event in evidence.events if event['what'] == 'replicas end')
        self.first_wins = {}  # by job: whoever starts later finds its past in the store
        for (name, _), run in self.rows.items():
            if run['started_at']:
                self.first_wins[name] = min(run['started_at'], self.first_wins.get(name, NEVER))

    def number(self, job, text):
        """Slots are counted from the epoch; None for what is none."""
        wall_us = self.evidence.boot_us(text) + self.evidence.wall_less_boot
        number, rest = divmod(wall_us, job['every_s'] * S)
        return number if rest < APART_US else None

    def due_us(self, job, number):
        return number * job['every_s'] * S - self.evidence.wall_less_boot

    def slots(self):
        """Those that came after the first with a row, and had their time: job, number, due."""
        for name, job in self.jobs.items():
            known = [number for one, number in self.rows if one == name and number is not None and
                     self.due_us(job, number) >= self.evidence.events[0]['at']]
            for number in itertools.count(min(known)) if known else ():
                due = self.due_us(job, number)
                if due + job['window_s'] * S + END_US > self.end:
                    break
                yield job, number, due

    # ---- who was healthy ---------------------------------------------------------------------

    def is_healthy(self, replica, key, start, end):
        ends = [strike['at'] for strike in replica.strikes if strike['role'] == 'leaserun']
        is_up = replica.begin + READY_US <= start and end <= min([replica.end, *ends])
        return is_up and is_ready(replica) and not self.is_disturbed(replica, key, start, end)

    def is_disturbed(self, replica, key, start, end):
        return any(one_start < end and start < one_end and one_key in (None, key) and
                   one_node in (None, replica.node)
                   for one_start, one_end, one_node, one_key in self.faults)

    def has_healthy(self, job, due):
        end = due + job['window_s'] * S
        return any(self.is_healthy(one, job['key'], due - S, end) for one in self.replicas)

    def is_of_a_clock_behind(self, run):
        """A replica whose clock is or was behind asks late, also for slots from before the first
        start; with misfire = skip they are missed then."""
        is_late = run['outcome'] == 'missed' or self.jobs[run['job']]['misfire'] != 'skip'
        at = run['started_at'] or run['finished_at']
        replica = self.evidence.by_run_id.get(run['run_id'])
        return is_late and replica is not None and replica.node == self.last_node and any(
            start <= at and replica.begin <= end for start, end in self.behind)

    def knows_of(self, replica, job, number, due):
        """The slot was due while it was there, or it found it by the store when it started; and it
        is there still, or has worked on later ones: it must have asked what became of this one.
        Not if its table lacked the job meanwhile; and who starts does not ask for what was due
        before any table did."""
        is_there = replica.begin + READY_US <= due
        since = due if is_there else max(due, replica.begin + RECALL_US)
        if is_there:
            has_seen = replica.end > due + job['window_s'] * S
        else:
            reach_us = RECALLED_COUNT * job['every_s'] * S
            has_seen = self.first_wins.get(job['name'], NEVER) < due < replica.begin < due + reach_us
        later = sum(self.due_us(job, one - LATER_COUNT) > since
                    for one in self.numbers[id(replica), job['name']])
        has_asked = since < self.end < replica.end or later >= LATER_COUNT
        forgets = any(name == job['name'] and (node == replica.node or not is_there) and
                      due < over + READY_US for over, node, name in self.left_out)
        return is_ready(replica) and has_seen and has_asked and not forgets

    def is_free(self, job, due):
        """The key, as long as the slot may start."""
        end = due + job['window_s'] * S
        return not any(run['key'] == job['key'] and run['started_at'] and
                       run['started_at'] < end and due < (run['finished_at'] or NEVER)
                       for run in self.evidence.runs)


def is_ready(replica):
    return not replica.is_limited and any(line['event'] == 'scheduler_ready'
                                          for line in replica.lines)


def read_faults(evidence):
    """When, on which node and for which key a replica may be disturbed (None: all); and until when
    which node lacked which job; and when a clock was behind."""
    over = {event['number']: event['at'] for event in evidence.events
            if event['what'] == 'fault over'}
    found, left_out, behind = [], [], []
    for event in evidence.events:
        if event['what'] == 'fault':
            kind = event['kind']
            tail = NODES.get(kind) or EVERYWHERE.get(kind) or KEYS.get(kind)
            node = event['node'] if kind in NODES and kind not in OF_ANY_NODE else None
            key = event['details']['key'] if kind in KEYS else None
            end = over.get(event['number'], NEVER) + tail * S if tail else None
            if event['details'].get('step', 0) < 0:
                behind.append((event['at'], end))
            if tail:
                found.append((event['at'], end, node, key))
        elif event['what'] == 'table whole' and event['left_out']:
            left_out.append((event['at'], event['node'], event['left_out']))
    return found, left_out, behind


# ---- the promises ------------------------------------------------------------------------------

def slots_of_replicas_start_once(evidence):
    schedule = Schedule(evidence)
    for run in schedule.strays:
        if not schedule.is_of_a_clock_behind(run):
            yield f'{run["slot"]} of {run["job"]} is no slot: {run}'
    for job, number, due in schedule.slots():
        run = schedule.rows.get((job['name'], number))
        if run and run['outcome'] == 'missed' and job['window_s'] >= LEAST_WINDOW_S and \
                schedule.has_healthy(job, due) and schedule.is_free(job, due):
            yield f'{run["slot"]} of {job["name"]} was missed although a replica was healthy and ' \
                  'the key was free'
        if run and job['misfire'] == 'all' and run['outcome'] in ('missed', 'skipped'):
            yield f'{run["slot"]} of {job["name"]} is to run in any case and was {run["outcome"]}'
    for run_id, lives in group(evidence.lives, lambda life: life.run_id).items():
        job = schedule.jobs.get(evidence.run_of.get(run_id, {}).get('job'))
        if job and len(lives) > job['retries'] + 1:
            yield f'run {run_id} of {job["name"]} had {len(lives)} attempts'


def slots_have_one_story(evidence):
    schedule = Schedule(evidence)
    for job, number, due in schedule.slots():
        lines = schedule.lines_of[job['name'], number]
        run = schedule.rows.get((job['name'], number))
        told = [line for _, line in lines if line['event'] in ('claim_failed', 'slot_missed') and
                line['level'] in LOUD]
        knower = next((one for one in schedule.replicas
                       if run is None and schedule.knows_of(one, job, number, due)), None)
        if knower:
            yield f'slot {number} of {job["name"]}, due at {due}, has no row, and ' \
                  f'{knower.name()} lived on'
        for line in told:
            if line['event'] == 'claim_failed' and \
                    (line['level'] == 'error') != (not job['is_interval'] or line['streak'] > 2):
                yield f'a claim that failed was told at the wrong level: {line}'
        missed = [line for line in told if line['event'] == 'slot_missed']
        if len(missed) > 1 or (missed and run and run['outcome'] != 'missed'):
            yield f'slot {number} of {job["name"]} was told as missed {len(missed)} times and is ' \
                  f'{run and run["outcome"]}: {missed}'


def runs_are_told_once(evidence):
    schedule = Schedule(evidence)
    lines_of = group(((replica, line) for replica, line in schedule.lines if line.get('run_id')),
                     lambda one: one[1]['run_id'])
    for run in evidence.runs:
        replica = evidence.by_run_id.get(run['run_id'])
        is_undone = run['outcome'] == 'not_started' and run['slot'] is None
        if run['job'] not in schedule.jobs or replica is None or replica.is_mute or is_undone:
            continue
        told = lines_of.get(run['run_id'], [])
        for fault in faults_of_telling(schedule, run, replica, told):
            yield f'run {run["run_id"]} of {run["job"]} ({run["slot"]}), {run["outcome"]}, by ' \
                  f'{replica.name()}: {fault}'


def faults_of_telling(schedule, run, replica, told):
    """told: of its run id, with whoever said it."""
    own = [line for who, line in told if who is replica]
    events = collections.Counter(line['event'] for line in own)
    for line in own:
        if line['level'] != level_of(schedule.jobs[run['job']], line):
            yield f'{line["event"]} was told at {line["level"]}: {line}'
    if events['run_finished'] > 1 or any(who is not replica and line['event'] == 'run_finished'
                                         for who, line in told):
        yield f'its end was told {events["run_finished"]} times'
    if replica.is_killed():
        return
    if run['outcome'] in ('missed', 'skipped'):
        yield from faults_of_not_started(schedule, run, replica)
    elif run['outcome'] == 'abandoned':
        if not {'release_failed', 'lease_lost'} & set(events) and \
                not is_cut_off(schedule, replica, run):
            yield f'its replica did not die and told {dict(events)}'
    elif events['run_finished'] != 1:
        yield f'its end was told {events["run_finished"]} times: {dict(events)}'
    elif ENDS[run['outcome']] and sum(events[name] for name in ENDS[run['outcome']]) != 1:
        yield f'told {dict(events)}'


def level_of(job, line):
    """A job that comes again within a minute may be cut short, and others when they say so."""
    is_mild = job['is_interval'] or line.get('status') == 0
    if line['event'] == 'run_stopped':
        return 'warn' if is_mild else 'error'
    return LEVELS.get(line['event'], line['level'])


def is_cut_off(schedule, replica, run):
    """It was told to end, and the store may not have heard that a claim was to be undone."""
    terms = [strike['at'] for strike in replica.strikes if strike['signal'] == 'SIGTERM']
    return any(schedule.is_disturbed(replica, run['key'], at - S, at + S) for at in terms)


def faults_of_not_started(schedule, run, replica):
    job = schedule.jobs[run['job']]
    lines = schedule.lines_of[job['name'], schedule.number(job, run['slot'])]
    own = [line for who, line in lines if who is replica and
           (line['level'] in LOUD or line.get('outcome') == 'skipped' and line['level'] == 'info')]
    wanted = ('slot_missed', 'claim_failed') if run['outcome'] == 'missed' else ('claim_held',)
    if not any(line['event'] in wanted for line in own):
        yield f'nobody told it: {[line for _, line in lines]}'


def replicas_end_in_order(evidence):
    for replica in Schedule(evidence).replicas:
        terms = [strike['at'] for strike in replica.strikes if strike['signal'] == 'SIGTERM']
        if replica.status is None or replica.is_killed() or replica.is_limited:
            continue
        if replica.status != 0 or not terms:
            yield f'{replica.name()} ended with {replica.status}, ' \
                  f'{"told to end" if terms else "untold"}: {replica.lines[-1:]}'
        elif not replica.waits and replica.end > terms[0] + SHUTDOWN_US + stood_us(replica):
            yield f'{replica.name()} ended {(replica.end - terms[0]) / S:.1f} s after it was told'


def stood_us(replica):
    return sum(end - start for start, end in replica.away['leaserun', None] if end < NEVER)


def tell_schedule(evidence):
    schedule = Schedule(evidence)
    outcomes, healthy_count = collections.Counter(), 0
    for job, number, due in schedule.slots():
        run = schedule.rows.get((job['name'], number))
        outcomes[run['outcome'] if run else 'without a row, since none who knew of it lived on'] += 1
        healthy_count += schedule.has_healthy(job, due)
    if schedule.jobs:
        yield f'{len(schedule.replicas)} replicas, {sum(outcomes.values())} slots, ' \
              f'{healthy_count} with a healthy replica: ' + ', '.join(
                  f'{count} {outcome}' for outcome, count in outcomes.most_common())

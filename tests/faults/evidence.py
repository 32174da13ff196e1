# SPDX-License-Identifier: ISC
"""What a fault run has left behind, read for `check`:

  stamps         BOOT_US start|beat|end PID FENCE RUN_ID SLOT KEY, by the workers
  resource.log   BOOT_US accepted|refused FENCE RUN_ID KEY, by what the workers write to
  events.jsonl   what the harness did, and when
  node*/said.*   what one leaserun has said, one JSON object a line
  runs.jsonl     the store's table in the end
"""
import collections
import datetime
import glob
import json
import os

NEVER = float('inf')
MARGIN_US = 1_200_000  # of a lease: within it a tree is ended that should have been
CLAIM_US = 700_000  # a claim is executed no later than this after its process has ended
PID_AGAIN_US = 30_000_000

Life = collections.namedtuple('Life', 'start end is_whole pid fence run_id slot key')


class Process:
    """One leaserun, from what the harness knows of it: a run, or a scheduler of many runs, whose
    guards and workers are told apart by their run."""

    def __init__(self, begin):
        self.begin, self.pid, self.key = begin['at'], begin['pid'], begin['key']
        self.node, self.waits = begin['node'], begin.get('waits', False)
        self.is_scheduler = self.key is None
        self.is_limited = begin.get('is_limited', False)
        self.end, self.status, self.lines = NEVER, None, []
        self.strikes = []
        self.is_mute = begin['said'] is None  # nothing that it said could be written
        self.away = collections.defaultdict(list)  # by role and run: stopped or killed, from, to

    def name(self):
        what = 'the scheduler' if self.is_scheduler else f'leaserun with "{self.key}"'
        return f'{what} {self.pid} of node {self.node}'

    def spans(self, role, run_id):
        runs = {None, run_id} if self.is_scheduler else {None}
        return [span for name in runs for span in self.away[role, name]]

    def frozen(self, run_id):
        """When neither leaserun nor its guard could run, and so nobody could end the tree."""
        both = ((max(a[0], b[0]), min(a[1], b[1])) for a in self.spans('leaserun', run_id)
                for b in self.spans('guard', run_id))
        return [(start, end) for start, end in both if start < end]

    def is_frozen(self, run_id, at):
        """Then, or until a moment before: it has just begun to run again."""
        return any(start <= at <= end + MARGIN_US for start, end in self.frozen(run_id))

    def is_killed(self):
        return self.status is not None and self.status < 0

    def strikes_at(self, life):
        """Those that can have to do with it."""
        return [strike for strike in self.strikes if strike.get('run_id') in (None, life.run_id) and
                (not self.is_scheduler or strike['at'] >= life.start)]


class Evidence:
    def __init__(self, folder):
        self.folder = folder
        self.read_events()
        self.read_stamps()
        self.read_runs()
        self.read_logs()
        with open(os.path.join(folder, 'resource.log'), encoding='utf-8') as lines:
            self.writes = [line.rstrip('\n').split(' ', 4) for line in lines]

    def path(self, name):
        return os.path.join(self.folder, name)

    def read_events(self):
        self.events, self.processes, self.process_of_file, live = [], [], {}, {}
        self.wall_less_boot = 0
        with open(self.path('events.jsonl'), encoding='utf-8') as lines:
            self.events = [json.loads(line) for line in lines]
        for event in self.events:
            if event['what'] == 'clock':
                self.wall_less_boot = event['wall_us'] - event['at']
            elif event['what'] == 'begin':
                live[event['pid']] = Process(event)
                self.process_of_file[event['said']] = live[event['pid']]
                self.processes.append(live[event['pid']])
            elif event['what'] == 'end':
                process = live.pop(event['pid'])
                process.end, process.status = event['at'], event['status']
            elif event['what'] in ('strike', 'revive'):
                note_strike(live.get(event['leaserun']), event)

    def read_stamps(self):
        first = {}
        with open(self.path('stamps'), encoding='utf-8') as lines:
            for line in lines:
                at, event, pid, fence, run_id, slot, key = line.rstrip('\n').split(' ', 6)
                life = first.get((pid, run_id))
                first[pid, run_id] = Life(life.start if life else int(at), int(at), event == 'end',
                                          int(pid), int(fence), run_id, slot, key)
        self.lives = sorted(first.values())
        self.lives_of = group(self.lives, lambda life: life.key)

    def read_runs(self):
        with open(self.path('runs.jsonl'), encoding='utf-8') as lines:
            self.runs = [json.loads(line) for line in lines if line.strip()]
        for run in self.runs:
            for name in ('started_at', 'finished_at'):
                run[name] = run[name] and self.boot_us(run[name])
        self.run_of = {run['run_id']: run for run in self.runs}
        mapped = ((run['run_id'], self.process_of(run)) for run in self.runs)
        self.by_run_id = {run_id: process for run_id, process in mapped if process is not None}

    def boot_us(self, text):
        instant = datetime.datetime.fromisoformat(text) - datetime.datetime.fromtimestamp(
            0, datetime.timezone.utc)
        return instant // datetime.timedelta(microseconds=1) - self.wall_less_boot

    def read_logs(self):
        self.lines, self.strange = [], []
        for path in glob.glob(self.path('node*/said.*')):
            process = self.process_of_file.get(os.path.relpath(path, self.folder))
            with open(path, encoding='utf-8', errors='replace') as lines:
                for line in lines:
                    self.read_line(line.rstrip('\n'), process)

    def read_line(self, line, process):
        try:
            said = json.loads(line)
        except ValueError:
            self.strange.append(line)
            return
        self.lines.append(said)
        if process is not None:
            process.lines.append(said)

    def process_of(self, run):
        """By the pid in the holder; a pid may come again, but not soon."""
        pid = int(run['holder'].split('/')[1])
        at = run['started_at'] or run['finished_at']
        for process in reversed(self.processes):
            if process.pid == pid and process.begin - CLAIM_US <= at <= process.end + PID_AGAIN_US:
                return process
        return None

    def slot_of(self, life):
        """Jobs that share a key have slots of their own."""
        return life.key, life.slot, self.run_of.get(life.run_id, {}).get('job')

    def is_frozen(self, run_id, at):
        process = self.by_run_id.get(run_id)
        return process is not None and process.is_frozen(run_id, at)

    def is_frozen_ever(self, run_id):
        process = self.by_run_id.get(run_id)
        return process is not None and bool(process.frozen(run_id))


def note_strike(process, event):
    if process is None:
        return
    role, away = event['role'], process.away[event['role'], event['run_id']]
    if event['what'] == 'revive':
        for span in away:
            span[1] = min(span[1], event['at'])
        return
    process.strikes.append(event)
    if event['signal'] == 'SIGSTOP' or (event['signal'] == 'SIGKILL' and role == 'leaserun'):
        away.append([event['at'], NEVER])


def group(things, name_of):
    groups = collections.defaultdict(list)
    for thing in things:
        groups[name_of(thing)].append(thing)
    return groups

# SPDX-License-Identifier: ISC
"""The measuring part of takeover.sh: takeover.py SPEC STAMP FOLDER [--check]."""
import contextlib
import os
import random
import shlex
import signal
import statistics
import subprocess
import sys
import threading
import time

GIVE_UP_S = 15
GOAL_MS = 100


def boot_us():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


def read_stamps(path):
    """{pid: [first, last]} of the commands that stamp runs, in the order of their starts."""
    lives = {}
    with contextlib.suppress(FileNotFoundError), open(path, encoding='utf-8') as file:
        for line in file:
            at, _, pid = line.split(' ')[:3]
            lives.setdefault(int(pid), [int(at), 0])[1] = int(at)
    return lives


def await_lives(path, count):
    """True when so many have started in time."""
    end = time.monotonic() + GIVE_UP_S
    while len(read_stamps(path)) < count:
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


class Second:
    """Who wants the lock next."""

    def __init__(self, kind, command):
        self.kind, self.command, self.is_over = kind, command, threading.Event()
        self.process = self.start()
        if kind == 'again':
            self.thread = threading.Thread(target=self.repeat)
            self.thread.start()

    def start(self):
        return subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL)

    def repeat(self):
        while self.process.wait() != 0 and not self.is_over.is_set():
            self.process = self.start()

    def end(self):
        self.is_over.set()
        self.process.terminate()
        if self.kind == 'again':
            self.thread.join()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        self.process.kill()
        self.process.wait()


def try_once(kind, template, stamp, path):
    """Milliseconds to the next start, or None when none came; whether two ran at once."""
    command = shlex.split(template.replace('JOB', shlex.quote(f'{stamp} {path} 0')
                                           if 'psql-lock' in template else f'{stamp} {path} 0'))
    first = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    if not await_lives(path, 1):
        raise SystemExit(f'does not start: {command}')
    second = Second(kind, command)
    time.sleep(random.uniform(0.3, 1.3))
    killed = boot_us()
    first.kill()
    first.wait()
    has_started = await_lives(path, 2)
    time.sleep(0.05)
    lives = list(read_stamps(path).values())
    pids = list(read_stamps(path))
    took_ms = (lives[1][0] - killed) / 1000 if has_started else None
    is_double = has_started and lives[0][1] > lives[1][0]
    second.end()
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return took_ms, is_double


def measure(row, stamp, folder):
    name, tries, kind, template = row
    found = [try_once(kind, template, stamp, os.path.join(folder, f'{name}.{n}'.replace(' ', '')))
             for n in range(int(tries))]
    times = [took_ms for took_ms, _ in found if took_ms is not None]
    doubles = sum(is_double for _, is_double in found)
    median = statistics.median(times) if times else None
    told = f'{median:8.1f} {max(times):8.1f}' if times else f'{"never":>8} {"":8}'
    print(f'{name:28} {told} {len(times):4} of {tries} {doubles:9}', flush=True)
    is_missed = 'leaserun' in name and (doubles or len(times) < len(found) or median > GOAL_MS)
    return not is_missed


def main():
    spec, stamp, folder = sys.argv[1:4]
    with open(spec, encoding='utf-8') as file:
        rows = [line.rstrip('\n').split('\t') for line in file]
    print(f'{"ms from kill -9 to the start":28} {"median":>8} {"most":>8}   started   at once')
    is_good = all([measure(row, stamp, folder) for row in rows])
    return 0 if is_good or '--check' not in sys.argv[4:] else 1


sys.exit(main())

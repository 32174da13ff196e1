#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""handoff.py STAMP ROUNDS SPEC [--check]: from the end of the holder's command to the start of the
waiter's, in milliseconds. SPEC: one way to wait a line, fields separated by tabs: NAME ARGV0 ...,
with @ where the command goes. Each round tries every way once, in a new order. How long the holder
works is another time in every round, so that no poll is in step with it. --check fails when
leaserun takes more than GOAL times the floor, or somebody never starts: who, and what both have
said, is told on stderr."""
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

GOAL = 1.3
FLOOR, OURS = "libpq floor, NOTIFY", "leaserun, direct"


def start(words, command, log):
    argv = [w for word in words for w in (command if word == "@" else [word])]
    with open(log, "wb") as stderr:
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=stderr)


def tell(folder, argv0, who):
    print("%s: the %s did not start in time" % (argv0, who), file=sys.stderr)
    for name in ("holder.log", "waiter.log"):
        if os.path.exists(folder + "/" + name):
            for line in open(folder + "/" + name, encoding="utf-8", errors="replace"):
                print("  %s: %s" % (name, line.rstrip()), file=sys.stderr)


def await_stamp(path, who, what, limit):
    end = time.monotonic() + limit
    while time.monotonic() < end:
        for line in open(path, encoding="ascii") if os.path.exists(path) else []:
            words = line.split()
            if words[:2] == [who, what] and len(words) == 3:
                return int(words[2])
        time.sleep(0.002)
    return None


def one(stamp, words, hold_ms):
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/stamps"
        holder = start(words, [stamp, path, "holder", str(hold_ms)], folder + "/holder.log")
        waiter = None
        if await_stamp(path, "holder", "start", 10) is not None:
            waiter = start(words, [stamp, path, "waiter"], folder + "/waiter.log")
        begun = await_stamp(path, "waiter", "start", 10)
        ended = await_stamp(path, "holder", "end", 1)
        for process in (holder, waiter):
            if process is not None:
                process.wait(timeout=60)
        if begun is None:
            tell(folder, words[0], "holder" if waiter is None else "waiter")
        return None if begun is None or ended is None else (begun - ended) / 1e6


def quantile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def main():
    stamp, rounds, spec = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    ways = {f[0]: f[1:] for f in (line.rstrip("\n").split("\t") for line in open(spec, encoding="utf-8"))}
    found = {name: [] for name in ways}
    order = random.Random(1)
    for number in range(rounds):
        for name in order.sample(list(ways), len(ways)):
            found[name].append(one(stamp, ways[name], 900 + number * 613 % 1000))
    print("%-28s %8s %8s %8s %8s" % ("", "median", "p10", "p90", "never"))
    medians = {}
    for name, all_values in found.items():
        values = [v for v in all_values if v is not None] or [float("inf")]
        medians[name] = statistics.median(values)
        print("%-28s %8.2f %8.2f %8.2f %8d" % (name, medians[name], quantile(values, 0.1),
                                               quantile(values, 0.9), all_values.count(None)))
    reached = medians[OURS] / medians[FLOOR]
    print("%s: %.2f x %s (goal %.2f)" % (OURS, reached, FLOOR, GOAL))
    missed = reached > GOAL or any(None in values for values in found.values())
    return 1 if missed and "--check" in sys.argv[4:] else 0


sys.exit(main())

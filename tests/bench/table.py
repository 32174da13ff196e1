#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The table of run_cost.sh: medians, and ratios taken round by round (a round's rows ran side by
side). --check fails when a goal is missed or a run failed."""
import statistics
import sys

GOALS = [
    ("leaserun, PostgreSQL, unix", "libpq floor, unix", 1.10),
    ("leaserun, PostgreSQL, TCP", "libpq floor, TCP", 1.10),
    ("leaserun, SQLite", "SQLite floor", 1.50),
]


def read(path):
    rows = {}
    for line in open(path, encoding="utf-8"):
        number, name, wall, cpu, rss, code = line.rstrip("\n").split("\t")
        row = rows.setdefault(name, {"wall": {}, "cpu": [], "rss": [], "failed": 0})
        row["wall"][int(number)] = float(wall) / 1000
        row["cpu"].append(float(cpu) / 1000)
        row["rss"].append(int(rss))
        row["failed"] += code != "0"
    return rows


def ratio(rows, name, base):
    walls, bases = rows[name]["wall"], rows[base]["wall"]
    return statistics.median(walls[n] / bases[n] for n in walls if n in bases)


def quantile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def main():
    rows = read(sys.argv[1])
    print("%-28s %8s %8s %8s %8s %8s %7s" % ("", "median", "p10", "p90", "cpu", "RSS KiB", "failed"))
    for name, row in sorted(rows.items(), key=lambda item: statistics.median(item[1]["wall"].values())):
        walls = list(row["wall"].values())
        print("%-28s %8.2f %8.2f %8.2f %8.2f %8d %7d" % (
            name, statistics.median(walls), quantile(walls, 0.1), quantile(walls, 0.9),
            statistics.median(row["cpu"]), statistics.median(row["rss"]), row["failed"]))
    missed = any(row["failed"] for row in rows.values())
    for name, base, goal in GOALS:
        if name in rows and base in rows:
            reached = ratio(rows, name, base)
            missed |= reached > goal
            print("%s: %.3f x %s (goal %.2f)" % (name, reached, base, goal))
    control = "libpq floor, unix, again"
    if control in rows:
        print("control, the same floor twice: %.3f" % ratio(rows, control, "libpq floor, unix"))
    return 1 if missed and "--check" in sys.argv[2:] else 0


sys.exit(main())

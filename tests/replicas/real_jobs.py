#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Keeps three replicas of jobs.ini for some minutes and judges what they leave. See real_jobs.sh."""
import argparse
import collections
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from datetime import datetime

JOBS = ["backup", "certificate-check", "log-rotation", "report", "queue-drain"]


class Replica:
    """One scheduler process after another, all with one log."""

    def __init__(self, options, name):
        self.options, self.name = options, name
        self.log = f"{options.work}/{name}.log"
        self.pids = []
        self.start()

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.options.leaserun, "schedule", "--store", self.options.store, "--log-level",
                 "info", "--log-format", "json", "jobs.ini"],
                cwd=self.options.work, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.pids.append(self.process.pid)

    def end(self, number):
        self.process.send_signal(number)
        return self.process.wait(30)

    def events(self):
        with open(self.log, encoding="utf-8") as log:
            return [json.loads(line) for line in log if line.startswith("{")]

    def other_lines(self):
        with open(self.log, encoding="utf-8") as log:
            return [line for line in log if not line.startswith("{")]


def sql(statement):
    return subprocess.run(["psql", "-X", "-q", "-A", "-t", "-c", statement], check=True,
                          capture_output=True, text=True).stdout.strip()


def keep(options):
    """Feeds the queue meanwhile. Returns the replicas and how each ended when it was told to."""
    replicas = [Replica(options, name) for name in ("a", "b", "c")]
    statuses = []
    seconds = int(options.minutes * 60)
    for second in range(seconds):
        begin = time.monotonic()
        sql("insert into queue select from generate_series(1, 3)")
        if second == seconds // 3:
            replicas[1].end(signal.SIGKILL)
        if second == seconds // 2:
            replicas[1].start()
            statuses.append(replicas[0].end(signal.SIGTERM))
            replicas[0].start()
        time.sleep(max(0, 1 - (time.monotonic() - begin)))
    for replica in replicas:
        statuses.append(replica.end(signal.SIGTERM))
    return replicas, statuses


def lines_of(options, *words):
    done = subprocess.run([options.leaserun, *words, "--store", options.store, "--json"],
                          check=True, capture_output=True, text=True, cwd=options.work)
    return [json.loads(line) for line in done.stdout.splitlines()]


def seconds_of(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Judge:
    def __init__(self):
        self.count = self.failed = 0

    def tell(self, sentence, faults):
        self.count += 1
        self.failed += bool(faults)
        print(f"{'not ok' if faults else 'ok'} {self.count} - {sentence}")
        for fault in list(faults or ())[:10]:
            print(f"# {fault}")


def judge_logs(judge, replicas, runs):
    won, ended = collections.defaultdict(list), collections.defaultdict(list)
    for replica in replicas:
        for event in replica.events():
            if event["event"] == "claim_won":
                won[event["run_id"]].append((replica, event))
            if event["event"] in ("run_finished", "run_failed"):
                ended[event["run_id"]].append((replica, event))
    by_id = {run["run_id"]: run for run in runs}
    judge.tell("each run of the history was won once, by the replica and with the fence that it names",
               [f"{run_id}: {[e['fence'] for _, e in won[run_id]]} in the logs, {run}"
                for run_id, run in by_id.items() if run["outcome"] not in ("missed", "skipped")
                and not (len(won[run_id]) == 1 and won[run_id][0][1]["fence"] == run["fence"]
                         and int(run["holder"].split("/")[-2]) in won[run_id][0][0].pids)])
    judge.tell("each run that a log tells of is in the history",
               [run_id for run_id in set(won) | set(ended) if run_id not in by_id])
    judge.tell("each run has the end in the log that it has in the history, and one alone",
               [f"{run_id}: {[e['outcome'] for _, e in ended[run_id]]} in the logs, {run}"
                for run_id, run in by_id.items()
                if [e["outcome"] for _, e in ended[run_id]] !=
                ([] if run["outcome"] in ("abandoned", "missed", "skipped") else [run["outcome"]])])
    errors = [event for replica in replicas for event in replica.events()
              if event["level"] == "error"]
    abandoned = {run["run_id"] for run in runs if run["outcome"] == "abandoned"}
    judge.tell("nothing at level error but the runs that died with their replica, each told once",
               [str(event) for event in errors if event["event"] != "run_abandoned"] or
               (len(errors) != len(abandoned) and [f"{len(errors)} told, {abandoned}"]))
    judge.tell("no other line is in the logs",
               [line for replica in replicas for line in replica.other_lines()])


def judge_slots(judge, options, runs):
    for job in JOBS:
        slots = lines_of(options, "history", "--slots", "--limit", "100000", job, "jobs.ini")
        runs_of = {run["run_id"]: run for run in runs if run["job"] == job}
        outcomes = {"succeeded", "abandoned", "stopped"}
        times = [seconds_of(row["slot"]) for row in slots]
        step = {"backup": 60, "certificate-check": 120, "log-rotation": 30, "report": 60,
                "queue-drain": 5}[job]
        judge.tell(f"{job}: {len(slots)} slots, each with one story, in history --slots and in history",
                   [str(row) for row in slots if row["outcome"] not in outcomes and
                    not (row["outcome"] == "due" and row is slots[0])] +
                   [str(row) for row in slots if row["run_id"] and
                    runs_of.get(row["run_id"], {}).get("outcome") != row["outcome"]] +
                   [f"{a} after {b}" for a, b in zip(times, times[1:]) if a - b != step] +
                   ([] if len(runs_of) == sum(1 for row in slots if row["run_id"]) else ["runs"]))


def judge_work(judge, options, runs):
    succeeded = collections.Counter(run["job"] for run in runs if run["outcome"] == "succeeded")
    dumps = glob.glob(f"{options.work}/backups/*.dump")
    bad = [dump for dump in dumps if subprocess.run(["pg_restore", "--list", dump],
                                                    stdout=subprocess.DEVNULL).returncode]
    judge.tell("every backup that succeeded is there and can be read",
               bad or (len(dumps) < succeeded["backup"] and [f"{len(dumps)} of {succeeded}"]))
    reports = [report for report in glob.glob(f"{options.work}/reports/*.csv")
               if os.path.getsize(report) > 0]
    judge.tell("every report that succeeded is there",
               len(reports) < succeeded["report"] and [f"{len(reports)} of {succeeded}"])
    total, distinct, left = (int(sql(statement)) for statement in (
        "select count(*) from drained", "select count(distinct id) from drained",
        "select count(*) from queue"))
    fed = int(sql("select last_value from queue_id_seq"))
    judge.tell("every entry of the queue was drained once, or still waits",
               (total != distinct or total + left != fed) and [f"{total} {distinct} {left} {fed}"])
    order = sql("select count(*) from drained a, drained b where a.id < b.id and a.fence > b.fence")
    judge.tell("fences grow with the work", order != "0" and [f"{order} pairs"])


def main():
    parser = argparse.ArgumentParser()
    for name in ("work", "leaserun", "store"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--minutes", type=float, default=10)
    options = parser.parse_args()
    for folder in ("backups", "rotated", "reports"):
        os.mkdir(f"{options.work}/{folder}")
    shutil.copy(os.path.join(os.path.dirname(os.path.abspath(__file__)), "jobs.ini"), options.work)
    judge = Judge()
    checked = subprocess.run([options.leaserun, "check", "--store", options.store, "jobs.ini"],
                             cwd=options.work, capture_output=True, text=True)
    judge.tell("check finds no fault in the table", checked.returncode and [checked.stderr])
    subprocess.run([options.leaserun, "init", "--store", options.store], check=True,
                   stdout=subprocess.DEVNULL)
    replicas, statuses = keep(options)
    judge.tell("every replica that was told to end did so with status 0",
               [str(status) for status in statuses if status != 0])
    runs = lines_of(options, "history", "--limit", "100000")
    judge_logs(judge, replicas, runs)
    judge_slots(judge, options, runs)
    judge_work(judge, options, runs)
    print(f"1..{judge.count}")
    return 1 if judge.failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The driver of schedule_cost.sh. For each peer and size: start it with that many jobs, of which
DUE are due at one minute and the others on no day that comes soon; wait until it is quiet, look at
its memory and idle CPU, and then at when the DUE commands started."""
import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time

NEVER = "0 0 29 2 *"
QUIET_S = 0.015  # CPU within a second that still counts as quiet
CRON_LINES = 1000  # a crontab of Debian's cron; more files instead of longer ones


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            below = [int(word) for word in file.read().split()]
    except OSError:
        return []
    return below + [deeper for child in below for deeper in children(child)]


def cpu_s(pid):
    total = 0
    for process in [pid] + children(pid):
        try:
            for task in os.listdir(f"/proc/{process}/task"):
                with open(f"/proc/{process}/task/{task}/schedstat", encoding="ascii") as file:
                    total += int(file.read().split()[0])
        except OSError:
            pass
    return total / 1e9


def rss_mib(pid):
    total = 0
    for process in [pid] + children(pid):
        try:
            with open(f"/proc/{process}/status", encoding="ascii") as file:
                total += sum(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
        except OSError:
            pass
    return total / 1024


class Cell:
    """One peer with one number of jobs."""

    def __init__(self, options, peer, size, number):
        self.options, self.peer, self.size = options, peer, size
        self.folder = f"{options.work}/{peer}-{size}-{number}"
        os.mkdir(self.folder)
        self.stamps = f"{self.folder}/stamps"
        self.due = min(options.due, size)

    def is_due(self, i):
        return i % (self.size // self.due) == 0 and i // (self.size // self.due) < self.due

    def write_jobs(self, path, form, when):
        with open(path, "w", encoding="ascii") as file:
            for i in range(self.size):
                file.write(form.format(when=when if self.is_due(i) else NEVER, i=i,
                                       stamp=self.options.work + "/stamp", file=self.stamps))

    def command(self, second):
        at = time.gmtime(second)
        when = f"{at.tm_min} {at.tm_hour} {at.tm_mday} {at.tm_mon} *"
        if self.peer.startswith("floor"):
            argv = [self.options.work + "/floor", str(second), str(self.due),
                    self.options.work + "/stamp", self.stamps]
            return argv + [self.options.store] if self.peer == "floor-claim" else argv
        if self.peer == "leaserun":
            path = self.folder + "/jobs.ini"
            self.write_jobs(path, "[job j{i}]\nschedule = {when}\ntimezone = UTC\n"
                                  "exec = {stamp} {file} j{i}\n\n", when)
            return [self.options.leaserun, "schedule", "--store", self.options.store, path]
        if self.peer == "busybox":
            os.mkdir(self.folder + "/tabs")
            self.write_jobs(self.folder + "/tabs/root", "{when} {stamp} {file} j{i}\n", when)
            return ["busybox", "crond", "-f", "-c", self.folder + "/tabs", "-L", "/dev/null"]
        return self.debian_cron(when)

    def debian_cron(self, when):
        """In a mount namespace of its own, with none of this host's crontabs."""
        lines = self.folder + "/lines"
        self.write_jobs(lines, "{when} root {stamp} {file} j{i}\n", when)
        for folder in ("cron.d", "spool/crontabs", "run"):
            os.makedirs(f"{self.folder}/{folder}")
        open(self.folder + "/crontab", "w", encoding="ascii").close()
        with open(lines, encoding="ascii") as file:
            all_lines = file.readlines()
        for at in range(0, len(all_lines), CRON_LINES):
            with open(f"{self.folder}/cron.d/t{at // CRON_LINES}", "w", encoding="ascii") as tab:
                tab.writelines(all_lines[at:at + CRON_LINES])
        binds = ("mount --bind cron.d /etc/cron.d && mount --bind spool /var/spool/cron && "
                 "mount --bind run /run && mount --bind crontab /etc/crontab && exec cron -f")
        return ["unshare", "-m", "--propagation", "private", "sh", "-c",
                f"cd {self.folder} && {binds}"]

    def settle(self, process, started, until):
        history = [(started, 0.0)]
        while time.time() < until:
            now, used = time.time(), cpu_s(process.pid)
            history.append((now, used))
            before = [h for h in history if h[0] <= now - 1]
            if before and used - before[-1][1] < QUIET_S:
                break
            if process.poll() is not None:
                raise RuntimeError(f"it ended with status {process.returncode}")
            time.sleep(0.05)
        last = history[-1][1]
        return next(at for at, used in history if last - used < QUIET_S) - started

    def run(self):
        second = (int(time.time()) // 60 + 2) * 60
        with open(self.folder + "/log", "wb") as log:
            argv = self.command(second)
            started = time.time()
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       env=dict(os.environ, TZ="UTC"), cwd="/")
        try:
            start_s = self.settle(process, started, second - 20)
            begin, used = time.time(), cpu_s(process.pid)
            time.sleep(max(0, second - 3 - time.time()))
            idle = (cpu_s(process.pid) - used) / (time.time() - begin) * 60
            memory = rss_mib(process.pid)
            late = self.lateness(second)
        finally:
            self.stop(process)
        return start_s, memory, idle, late

    def lateness(self, second):
        """When each due command started; all the stamps, or those that came within 45 s."""
        lines = []
        while len(lines) < self.due and time.time() < second + 45:
            time.sleep(0.2)
            if os.path.exists(self.stamps):
                with open(self.stamps, encoding="ascii") as file:
                    lines = file.readlines()
        return sorted(int(line.split()[1]) / 1000 - second * 1000 for line in lines)

    @staticmethod
    def stop(process):
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def main():
    parser = argparse.ArgumentParser()
    for name in ("work", "leaserun", "store", "sizes", "peers"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--due", type=int, required=True)
    parser.add_argument("--repeat", type=int, required=True)
    options = parser.parse_args()
    print("%-12s %7s %7s %8s %9s %10s %7s %7s %7s" % (
        "peer", "jobs", "start s", "RSS MiB", "idle s/min", "started", "first", "p50", "p99"))
    number = 0
    for size in map(int, options.sizes.split()):
        for _ in range(options.repeat):
            for peer in options.peers.split():
                program = {"busybox": "busybox", "cron": "cron"}.get(peer)
                if program is not None and shutil.which(program) is None:
                    print(f"{peer:12} {size:7} is not installed")
                    continue
                number += 1
                try:
                    start_s, memory, idle, late = Cell(options, peer, size, number).run()
                except (RuntimeError, OSError) as error:
                    print(f"{peer:12} {size:7} {error}")
                    continue
                print("%-12s %7d %7.2f %8.1f %9.3f %10s %7.0f %7.0f %7.0f" % (
                    peer, size, start_s, memory, idle, f"{len(late)}/{min(options.due, size)}",
                    late[0] if late else -1, statistics.median(late) if late else -1,
                    late[int(len(late) * 0.99)] if late else -1), flush=True)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""pty.py PROGRAM [ARGUMENT...]: runs a program, mostly an interactive shell, as the leader of a
session on a terminal of its own, and reads from stdin what a person does there, one step a line:

  line TEXT        types TEXT and Enter
  type TEXT        types TEXT
  key C            types Ctrl-C (or another letter, or \\)
  expect TEXT      waits until TEXT is printed, after what was waited for so far
  absent TEXT      TEXT was not printed since the last thing waited for
  never TEXT       TEXT was not printed at all
  front PROGRAM    waits until a process whose command line begins so is in the foreground group
  outside COMMAND  waits until COMMAND, given to sh -c off the terminal, succeeds
  pause SECONDS    lets time pass
  hang-up          the terminal is gone
  end STATUS       waits until the program has ended, with STATUS (128 + n by signal n)

Each wait lasts at most LIMIT_S. Blank lines and lines with # are skipped. The status is 1, and
what the terminal showed is printed, as soon as a step fails. In the end the terminal hangs up.
"""
import os
import select
import signal
import subprocess
import sys
import time

LIMIT_S = 20


class Failed(Exception):
    pass


class Terminal:
    def __init__(self, argv):
        self.shown = ''  # all of it
        self.seen = 0  # up to here it was waited for
        self.status = None
        self.pid, self.master = os.forkpty()
        if self.pid == 0:
            for number in (signal.SIGPIPE, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
                signal.signal(number, signal.SIG_DFL)
            os.closerange(3, 1024)
            os.execvp(argv[0], argv)

    def read(self, wait_s):
        """Takes in what the terminal shows. False when nobody has it open any more."""
        if self.master < 0 or not select.select([self.master], [], [], wait_s)[0]:
            return True
        try:
            data = os.read(self.master, 65536)
        except OSError:
            data = b''
        self.shown += data.decode(errors='replace')
        return bool(data)

    def await_that(self, is_true, what):
        until = time.monotonic() + LIMIT_S
        while not is_true():
            if time.monotonic() > until:
                raise Failed(f'did not come: {what}')
            if not self.read(0.02):
                time.sleep(0.02)

    def type(self, text):
        os.write(self.master, text.encode())

    def line(self, text):
        self.type(text + '\n')

    def key(self, name):
        self.type(chr(ord(name) & 0x1f))

    def expect(self, text):
        self.await_that(lambda: self.shown.find(text, self.seen) >= 0, text)
        self.seen = self.shown.index(text, self.seen) + len(text)

    def absent(self, text):
        self.read(0)
        if text in self.shown[self.seen:]:
            raise Failed(f'was printed: {text}')

    def never(self, text):
        self.read(0)
        if text in self.shown:
            raise Failed(f'was printed: {text}')

    def front(self, program):
        self.await_that(lambda: os.tcgetpgrp(self.master) in groups_with(program), program)

    def outside(self, command):
        def begin():
            return subprocess.Popen(['sh', '-c', command], stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL)

        done = [begin()]

        def succeeds():
            status = done[0].poll()
            if status is not None and status != 0:
                done[0] = begin()
            return status == 0

        try:
            self.await_that(succeeds, command)
        finally:
            done[0].kill()
            done[0].wait()

    def pause(self, seconds):
        until = time.monotonic() + float(seconds)
        while time.monotonic() < until:
            if not self.read(0.02):
                time.sleep(0.02)

    def hang_up(self):
        if self.master >= 0:
            os.close(self.master)
        self.master = -1

    def has_ended(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid != 0:
                code = os.waitstatus_to_exitcode(status)
                self.status = code if code >= 0 else 128 - code
        return self.status is not None

    def end(self, status):
        self.await_that(self.has_ended, 'the end of the program')
        if self.status != int(status):
            raise Failed(f'ended with status {self.status} instead of {status}')

    def close(self):
        self.hang_up()
        try:
            self.await_that(self.has_ended, 'the end of the program after a hangup')
        except Failed:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            raise


def groups_with(program):
    """The process groups in which a process has this as the head of its command line."""
    groups = set()
    for pid in (name for name in os.listdir('/proc') if name.isdigit()):
        try:
            with open(f'/proc/{pid}/cmdline', 'rb') as file:
                words = file.read().replace(b'\0', b' ').decode(errors='replace')
            if words.startswith(program):
                groups.add(os.getpgid(int(pid)))
        except OSError:
            pass
    return groups


STEPS = {'line': Terminal.line, 'type': Terminal.type, 'key': Terminal.key,
         'expect': Terminal.expect, 'absent': Terminal.absent, 'never': Terminal.never,
         'front': Terminal.front, 'outside': Terminal.outside, 'pause': Terminal.pause,
         'hang-up': Terminal.hang_up, 'end': Terminal.end}


def main():
    steps = [line.rstrip('\n') for line in sys.stdin]
    terminal = Terminal(sys.argv[1:])
    step = ''
    try:
        for step in steps:
            word, _, rest = step.strip().partition(' ')
            if word and not word.startswith('#'):
                if word not in STEPS:
                    raise Failed('there is no such step')
                STEPS[word](terminal, *([rest] if rest else []))
        step = 'close'
        terminal.close()
    except (Failed, OSError) as fault:
        print(f'step "{step.strip()}": {fault}\n---- the terminal showed:\n{terminal.shown}\n----',
              flush=True)
        subprocess.run(['ps', '-o', 'pid,ppid,pgid,tpgid,stat,wchan:16,args', '-s', str(terminal.pid)],
                       check=False)
        try:
            terminal.close()
        except Failed as fault_at_close:
            print(fault_at_close)
        return 1
    return 0


sys.exit(main())

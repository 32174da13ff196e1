#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""leftovers.py MARK PID...: prints the processes that have MARK in their environment, except
those with the given ids, this one and its parent, and kills them. The status is 1 when there are
any."""
import os
import signal
import sys


def read(pid, name):
    try:
        with open(f'/proc/{pid}/{name}', 'rb') as file:
            return file.read()
    except OSError:
        return b''


def main():
    mark = sys.argv[1].encode()
    spared = {int(pid) for pid in sys.argv[2:]} | {os.getpid(), os.getppid()}
    found = 0
    for pid in (int(name) for name in os.listdir('/proc') if name.isdigit()):
        if pid in spared or mark not in read(pid, 'environ'):
            continue
        command = read(pid, 'cmdline').replace(b'\0', b' ').decode(errors='replace')
        if command:
            print(f'still there: {pid} {command}')
            found += 1
            os.kill(pid, signal.SIGKILL)
    return 1 if found else 0


sys.exit(main())

# SPDX-License-Identifier: ISC
"""Runs a command with its stderr in a pipe that nobody reads for a while, then copies it.

    slow_reader.py SECONDS FILE COMMAND...

Prints the command's exit status, and the most memory in KiB that it had before it was read."""
import re
import subprocess
import sys
import time


def peak_kib(pid):
    with open(f'/proc/{pid}/status') as status:
        found = re.search(r'^VmHWM:\s+(\d+)', status.read(), re.MULTILINE)
    return int(found.group(1)) if found else 0


def main():
    seconds, name, command = float(sys.argv[1]), sys.argv[2], sys.argv[3:]
    child = subprocess.Popen(command, stderr=subprocess.PIPE)
    time.sleep(seconds)
    peak = peak_kib(child.pid)
    with open(name, 'wb') as copy:
        while part := child.stderr.read(65536):
            copy.write(part)
    print(child.wait(), peak)


main()

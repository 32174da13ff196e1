#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""overlaps.py FILE: reads what `stamp` has left and tells whether two mandates lived together.

A process lives from its first line to its last. Two processes with one key and different fences,
or without (-), whose lives overlap are printed, and the status is 1. Fences that do not grow in the order of their
starts are printed as well. Prints "N lives, no overlap" and ends with 0 when all is well, with 2
when there is no life at all.
"""
import sys


def read_lives(path):
    lives = {}
    with open(path, encoding='utf-8') as lines:
        for line in lines:
            at, _event, pid, fence, key = line.rstrip('\n').split(' ', 4)
            life = lives.setdefault((pid, key, fence), [int(at), int(at)])
            life[1] = max(life[1], int(at))
    return sorted((start, end, pid, key, fence)
                  for (pid, key, fence), (start, end) in lives.items())


def find_faults(lives):
    for index, (_, end, pid, key, fence) in enumerate(lives):
        for start, _, other_pid, other_key, other_fence in lives[index + 1:]:
            if other_key != key or (other_fence == fence and fence != '-'):
                continue
            if start < end:
                yield (f'{key}: fence {fence} (pid {pid}) and fence {other_fence} '
                       f'(pid {other_pid}) lived together for {(end - start) / 1000:.1f} ms')
            if fence.isdigit() and other_fence.isdigit() and int(other_fence) < int(fence):
                yield f'{key}: fence {other_fence} came after fence {fence}'


def main():
    lives = read_lives(sys.argv[1])
    faults = list(find_faults(lives))
    for fault in faults:
        print(fault)
    if faults:
        return 1
    print(f'{len(lives)} lives, no overlap')
    return 0 if lives else 2


sys.exit(main())

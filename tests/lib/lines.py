# SPDX-License-Identifier: ISC
"""What a command wrote, from the log that leaserun made of it.

    lines.py STREAM < LOG        the stream, its lines put together
    lines.py --others < LOG      the names of all other events

LOG is in json. A last line without newline gets one."""
import json
import sys


def main():
    wanted = sys.argv[1]
    for line in sys.stdin.buffer:
        event = json.loads(line)
        if wanted == '--others':
            if event['event'] != 'output':
                print(event['event'])
        elif event['event'] == 'output' and event['stream'] == wanted:
            end = '' if event.get('continues') else '\n'
            sys.stdout.buffer.write((event['message'] + end).encode('utf-8'))


main()

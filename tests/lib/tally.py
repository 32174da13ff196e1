#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Counts test cases one by one.

tally.py --part NAME --results FILE (--meson TESTLOG.JSON | --tap FILE [--status N])

Appends "pass|fail|skip<TAB>NAME: case" to FILE for each case of a TAP stream, or of each test in
meson's log (a test that prints no TAP is one case), and prints what is known of those that failed.
A stream that ends before its plan is fulfilled, or a test that ends badly without a failed case,
is one failure more.
"""
import argparse
import json
import re

CASE = re.compile(r'^(not )?ok\b\s*(?:\d+)?\s*(?:- )?(.*?)(?:\s*# (skip|todo)\b(.*))?$',
                  re.IGNORECASE)
PLAN = re.compile(r'^1\.\.(\d+)')


def read_tap(text):
    """Yields (verdict, case, diagnostics); the plan is checked at the end."""
    planned, cases = None, []
    for line in text.splitlines():
        plan, case = PLAN.match(line), CASE.match(line)
        if plan:
            planned = int(plan.group(1)) + (planned or 0)
        elif case:
            # cmocka says "not ok 3 # SKIP name", bats "ok 3 name # skip (reason)"
            skipped = (case.group(3) or '').lower() == 'skip'
            verdict = 'skip' if skipped else 'fail' if case.group(1) else 'pass'
            cases.append([verdict, case.group(2) or (case.group(4) or '').strip(), []])
        elif cases:
            cases[-1][2].append(line)
    missing = (planned or 0) - len(cases)
    if planned is None and cases:
        cases.append(['fail', 'the plan (1..N) is missing', []])
    elif missing > 0:
        cases.append(['fail', f'{missing} of {planned} cases did not come to an end', []])
    return cases


def read_meson(path):
    with open(path, encoding='utf-8', errors='replace') as log:
        for line in log:
            test = json.loads(line)
            name, result = test['name'], test['result']
            output = test.get('stdout', '') + test.get('stderr', '')
            cases = read_tap(test.get('stdout', ''))
            ended_well = result in ('OK', 'SKIP', 'EXPECTEDFAIL') or (
                test.get('returncode') == 0 and any(case[0] == 'skip' for case in cases))
            for case in cases:
                yield case[0], f'{name}: {case[1]}', case[2] or [output]
            if not cases:
                verdict = 'skip' if result == 'SKIP' else 'pass' if ended_well else 'fail'
                yield verdict, name, [result, output]
            elif not ended_well and all(case[0] != 'fail' for case in cases):
                yield 'fail', f'{name}: {result}, status {test.get("returncode")}', [output]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--part', required=True)
    parser.add_argument('--results', required=True)
    parser.add_argument('--meson')
    parser.add_argument('--tap')
    parser.add_argument('--status', type=int, default=0)
    args = parser.parse_args()
    if args.meson:
        cases = list(read_meson(args.meson))
    else:
        with open(args.tap, encoding='utf-8', errors='replace') as tap:
            text = tap.read()
        cases = read_tap(text)
        if not cases or (args.status and all(case[0] != 'fail' for case in cases)):
            cases.append(['fail', f'ended with status {args.status}', [text]])
    with open(args.results, 'a', encoding='utf-8') as results:
        for verdict, name, diagnostics in cases:
            print(f'{verdict}\t{args.part}: {name}', file=results)
            if verdict == 'fail':
                print(f'FAILED {args.part}: {name}')
                for line in '\n'.join(diagnostics).splitlines()[-60:]:
                    print('    ' + line)


main()

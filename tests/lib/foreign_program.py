#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""foreign_program.py DIALECT URL TABLE KEY FILE SECONDS [COLUMN...]: the other program.

Takes and gives back the lock KEY, over and over, with the statements that the owner of such a table
sends, and leaves the lines of tests/tools/stamp.c in FILE while it has it. Its mandates count from
f1 in the place of fences. The columns are key, holder, beginning, end, as SQL writes them. Prints
how often it had the lock and how often not.

shedlock: what ShedLock documents for PostgreSQL with the time of the database: an upsert whose update
asks for a lock_until that has passed, an extension, and a release by name and locked_by.

fenceless: a library without a fence: an upsert for what has ended, a heartbeat, and a release that
sets the end to now. The holder is new with every claim.
"""
import random
import subprocess
import sys
import time

NOW = "timezone('utc', CURRENT_TIMESTAMP)"
SHEDLOCK = {
    'claim': f"""INSERT INTO {{t}} ({{k}}, {{e}}, {{b}}, {{h}})
        VALUES (:'key', {NOW} + cast('30000 milliseconds' AS interval), {NOW}, :'holder')
        ON CONFLICT ({{k}}) DO UPDATE SET {{e}} = {NOW} + cast('30000 milliseconds' AS interval),
        {{b}} = {NOW}, {{h}} = :'holder'
        WHERE {{t}}.{{k}} = :'key' AND {{t}}.{{e}} <= {NOW} RETURNING 'yes'""",
    'renew': f"""UPDATE {{t}} SET {{e}} = {NOW} + cast('30000 milliseconds' AS interval)
        WHERE {{k}} = :'key' AND {{h}} = :'holder' AND {{e}} > {NOW} RETURNING 'yes'""",
    'release': f"""UPDATE {{t}} SET {{e}} = CASE WHEN {{b}} + cast('0 milliseconds' AS interval) > {NOW}
        THEN {{b}} + cast('0 milliseconds' AS interval) ELSE {NOW} END
        WHERE {{k}} = :'key' AND {{h}} = :'holder' RETURNING 'yes'""",
}
FENCELESS = {
    'claim': """INSERT INTO {t} ({k}, {h}, {b}, {e})
        VALUES (:'key', :'holder', clock_timestamp(), clock_timestamp() + make_interval(secs => 30))
        ON CONFLICT ({k}) DO UPDATE SET {h} = EXCLUDED.{h}, {b} = EXCLUDED.{b}, {e} = EXCLUDED.{e}
        WHERE {t}.{h} = EXCLUDED.{h} OR {t}.{e} <= clock_timestamp() RETURNING 'yes'""",
    'renew': """UPDATE {t} SET {e} = clock_timestamp() + make_interval(secs => 30)
        WHERE {k} = :'key' AND {h} = :'holder' AND {e} > clock_timestamp() RETURNING 'yes'""",
    'release': """UPDATE {t} SET {e} = clock_timestamp()
        WHERE {k} = :'key' AND {h} = :'holder' AND {e} > clock_timestamp() RETURNING 'yes'""",
}
DIALECTS = {
    'shedlock': (SHEDLOCK, ('name', 'locked_by', 'locked_at', 'lock_until')),
    'fenceless': (FENCELESS, ('key', 'holder', 'acquired_at', 'expires_at')),
}


class Session:
    """One psql that stays; each statement is a transaction of its own."""

    def __init__(self, url):
        self.psql = subprocess.Popen(
            ['psql', '-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-d', url],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def says_yes(self, statement, key, holder):
        def quote(text):
            return "'" + text.replace('\\', '\\\\').replace("'", "''") + "'"
        print(f'\\set key {quote(key)}\n\\set holder {quote(holder)}\n{statement};\n\\echo done',
              file=self.psql.stdin, flush=True)
        answer = False
        for line in self.psql.stdout:
            if line == 'done\n':
                return answer
            answer = answer or line == 'yes\n'
        sys.exit('psql has ended')


class Evidence:
    def __init__(self, path, key, pid):
        self.lines = open(path, 'a', encoding='utf-8')
        self.key, self.pid = key, pid

    def tell(self, event, mandate):
        at = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
        self.lines.write(f'{at} {event} {self.pid} f{mandate} {self.key}\n')
        self.lines.flush()


def hold(session, statements, key, holder, evidence, mandate):
    evidence.tell('start', mandate)
    for _ in range(random.randint(0, 3)):
        time.sleep(0.01)
        if not session.says_yes(statements['renew'], key, holder):
            sys.exit('the lock was taken away')
        evidence.tell('beat', mandate)
    evidence.tell('end', mandate)
    if not session.says_yes(statements['release'], key, holder):
        sys.exit('the lock could not be given back')


def main():
    dialect, url, table, key, path, seconds = sys.argv[1:7]
    templates, columns = DIALECTS[dialect]
    names = dict(zip('khbe', sys.argv[7:] or columns), t=table)
    statements = {what: text.format(**names) for what, text in templates.items()}
    session = Session(url)
    pid = session.psql.pid
    evidence = Evidence(path, key, pid)
    won = lost = 0
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        holder = 'java-host' if dialect == 'shedlock' else f'library-{pid}-{random.getrandbits(64):x}'
        if session.says_yes(statements['claim'], key, f'{holder}-{pid}'):
            won += 1
            hold(session, statements, key, f'{holder}-{pid}', evidence, won)
            time.sleep(random.uniform(0, 0.06))
        else:
            lost += 1
            time.sleep(random.uniform(0, 0.005))
    session.psql.stdin.close()
    session.psql.wait()
    print(won, lost)


main()

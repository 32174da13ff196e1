#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Whether every name and operator of SQL statements is qualified, so that the search path decides
nothing. qualified.py FILE...: statements, each ended by a semicolon; qualified.py --log FILE: those
that a server has logged for leaserun; prints every fault with its surroundings, and how many
statements were read. qualified.py --self-test: that it finds what it should."""
import re
import sys

TOKEN = re.compile(r"""
    (?P<space>\s+|--[^\n]*)
  | (?P<string>[eE]?'(?:[^']|'')*')
  | (?P<dollar>\$(?P<tag>[A-Za-z_][A-Za-z_0-9]*|)\$(?P<body>.*?)\$(?P=tag)\$)
  | (?P<param>\$\d+)
  | (?P<quoted>"(?:[^"]|"")*")
  | (?P<number>\d+(?:\.\d+)?)
  | (?P<word>[A-Za-z_][A-Za-z_0-9]*)
  | (?P<cast>::|:=)
  | (?P<operator>[-+*/<>=~!@\#%^&|`?]+)
  | (?P<mark>[()\[\],;.:])
""", re.X | re.S)

# Words that stand before a parenthesis and call nothing.
NO_CALL = set("""coalesce greatest least exists any all values from lateral operator and or not when
    then else select on where with key unique conflict materialized as in if case over by limit
    primary distinct returning join using set ordinality is""".split())
FORBIDDEN = set("in between like ilike similar nullif distinct overlaps cast extract position "
                "substring trim overlay current_timestamp current_date localtimestamp".split())
BEFORE_RELATION = set("from join into update table sequence using index".split())
NOT_A_RELATION = set("lateral rows only select if not set of as values".split())


class Statement:
    def __init__(self, text, is_body=False, known=()):
        self.tokens = []
        self.faults = []
        self.bodies = []
        self.is_body = is_body
        self.known = set(known)  # names that are no relations: CTEs, aliases of a list, variables
        self.read(text)

    def read(self, text):
        at = 0
        while at < len(text):
            match = TOKEN.match(text, at)
            if match is None:
                self.faults.append("cannot be read: " + text[at:at + 40])
                return
            at = match.end()
            kind = match.lastgroup if match.lastgroup not in ("tag", "body") else "dollar"
            if kind == "dollar":
                self.bodies.append(match.group("body"))
            if kind != "space":
                self.tokens.append((kind, match.group()))

    def text(self, i):
        return self.tokens[i][1].lower() if 0 <= i < len(self.tokens) else ""

    def kind(self, i):
        return self.tokens[i][0] if 0 <= i < len(self.tokens) else ""

    def fault(self, i, why):
        around = " ".join(t[1] for t in self.tokens[max(0, i - 6):i + 7])
        self.faults.append("%s: %s" % (why, around))

    def is_name(self, i):
        return self.kind(i) in ("word", "quoted")

    def is_qualified(self, i):
        """The name that begins or ends at i has a schema."""
        return self.text(i + 1) == "." or self.text(i - 1) == "."

    def find_known(self):
        for i in range(len(self.tokens)):
            is_cte = self.text(i + 1) == "as" and (
                self.text(i + 2) == "(" or self.text(i + 2) == "materialized")
            if self.is_name(i) and is_cte and self.text(i - 1) in ("with", ","):
                self.known.add(self.text(i))
            if self.is_body and self.text(i - 1) in ("declare", ";") and self.is_name(i) and \
                    self.text(i + 1) == "pg_catalog":
                self.known.add(self.text(i))

    def is_assignment(self, i, depths, set_depths):
        if self.is_body and self.text(i - 1) in ("errcode", "hint"):
            return True
        if depths[i] in set_depths and self.text(i - 2) in ("set", ",", "local"):
            return True
        # storage parameters of a table
        return depths[i] == 1 and self.text(0) == "create"

    def check(self):
        self.find_known()
        depth, depths, set_depths = 0, [], set()
        for i in range(len(self.tokens)):
            depth -= self.text(i) == ")"
            depths.append(depth)
            depth += self.text(i) == "("
            if self.text(i) == "set":
                set_depths.add(depths[i])
            if self.text(i) in ("where", "from", "returning", "select"):
                set_depths.discard(depths[i])
            self.check_operator(i, depths, set_depths)
            self.check_name(i)
        for body in self.bodies:
            inner = Statement(body, True, self.known)
            self.faults += inner.check()
        return self.faults

    def check_operator(self, i, depths, set_depths):
        if self.kind(i) != "operator":
            return
        if self.text(i - 1) == "." and self.text(i - 2) == "pg_catalog" and \
                self.text(i - 4) == "operator":
            return
        if self.text(i) == "*" and (self.text(i - 1) == "." or
                                    (self.text(i - 1), self.text(i + 1)) == ("(", ")")):
            return
        if self.text(i) == "=" and self.is_assignment(i, depths, set_depths):
            return
        self.fault(i, "operator without a schema")

    def check_name(self, i):
        word, before = self.text(i), self.text(i - 1)
        if self.kind(i - 1) == "cast" and before == "::" and (word, self.text(i + 1)) != ("pg_catalog", "."):
            self.fault(i, "type without a schema")
        if before == "collate" and (word, self.text(i + 1)) != ("pg_catalog", "."):
            self.fault(i, "collation without a schema")
        if self.kind(i) == "word" and before != "." and word in FORBIDDEN:
            self.fault(i, "looks an operator or function up by itself")
        if word == "case" and self.text(i + 1) != "when":
            self.fault(i, "CASE with a value compares by =")
        if self.is_name(i) and self.text(i + 1) == "(":
            self.check_call(i)
        if before in BEFORE_RELATION and self.is_name(i):
            self.check_relation(i)

    def check_call(self, i):
        word = self.text(i)
        if self.text(i - 1) == "." or (self.kind(i) == "word" and word in NO_CALL):
            return
        if self.text(i - 1) == "as":  # the names of a list's columns
            return
        self.fault(i, "function without a schema")

    def check_relation(self, i):
        word = self.text(i)
        if self.is_qualified(i) or word in self.known or word in NOT_A_RELATION:
            return
        before2 = self.text(i - 2)
        if self.text(i - 1) == "update" and before2 in ("for", "key", "do", ","):
            return  # FOR [NO KEY] UPDATE OF alias
        if self.text(i - 1) == "index" and self.text(i + 1) == "on":
            return  # it lies where its table does
        if self.text(i - 1) == "using" and self.is_body and word == "errcode":
            return
        if self.text(i - 1) == "from" and word in ("public", "app_role"):
            return  # a role
        self.fault(i, "relation without a schema")


def split(text):
    """At the semicolons outside quotes."""
    start = at = 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            break
        at = match.end()
        if match.group() == ";":
            yield text[start:at]
            start = at
    yield text[start:]


LOGGED = re.compile(r"^\S+ \S+ \S+ \[\d+\] \S+ leaserun.*?: LOG:  (?:execute [^:]*|statement): (.*)")


def logged(path):
    statement = None
    for line in open(path, encoding="utf-8", errors="replace"):
        match = LOGGED.match(line)
        if match is None and line.startswith("\t") and statement is not None:
            statement += "\n" + line[1:].rstrip("\n")
            continue
        if statement is not None:
            yield statement
        statement = match.group(1) if match else None
    if statement is not None:
        yield statement


GOOD = [
    "WITH a AS MATERIALIZED (SELECT pg_catalog.max(l.n) FROM \"s\".t AS l) SELECT a.* FROM a",
    "UPDATE s.t AS l SET a = 1, b = $1::pg_catalog.int8 WHERE l.k OPERATOR(pg_catalog.=) 'x = y'",
    "INSERT INTO s.t (k) VALUES ($1) ON CONFLICT (k) DO UPDATE SET k = EXCLUDED.k",
    "CREATE TABLE s.t (k pg_catalog.text COLLATE pg_catalog.\"C\") WITH (fillfactor = 50)",
]
BAD = [
    "SELECT 1 FROM s.t WHERE a = b",
    "UPDATE s.t SET a = 1 WHERE k = $1",
    "SELECT now()",
    "SELECT 1 FROM leases",
    "SELECT 1 FROM s.t JOIN runs ON true",
    "INSERT INTO leases VALUES (1)",
    "UPDATE leases SET a = 1",
    "DELETE FROM leases",
    "SELECT $1::text",
    "SELECT a COLLATE \"C\" FROM s.t",
    "SELECT 1 FROM s.t WHERE a IN (1, 2)",
    "SELECT CASE a WHEN 1 THEN 2 END FROM s.t",
    "SELECT 1 FROM s.t WHERE a IS DISTINCT FROM b",
    "SELECT a OPERATOR(public.=) b FROM s.t",
    "SELECT pg_catalog.max(a + 1) FROM s.t",
    "DO $x$ BEGIN PERFORM now(); END $x$",
    "DO $x$ BEGIN IF a < b THEN RETURN; END IF; END $x$",
    "CREATE TABLE t (k pg_catalog.text)",
]


def self_test():
    wrong = [s for s in GOOD if Statement(s).check()] + [s for s in BAD if not Statement(s).check()]
    for statement in wrong:
        print("judged wrongly:", statement, Statement(statement).check())
    return 1 if wrong else 0


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    if sys.argv[1] == "--log":
        statements = set(logged(sys.argv[2]))
    else:
        statements = set(s for path in sys.argv[1:] for s in split(open(path, encoding="utf-8").read()))
    faults = 0
    for whole in sorted(statements):
        for statement in split(whole):
            for fault in Statement(statement).check():
                print(fault)
                faults += 1
    print("%d statements, %d faults" % (len(statements), faults))
    return 1 if faults or not statements else 0


sys.exit(main())

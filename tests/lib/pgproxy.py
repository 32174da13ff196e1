#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""pgproxy.py FOLDER UPSTREAM: a PostgreSQL server's unreliable network.
pgproxy.py --tell FOLDER COMMAND...: one command to it; prints the answer, status 1 for an error.

UPSTREAM is the path of the server's unix socket (".../.s.PGSQL.5432"). Listens on the unix socket
FOLDER/.s.PGSQL.5432 and on a loopback TCP port whose number is in FOLDER/port, and obeys commands,
one line each, on the unix socket FOLDER/control (see `proxy` in helpers.bash). Ends on TERM or
"quit". Encryption is declined, so that messages can be read: what a client sends up to Sync (or
one Query) is a request, what the server sends up to ReadyForQuery is its reply.

A rule applies to requests whose SQL matches PATTERN (a regular expression, "." for all), to the
first that comes unless it says "always":

  lose-reply PATTERN [always]     forward, await the whole reply, close without passing it on
  lose-request PATTERN [always]   close before it is forwarded
  drop-reply PATTERN [always]     forward, swallow the reply, keep the connection
  drop-request PATTERN [always]   swallow it, keep the connection
  hold-reply PATTERN [always]     forward, keep the reply back until "go"
  hold-request PATTERN [always]   keep it back until "go"
  delay-request MS PATTERN [always]
  delay-reply MS PATTERN [always]

  blackhole on|off     nothing passes in either direction and new connections are met by silence;
                       what was swallowed stays swallowed, as connections of that time are dead
  refuse on|off        new connections are closed at once
  cut                  close every connection now
  go                   let everything that is held pass
  clear                forget all rules, blackhole and refuse; what is held passes
  await PATTERN COUNT SECONDS   answers once so many matching requests have arrived since the
                       start or the last "clear", with error after SECONDS
  await-fired COUNT SECONDS     answers once rules have been applied so many times since "clear"
  await-connections COUNT SECONDS  answers once exactly so many clients are connected
  remember PATTERN [always]     keep the next matching request (all, in order) and pass it on
  replay [reversed]    send what was remembered on a connection of its own; answers with the
                       command tags or SQLSTATEs that came back, and with the values of the rows
  count PATTERN        how many matching requests have arrived since "clear"
  connections          how many clients are connected
  quit

Every answer is one line: "ok ..." or "error ...".
"""
import asyncio
import os
import re
import signal
import socket
import struct
import sys

SSL_REQUEST, GSS_REQUEST, CANCEL_REQUEST = 80877103, 80877104, 80877102


class Rule:
    def __init__(self, action, pattern, always, delay_ms=0):
        self.action, self.pattern, self.always = action, re.compile(pattern, re.S | re.I), always
        self.delay_ms = delay_ms


class Request:
    def __init__(self):
        self.bytes, self.sql = bytearray(), ''
        self.rule = None

    def add(self, kind, body):
        self.bytes += kind + struct.pack('!I', len(body) + 4) + body
        if kind == b'P':
            self.sql += body.split(b'\0')[1].decode(errors='replace') + '\n'
        elif kind == b'Q':
            self.sql += body[:-1].decode(errors='replace') + '\n'

    def is_complete(self, kind):
        return kind in (b'S', b'Q', b'X')


class State:
    def __init__(self, upstream):
        self.upstream = upstream
        self.connections = set()
        self.remembered = []  # of (startup, request)
        self.wants_to_remember = None  # (pattern, always)
        self.changed = asyncio.Condition()
        self.quit = asyncio.Event()
        self.released = asyncio.Event()
        self.reset()

    def reset(self):
        self.rules, self.seen, self.fired = [], [], 0
        self.is_blackhole = self.is_refusing = False
        self.let_go()

    def let_go(self):
        self.released.set()
        self.released = asyncio.Event()

    async def notify(self):
        async with self.changed:
            self.changed.notify_all()

    def rule_for(self, request):
        for rule in self.rules:
            if request.sql and rule.pattern.search(request.sql):
                if not rule.always:
                    self.rules.remove(rule)
                return rule
        return None

    async def wait_for(self, predicate, seconds):
        async with self.changed:
            await asyncio.wait_for(self.changed.wait_for(predicate), seconds)


class Connection:
    """One client. Requests wait in `pending` until their ReadyForQuery; the first, unnamed one is
    the login's."""

    def __init__(self, state, reader, writer):
        self.state, self.reader, self.writer = state, reader, writer
        self.up_reader = self.up_writer = None
        self.startup = b''
        self.pending = asyncio.Queue()
        self.is_dead = False  # lived through a blackhole: its bytes have holes

    def close(self):
        for writer in (self.writer, self.up_writer):
            if writer is not None:
                writer.transport.abort() if self.is_dead else writer.close()

    async def read_startup(self):
        while True:
            head = await self.reader.readexactly(8)
            length, code = struct.unpack('!II', head)
            body = await self.reader.readexactly(length - 8)
            if code not in (SSL_REQUEST, GSS_REQUEST):
                return head + body
            self.writer.write(b'N')

    async def serve(self):
        state = self.state
        if state.is_blackhole:
            self.is_dead = True
            await self.reader.read()
            return
        self.startup = await self.read_startup()
        self.up_reader, self.up_writer = await asyncio.open_unix_connection(state.upstream)
        self.up_writer.write(self.startup)
        await self.pending.put(Request())
        await run_until_first_ends(self.forward_requests(), self.forward_replies())

    async def forward_requests(self):
        state, request = self.state, Request()
        while True:
            kind, body = await read_message(self.reader)
            if kind in (b'p', b'd', b'c', b'f'):  # password, copy: not part of a request
                self.send_up(kind + struct.pack('!I', len(body) + 4) + body)
                continue
            request.add(kind, body)
            if not request.is_complete(kind):
                continue
            done, request = request, Request()
            if not await self.handle_request(done):
                return

    async def handle_request(self, request):
        """False when the connection is to be closed."""
        state = self.state
        if self.is_dead:
            return True
        request.rule = rule = state.rule_for(request)
        state.seen.append(request.sql)
        if state.wants_to_remember and request.sql:
            pattern, always = state.wants_to_remember
            if pattern.search(request.sql):
                state.remembered.append((self.startup, bytes(request.bytes)))
                state.wants_to_remember = state.wants_to_remember if always else None
        action = rule.action if rule else ''
        if rule:
            state.fired += action.endswith('-request')
        await state.notify()
        if action == 'lose-request':
            return False
        if action == 'drop-request':
            return True
        if action == 'hold-request':
            await state.released.wait()
        if action == 'delay-request':
            await asyncio.sleep(rule.delay_ms / 1000)
        await self.pending.put(request)
        self.send_up(request.bytes)
        return True

    def send(self, writer, data):
        """What cannot arrive any more is dropped: the reader of that side sees the end soon."""
        self.is_dead = self.is_dead or self.state.is_blackhole
        if not self.is_dead and not writer.is_closing():
            writer.write(data)

    def send_up(self, data):
        self.send(self.up_writer, data)

    async def forward_replies(self):
        state, request, reply = self.state, None, bytearray()
        while True:
            kind, body = await read_message(self.up_reader)
            message = kind + struct.pack('!I', len(body) + 4) + body
            if request is None and not self.pending.empty():
                request = self.pending.get_nowait()
            if request is None or request.rule is None:
                self.send_down(message)  # a notice, or a reply that nobody wants to spoil
            else:
                reply += message
            if kind == b'Z' and request is not None:
                if request.rule and not await self.handle_reply(request.rule, bytes(reply)):
                    return
                request, reply = None, bytearray()

    async def handle_reply(self, rule, reply):
        """False when the connection is to be closed."""
        state = self.state
        if rule.action.endswith('-reply'):
            state.fired += 1
            await state.notify()
        if rule.action == 'lose-reply':
            return False
        if rule.action == 'drop-reply':
            return True
        if rule.action == 'hold-reply':
            await state.released.wait()
        if rule.action == 'delay-reply':
            await asyncio.sleep(rule.delay_ms / 1000)
        self.send_down(reply)
        return True

    def send_down(self, data):
        self.send(self.writer, data)


async def read_message(reader):
    head = await reader.readexactly(5)
    length = struct.unpack('!I', head[1:])[0]
    return head[:1], await reader.readexactly(length - 4)


async def run_until_first_ends(*coroutines):
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def accept(state, reader, writer):
    connection = Connection(state, reader, writer)
    if state.is_refusing:
        writer.transport.abort()
        return
    state.connections.add(connection)
    await state.notify()
    try:
        await connection.serve()
    except (asyncio.IncompleteReadError, ConnectionError, OSError):
        pass
    finally:
        connection.close()
        state.connections.discard(connection)
        await state.notify()


async def replay(state, is_reversed):
    if not state.remembered:
        return 'error nothing was remembered'
    reader, writer = await asyncio.open_unix_connection(state.upstream)
    try:
        writer.write(state.remembered[0][0])
        while (await read_message(reader))[0] != b'Z':
            pass
        told, requests = [], [request for _, request in state.remembered]
        for request in reversed(requests) if is_reversed else requests:
            writer.write(request)
            await read_reply(reader, told)
        return 'ok ' + ' '.join(told)
    finally:
        writer.close()


async def read_reply(reader, told):
    while True:
        kind, body = await read_message(reader)
        if kind == b'C':
            told.append(body[:-1].decode())
        elif kind == b'E':
            told.append(next(f[1:] for f in body.split(b'\0') if f[:1] == b'C').decode())
        elif kind == b'D':
            told.append('(' + ','.join(read_row(body)) + ')')
        elif kind == b'Z':
            return


def read_row(body):
    count, at = struct.unpack('!H', body[:2])[0], 2
    for _ in range(count):
        length = struct.unpack('!i', body[at:at + 4])[0]
        at += 4
        yield 'NULL' if length < 0 else body[at:at + length].decode(errors='replace')
        at += max(length, 0)


async def obey(state, words):
    command, rest = words[0], words[1:]
    always = bool(rest) and rest[-1] == 'always'
    if always:
        rest = rest[:-1]
    if re.fullmatch(r'(lose|drop|hold)-(request|reply)', command):
        state.rules.append(Rule(command, ' '.join(rest) or '.', always))
    elif re.fullmatch(r'delay-(request|reply)', command):
        state.rules.append(Rule(command, ' '.join(rest[1:]) or '.', always, int(rest[0])))
    elif command == 'blackhole':
        state.is_blackhole = rest == ['on']
        for connection in state.connections:
            connection.is_dead = connection.is_dead or state.is_blackhole
    elif command == 'refuse':
        state.is_refusing = rest == ['on']
    elif command == 'cut':
        for connection in list(state.connections):
            connection.close()
    elif command == 'go':
        state.let_go()
    elif command == 'clear':
        state.reset()
    elif command == 'await':
        pattern, wanted = re.compile(rest[0], re.S | re.I), int(rest[1])
        await state.wait_for(lambda: count(state, pattern) >= wanted, float(rest[2]))
    elif command == 'await-fired':
        await state.wait_for(lambda: state.fired >= int(rest[0]), float(rest[1]))
    elif command == 'await-connections':
        await state.wait_for(lambda: len(state.connections) == int(rest[0]), float(rest[1]))
    elif command == 'remember':
        state.remembered = []
        state.wants_to_remember = (re.compile(' '.join(rest) or '.', re.S | re.I), always)
    elif command == 'replay':
        return await replay(state, rest == ['reversed'])
    elif command == 'count':
        return f'ok {count(state, re.compile(" ".join(rest) or ".", re.S | re.I))}'
    elif command == 'connections':
        return f'ok {len(state.connections)}'
    elif command == 'quit':
        state.quit.set()
    else:
        return f'error no such command: {command}'
    return 'ok'


def count(state, pattern):
    return sum(1 for sql in state.seen if pattern.search(sql))


async def control(state, reader, writer):
    try:
        while line := (await reader.readline()).decode():
            try:
                answer = await obey(state, line.split() or [''])
            except asyncio.TimeoutError:
                answer = f'error not within the time given: {line.strip()}'
            except Exception as fault:  # told to the test, which fails on it
                answer = f'error {fault!r}'
            writer.write(answer.encode() + b'\n')
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


async def main():
    folder, upstream = sys.argv[1:3]
    state = State(upstream)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, state.quit.set)

    def on_client(reader, writer):
        return accept(state, reader, writer)

    def on_control(reader, writer):
        return control(state, reader, writer)

    await asyncio.start_unix_server(on_client, os.path.join(folder, '.s.PGSQL.5432'))
    tcp = await asyncio.start_server(on_client, '127.0.0.1', 0)
    await asyncio.start_unix_server(on_control, os.path.join(folder, 'control'))
    with open(os.path.join(folder, 'port.new'), 'w', encoding='ascii') as port:
        print(tcp.sockets[0].getsockname()[1], file=port)
    os.rename(os.path.join(folder, 'port.new'), os.path.join(folder, 'port'))
    await state.quit.wait()
    os._exit(0)  # connections need no farewell


def tell(folder, words):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(os.path.join(folder, 'control'))
        connection.sendall(' '.join(words).encode() + b'\n')
        answer = connection.makefile().readline().strip()
    print(answer.removeprefix('ok').strip())
    return 0 if answer.startswith('ok') else 1


if sys.argv[1] == '--tell':
    sys.exit(tell(sys.argv[2], sys.argv[3:]))
asyncio.run(main())

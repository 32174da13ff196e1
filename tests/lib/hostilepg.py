#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""hostilepg.py FOLDER MODE: a PostgreSQL server that means no good, on FOLDER/.s.PGSQL.5432.

How it answers a client that connects (after which it asks for no password):

  refuse       with a fault full of control characters      refuse-big    with one of 1 MB
  noise        with random bytes                            endless       with settings, for ever
  kerberos     with the demand to log in by GSSAPI
  crash        with the warning and the fault of a server that recovers from a crash
How it answers the first question:

  no-clock     with no row        odd-clock     with a row of other columns
And any other:

  fault        with a fault full of control characters      fault-big     with one of 1 MB
  fault-code   whose SQLSTATE has some                      farewell      and hangs up
  held         with a lease that is held by such a name     no-fence      with rows that tell nothing
  copy-in copy-out copy-both   with a COPY that nobody asked for
"""
import os
import socket
import struct
import sys
import threading

NASTY = (b'evil\x1b[2J\x07\x1b]0;title\x07\r\nlevel=error event=forged key=x '
         b'\xc2\x9b31m\xe2\x80\xae\xff\xfe%s%n"\\')


def message(kind, body=b''):
    return kind + struct.pack('!I', len(body) + 4) + body


def fault(text, code=b'XX000', severity=b'ERROR'):
    fields = (b'S' + severity, b'V' + severity, b'C' + code, b'M' + text)
    return message(b'E', b'\0'.join(fields) + b'\0\0')


def columns(names, form=0):
    body = struct.pack('!H', len(names))
    for name in names:
        body += name + b'\0' + struct.pack('!IHIhih', 0, 0, 25, -1, -1, form)
    return message(b'T', body)


def row(values):
    body = struct.pack('!H', len(values))
    for value in values:
        body += struct.pack('!i', -1) if value is None else struct.pack('!i', len(value)) + value
    return message(b'D', body)


READY = message(b'Z', b'I')
BOUND = message(b'1') + message(b'2')
DONE = message(b'C', b'SELECT 1\0') + READY
CLAIM = {
    b'n': b'1', b'verdict': b'held', b'fence': None, b'wait_ms': b'9' * 30,
    b'held_since_us': b'-' + b'9' * 18, b'other': NASTY + b'Y' * 100000, b'abandoned': NASTY,
    b'abandoned_fence': b'1', b'is_first_to_tell': b't', b'server_us': b'1', b'timeline': NASTY,
}
LEASE = {
    b'server_us': b'1', b'timeline': b'00000001', b'key': NASTY, b'holder': NASTY, b'fence': b'9',
    b'revoked': b't', b'state': b'held', b'acquired_us': b'9' * 18, b'expires_us': b'-' + b'9' * 18,
    b'slot_us': b'9' * 18, b'hold_ms': b'1', b'lease_ms': b'9' * 18,
}


def table(rows):
    return BOUND + columns(list(rows)) + row(list(rows.values())) + DONE


def held(sql):
    if b'ROWS FROM' in sql:
        return table(CLAIM)
    if b'lease_ms' in sql:
        return table(LEASE)
    return BOUND + columns([b'fence']) + DONE


def for_ever(connection, piece):
    while True:
        connection.sendall(piece * 1000)


GREETINGS = {
    'crash': message(b'R', b'\0\0\0\0') +
             message(b'N', b'SWARNING\0VWARNING\0C57P02\0Mterminating\0DThe postmaster\0\0') +
             fault(b'the database system is in recovery mode', b'57P03', b'FATAL'),
    'kerberos': message(b'R', struct.pack('!I', 7)),
    'refuse': fault(NASTY, b'28000', b'FATAL'),
    'refuse-big': fault(b'A\x1b' * 500000, b'53300', b'FATAL'),
    'noise': os.urandom(200000),
}
CLOCKS = {
    'no-clock': BOUND + columns([b'clock', b'walfile'], 1) + DONE,
    'odd-clock': BOUND + columns([b'clock'], 1) + row([b'x']) + DONE,
}
ANSWERS = {
    'fault': lambda sql: fault(NASTY) + READY,
    'fault-big': lambda sql: fault(b'B\x1b' * 500000) + READY,
    'fault-code': lambda sql: fault(b'x', b'\x1b[31m\n') + READY,
    'held': held,
    'no-fence': lambda sql: BOUND + columns([b'x']) + row([b'1']) * 1000 + DONE,
    'copy-in': lambda sql: BOUND + message(b'G', b'\0\0\0'),
    'copy-out': lambda sql: BOUND + message(b'H', b'\0\0\0') + message(b'd', b'x') * 100,
    'copy-both': lambda sql: BOUND + message(b'W', b'\0\0\0'),
}
CLOCK = BOUND + columns([b'clock', b'walfile'], 1) + row([struct.pack('!q', 8 * 10**14), b'0' * 24]) + DONE


class Client:
    def __init__(self, connection, mode):
        self.connection, self.mode = connection, mode

    def read(self, count):
        data = b''
        while len(data) < count:
            piece = self.connection.recv(count - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data

    def start(self):
        while True:
            body = self.read(struct.unpack('!I', self.read(4))[0] - 4)
            if struct.unpack('!I', body[:4])[0] not in (80877103, 80877104):
                return
            self.connection.sendall(b'N')

    def question(self):
        sql = b''
        while True:
            kind = self.read(1)
            body = self.read(struct.unpack('!I', self.read(4))[0] - 4)
            if kind == b'P':
                sql = body
            elif kind == b'S':
                return sql
            elif kind == b'X':
                raise EOFError

    def answer(self, sql):
        if b'AS walfile' in sql:
            return CLOCKS.get(self.mode, CLOCK)
        if self.mode == 'farewell':
            self.connection.sendall(fault(NASTY, b'57P01', b'FATAL'))
            raise EOFError
        return ANSWERS.get(self.mode, ANSWERS['fault'])(sql)

    def serve(self):
        self.start()
        if self.mode in GREETINGS:
            self.connection.sendall(GREETINGS[self.mode])
            return
        self.connection.sendall(message(b'R', b'\0\0\0\0'))
        if self.mode == 'endless':
            for_ever(self.connection, message(b'S', b'x\0y\0'))
        self.connection.sendall(message(b'S', b'client_encoding\0UTF8\0') + READY)
        while True:
            self.connection.sendall(self.answer(self.question()))


def serve(connection, mode):
    try:
        Client(connection, mode).serve()
    except (EOFError, OSError):
        pass
    connection.close()


def main(folder, mode):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(folder + '/.s.PGSQL.5432')
    listener.listen(50)
    while True:
        connection = listener.accept()[0]
        threading.Thread(target=serve, args=(connection, mode), daemon=True).start()


main(*sys.argv[1:])

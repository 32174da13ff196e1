# SPDX-License-Identifier: ISC
"""The scene of a fault run: one private PostgreSQL, nodes with a network each, the leaseruns that
are alive, and what is written down about all of it.

A node reaches the server through a proxy of its own (tests/lib/pgproxy.py), by TCP over the
loopback device of a network namespace of its own: packets dropped there are really dropped, and a
node that is cut off is alone. The namespace ends with the proxy. Where namespaces are not allowed,
the proxy swallows bytes instead.
"""
import contextlib
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time

from lives import Live, SchedulerLive

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FAKETIME = next(iter(glob.glob('/usr/lib/*/faketime/libfaketime.so.1')), None)
RESOLVER = '/etc/resolv.conf'
SERIALIZABLE = 'serial'  # a role whose transactions are serializable by default


def boot_us():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


def run(*argv, **more):
    return subprocess.run(argv, check=True, capture_output=True, text=True, **more).stdout


def write_whole(path, text):
    """Renamed into place: a reader never sees half of it."""
    with open(path + '.new', 'w', encoding='ascii') as file:
        file.write(text)
    os.rename(path + '.new', path)


class Events:
    """events.jsonl: everything that the harness does, for the checker."""

    def __init__(self, path):
        self.file, self.lock = open(path, 'w', encoding='utf-8'), threading.Lock()

    def tell(self, what, **facts):
        with self.lock:
            json.dump({'at': boot_us(), 'what': what, **facts}, self.file)
            self.file.write('\n')
            self.file.flush()


class Resource(threading.Thread):
    """What the workers write to: it refuses a fence that is lower than the last it has seen."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self.path, self.last = os.path.join(folder, 'resource'), {}
        self.log = open(self.path + '.log', 'w', encoding='utf-8')
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        os.chmod(self.path, 0o666)
        self.start()

    def run(self):
        while True:
            fence, run_id, key = self.socket.recv(2048).decode().split(' ', 2)
            is_late = int(fence) < self.last.get(key, 0)
            self.last[key] = max(int(fence), self.last.get(key, 0))
            verdict = 'refused' if is_late else 'accepted'
            self.log.write(f'{boot_us()} {verdict} {fence} {run_id} {key}\n')
            self.log.flush()


class Server:
    """The PostgreSQL server that nodes are led to: `main`, or later the standby in its place."""

    def __init__(self, folder):
        self.name, self.lock = 'main', threading.Lock()
        self.environment = {**os.environ, 'PG_ROOT': os.path.join(folder, 'pg')}
        self.link = os.path.join(folder, 'upstream')
        os.mkdir(self.environment['PG_ROOT'])
        self.shell('pg_start main max_connections=150 wal_level=replica')
        self.lead_to('main')
        self.sql(f'create role {SERIALIZABLE} superuser login',
                 f"alter role {SERIALIZABLE} set default_transaction_isolation = 'serializable'")

    def add_standby(self):
        """One that follows at once: what the server has said to be committed, it has too."""
        self.shell('''cd / && mkdir "$PG_ROOT/standby" && _pg_own "$PG_ROOT/standby" &&
            _pg_free_port >"$PG_ROOT/standby/port" &&
            _pg_as_owner "$PG_BIN/pg_basebackup" -D "$PG_ROOT/standby/data" -c fast -R \\
                -h "$PG_ROOT/main" -p "$(cat "$PG_ROOT/main/port")" -U postgres &&
            pg_start standby "port=$(cat "$PG_ROOT/standby/port")" \\
                "unix_socket_directories=$PG_ROOT/standby" wal_retrieve_retry_interval=300ms''')
        self.sql("alter system set synchronous_standby_names = '*'", 'select pg_reload_conf()')

    def promote_standby(self):
        self.shell('''pg_stop main immediate; cd / &&
            _pg_as_owner "$PG_BIN/pg_ctl" promote -s -w -D "$PG_ROOT/standby/data"''')
        self.lead_to('standby')

    def shell(self, script):
        return run('sh', '-c', f'. {TESTS}/lib/pg.sh; {script}', env=self.environment)

    def lead_to(self, name):
        self.name = name
        root = os.path.join(self.environment['PG_ROOT'], name)
        with open(os.path.join(root, 'port'), encoding='ascii') as port:
            self.port = port.read().strip()
        os.symlink(os.path.join(root, f'.s.PGSQL.{self.port}'), self.link + '.new')
        os.rename(self.link + '.new', self.link)

    def url(self):
        return (f'postgresql:///postgres?host={self.environment["PG_ROOT"]}/{self.name}'
                f'&port={self.port}&user=postgres')

    def sql(self, *statements):
        words = [word for statement in statements for word in ('-c', statement)]
        return run('psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', self.url(), *words)

    def stop(self):
        self.shell('pg_stop_all')


class Node:
    """A host: a network, a wall clock, and how a leaserun is started on it."""

    def __init__(self, scene, number):
        self.scene, self.number = scene, number
        self.folder = os.path.join(scene.folder, f'node{number}')
        os.mkdir(self.folder)
        self.has_network = scene.may_have_networks
        self.has_names = self.has_network and number == 1 and os.path.exists(RESOLVER)
        proxy = ['python3', f'{TESTS}/lib/pgproxy.py', self.folder, scene.server.link]
        if self.has_network:
            proxy = ['unshare', '--net', '--mount', 'sh', '-ec', self.set_up(), 'sh', *proxy]
        self.proxy = subprocess.Popen(proxy, stdin=subprocess.DEVNULL)
        self.names = None
        while not os.path.exists(os.path.join(self.folder, 'port')):
            time.sleep(0.02)
        with open(os.path.join(self.folder, 'port'), encoding='ascii') as port:
            self.port = port.read().strip()
        if self.has_names:
            self.set_names_late(0)
            self.names = subprocess.Popen([*self.enter(), 'python3', f'{TESTS}/faults/names.py',
                                           self.folder], stdin=subprocess.DEVNULL)
        user = SERIALIZABLE if number == 0 else 'postgres'
        host = 'database.example' if self.has_names else '127.0.0.1'
        self.url = f'postgresql://{user}@{host}:{self.port}/postgres'
        self.forget_limits()
        self.has_clock = scene.clock_memory is not None and number == scene.node_count - 1
        self.clock = os.path.join(self.folder, 'clock')
        self.set_clock(0)
        self.said_count = 0

    def set_up(self):
        """Of the namespaces; exec makes the proxy of it."""
        script = 'ip link set lo up; '
        if self.has_names:
            with open(os.path.join(self.folder, 'resolv.conf'), 'w', encoding='ascii') as file:
                file.write('nameserver 127.0.0.1\noptions timeout:5 attempts:2\n')
            script += f'mount --bind {self.folder}/resolv.conf {RESOLVER}; '
        return script + 'exec "$@"'

    def enter(self):
        spaces = f'/proc/{self.proxy.pid}/ns'
        return ['nsenter', f'--net={spaces}/net', f'--mount={spaces}/mnt', '--'] \
            if self.has_network else []

    def forget_limits(self):
        self.file_limit = self.process_limit = None
        self.niceness, self.is_disk_full = 0, False

    def set_names_late(self, seconds):
        write_whole(os.path.join(self.folder, 'late'), str(seconds))

    def tell_proxy(self, *words):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(os.path.join(self.folder, 'control'))
            connection.sendall(' '.join(words).encode() + b'\n')
            return connection.makefile().readline()

    def set_clock(self, seconds):
        write_whole(self.clock, f'{seconds:+.3f}\n')

    @contextlib.contextmanager
    def cut(self, direction):
        """'requests', 'replies' or 'both' vanish."""
        ports = {'requests': ['--dport'], 'replies': ['--sport'], 'both': ['--dport', '--sport']}
        rules = [['INPUT', '-i', 'lo', '-p', 'tcp', port, self.port, '-j', 'DROP']
                 for port in ports[direction]]
        if not self.has_network:
            self.tell_proxy('blackhole on')
        for rule in rules if self.has_network else []:
            run(*self.enter(), 'iptables', '-w', '-A', *rule)
        try:
            yield
        finally:
            if not self.has_network:
                self.tell_proxy('blackhole off')
            for rule in rules if self.has_network else []:
                run(*self.enter(), 'iptables', '-w', '-D', *rule)

    def open_said(self):
        """For what the next leaserun says: its path within the scene, and the file."""
        if self.is_disk_full:
            return None, open('/dev/full', 'w', encoding='utf-8')
        self.said_count += 1
        name = f'node{self.number}/said.{self.said_count}'
        return name, open(os.path.join(self.scene.folder, name), 'w', encoding='utf-8')

    def start(self, arguments, said, is_scheduler=False):
        """A leaserun; everything before it in argv becomes it by exec. Node 1's scheduler is
        another user's, since root has no limit of processes."""
        argv = self.enter()
        if self.niceness:
            argv += ['nice', '-n', str(self.niceness)]
        environment = {**os.environ, 'LEASERUN_STORE': self.url}
        if self.has_clock:
            environment |= {'LD_PRELOAD': f'{self.scene.clock_set} {FAKETIME}',
                            'FAKETIME_TIMESTAMP_FILE': self.clock,
                            'FAKETIME_NO_CACHE': '1', 'FAKETIME_DONT_FAKE_MONOTONIC': '1',
                            'FAKETIME_SHARED': self.scene.clock_memory}
        argv += ['env', *(f'{name}={value}' for name, value in environment.items()
                          if os.environ.get(name) != value)]
        if self.file_limit:
            argv += ['prlimit', f'--nofile={self.file_limit}:{self.file_limit}']
        is_others = self.process_limit or (is_scheduler and self.number == 1)
        if is_others and self.scene.is_public and not self.has_clock:
            user = str((65000 if is_scheduler else 64000) + self.number)
            argv += ['setpriv', f'--reuid={user}', f'--regid={user}', '--clear-groups']
            if self.process_limit:
                argv += ['prlimit', f'--nproc={self.process_limit}:{self.process_limit}']
        return subprocess.Popen([*argv, self.scene.leaserun, *arguments],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=said)

    def helpers(self):
        return [process for process in (self.proxy, self.names) if process is not None]

    def stop(self):
        for process in self.helpers():
            process.terminate()
            process.wait()


class Scene:
    def __init__(self, folder, build, node_count, has_standby):
        self.folder, self.node_count = folder, node_count
        self.leaserun = os.path.join(build, 'src', 'leaserun')
        self.worker = os.path.join(build, 'tests', 'faults', 'worker')
        self.stamps = os.path.join(folder, 'stamps')
        with open(self.stamps, 'w', encoding='ascii'):
            os.chmod(self.stamps, 0o666)  # commands of other users write there too
        self.is_public = os.geteuid() == 0 and all(map(is_public, (self.leaserun, self.worker)))
        self.clock_set = os.path.join(build, 'tests', 'faults', 'clock-set.so')
        self.clock_memory = make_clock_memory()
        self.may_have_networks = may_have_networks()
        self.events = Events(os.path.join(folder, 'events.jsonl'))
        self.resource = Resource(folder)
        self.live, self.keepers, self.lock = [], [], threading.Lock()
        self.stopped = set()  # pidfds of those that wait for their SIGCONT
        self.server = Server(folder)
        self.nodes = []
        run(self.leaserun, 'init', '--store', self.server.url())
        if has_standby:
            self.server.add_standby()
        self.nodes = [Node(self, number) for number in range(node_count)]
        self.events.tell('clock', wall_us=time.time_ns() // 1000)

    def perform(self, node, key, options, command):
        """One `leaserun run`, to its end; its status, negative for a signal."""
        arguments = ['run', '--log-format', 'json', '--log-level', 'debug', *options, key, '--',
                     self.worker, self.stamps, self.resource.path, *command]
        with self.lock:
            name, said = node.open_said()
            with said:
                live = Live(node.start(arguments, said), node, key)
            self.live.append(live)
            self.events.tell('begin', pid=live.pid, node=node.number, key=key, options=options,
                             said=name)
        return self.await_end(live, lambda: self.live.remove(live))

    def keep(self, keeper):
        """A node's replica, to its end."""
        node = keeper.node
        with self.lock:
            is_limited = bool(node.file_limit or node.process_limit)
            name, said = node.open_said()
            with said:
                keeper.live = SchedulerLive(node.start(keeper.arguments(), said, True), node)
            self.events.tell('begin', pid=keeper.live.pid, node=node.number, key=None, said=name,
                             is_limited=is_limited, waits=keeper.waits)
        self.await_end(keeper.live, lambda: setattr(keeper, 'live', None))

    def await_end(self, live, forget):
        os.waitid(os.P_PID, live.pid, os.WEXITED | os.WNOWAIT)  # its number stays its own
        with self.lock:
            forget()
        status = live.process.wait()
        self.events.tell('end', pid=live.pid, status=status)
        return status

    def is_there(self, live):
        return live in self.live or any(keeper.live is live for keeper in self.keepers)

    def strike(self, live, role, number):
        """A signal to a leaserun, its guard or the worker; a pidfd of it, or None."""
        with self.lock:
            pid = live.find(role) if self.is_there(live.leaserun) else None
            if pid is None:
                return None
            try:
                pidfd = os.pidfd_open(pid)
                if number == signal.SIGSTOP:
                    self.stopped.add(pidfd)
                self.events.tell('strike', pid=pid, role=role, leaserun=live.pid,
                                 run_id=live.run_id, signal=signal.Signals(number).name)
                signal.pidfd_send_signal(pidfd, number)
            except ProcessLookupError:
                return None
        return pidfd

    def revive(self, pidfd, live, role):
        with self.lock:
            self.stopped.discard(pidfd)
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(pidfd, signal.SIGCONT)
            self.events.tell('revive', role=role, leaserun=live.pid, run_id=live.run_id)
        os.close(pidfd)

    def heal(self):
        """What no fault has undone itself."""
        for node in self.nodes:
            node.tell_proxy('clear')
            node.set_clock(0)
            node.forget_limits()
            if node.has_names:
                node.set_names_late(0)

    def dump(self):
        for table in ('runs', 'leases'):
            with open(os.path.join(self.folder, table + '.jsonl'), 'w', encoding='utf-8') as file:
                file.write(self.server.sql(f'select row_to_json(t) from leaserun.{table} as t'))

    def close(self):
        for pidfd in self.stopped:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(pidfd, signal.SIGCONT)
        for keeper in self.keepers:
            keeper.is_over.set()
        for live in [*self.live, *(keeper.live for keeper in self.keepers if keeper.live)]:
            live.process.kill()
        for node in self.nodes:
            node.stop()
        self.server.stop()
        remove_clock_memory(self.clock_memory)


def is_public(path):
    """Whether every user may run it."""
    while path != '/':
        if not os.stat(path).st_mode & 0o001:
            return False
        path = os.path.dirname(path)
    return True


def may_have_networks():
    return shutil.which('iptables') is not None and subprocess.run(
        ['unshare', '--net', 'iptables', '-L'], capture_output=True, check=False).returncode == 0


def make_clock_memory():
    """Processes under libfaketime share a piece of memory, which one that is killed would leave."""
    if FAKETIME is None:
        return None
    return subprocess.run(
        ['bash', '-c', 'echo "$FAKETIME_SHARED"; kill -KILL $$'], capture_output=True, text=True,
        check=False, env={'LD_PRELOAD': FAKETIME, 'FAKETIME': '+0'}).stdout.strip() or None


def remove_clock_memory(names):
    if names is not None:
        semaphore, memory = (name.lstrip('/') for name in names.split())
        for path in (f'/dev/shm/sem.{semaphore}', f'/dev/shm/{memory}'):
            with contextlib.suppress(OSError):
                os.unlink(path)

"""What tests of real members share: a group of processes, clients that contend, and how tests are run.

   SCRIPT CONCLAVE CONTENDER […]
"""
import concurrent.futures
import fcntl
import json
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

CONCLAVE, CONTENDER = (sys.argv[1:3] + ["", ""])[:2]


# What is wrong with a test itself, and says nothing of whoever is tested.
MISTAKES = (NameError, AttributeError, TypeError, ImportError)


class Skipped(Exception):
    """This machine lacks what the test needs."""


PORTS = "/tmp/conclave-test-ports"  # as in process.hpp
_reserved = []  # files, locked as long as this process lives


def _reserve(port):
    """Whether no other test has it. Tests run side by side, and a port is free until its member listens."""
    place = os.open(f"{PORTS}/{port}", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(place)
        return False
    _reserved.append(place)
    return True


def _is_free(port):
    with socket.socket() as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            door.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_ports(count):
    """Below those that the system gives to who dials: a member that is down must find its port again."""
    os.makedirs(PORTS, exist_ok=True)
    ports = []
    while len(ports) < count:
        port = random.SystemRandom().randrange(10000, 32000)
        if _reserve(port) and _is_free(port):
            ports.append(port)
    return ports


def wait_until(condition, patience=20.0, what="something"):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError(f"{what} did not happen within {patience} s")


def new_key(folder):
    """A file with a secret that members share."""
    path = f"{folder}/key"
    with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
        file.write(secrets.token_hex(32))
    return path


class Group:
    """Members 1 to size. What is set between construction and `with` holds for the members it names."""

    def __init__(self, engine, size, *flags):
        self.engine, self.size, self.flags = engine, size, list(flags)
        self.folder = tempfile.mkdtemp(prefix="conclave-service-")
        self.everyone = range(1, size + 1)
        ports = free_ports(2 * size)
        self.peer_ports = dict(zip(self.everyone, ports[:size]))
        self.client_ports = dict(zip(self.everyone, ports[size:]))
        self.hosts = {i: "127.0.0.1" for i in self.everyone}
        self.own_flags = {i: [] for i in self.everyone}
        self.around = {i: [] for i in self.everyone}  # a command that runs the member, or its client
        self.client_flags = []  # of verbs that ask its members
        self.processes = {}

    @property
    def members(self):
        return ",".join(f"{i}={self.hosts[i]}:{self.peer_ports[i]}" for i in self.everyone)

    def __enter__(self):
        try:
            for i in self.everyone:
                self.start(i)
            self.wait_all_up()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, kind, *_):
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()
        if kind is None:
            shutil.rmtree(self.folder, ignore_errors=True)  # else it is there to be looked at

    def start(self, i):
        with open(f"{self.folder}/member{i}.log", "ab") as log:
            self.processes[i] = subprocess.Popen(
                [*self.around[i], CONCLAVE, "serve", "--engine", self.engine, "--id", str(i), "--members", self.members,
                 "--client", self.endpoint(i), "--down-after", "0.5", *self.flags, *self.own_flags[i]],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def kill(self, i):
        self.processes[i].kill()
        self.processes[i].wait()

    def log(self, i):
        with open(f"{self.folder}/member{i}.log", errors="replace") as file:
            return file.read()

    def endpoint(self, i):
        return f"{self.hosts[i]}:{self.client_ports[i]}"

    def status(self, i):
        run = subprocess.run([CONCLAVE, "status", "--endpoints", self.endpoint(i), "--json", *self.client_flags],
                             capture_output=True, timeout=20)
        answers = json.loads(run.stdout) if run.stdout else []
        return answers[0] if answers and "members" in answers[0] else None

    def wait_all_up(self):
        for i in self.processes:
            wait_until(lambda: self.up(i), 30, f"member {i} seeing everybody")

    def up(self, i, without=()):
        status = self.status(i)
        if not status:
            return False
        return all(member["up"] != (member["id"] in without) for member in status["members"])

    def epoch(self, i, name="door"):
        status = self.status(i) or {"names": []}
        return next((known["epoch"] for known in status["names"] if known["name"] == name), None)

    def contend(self, entries, at=None, ttl=10):
        return {i: subprocess.Popen([*self.around[i], CONTENDER, self.endpoint(i), "door", str(entries), self.folder,
                                     str(ttl)],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                for i in (at or self.processes)}

    def enough(self):
        """Contenders leave, however often they still wanted to enter."""
        open(f"{self.folder}/enough", "w").close()

    def once_more(self):
        os.unlink(f"{self.folder}/enough")

    def finish(self, contenders, patience=120, may_fail=()):
        """Waits for all; returns how often each entered."""
        entered = {}
        for i, contender in contenders.items():
            try:
                out, err = contender.communicate(timeout=patience)
            except subprocess.TimeoutExpired:
                contender.kill()
                contender.communicate()
                raise AssertionError(f"the contender at {i} is still waiting after {patience} s")
            assert contender.returncode != 3, f"two were inside: {err}"
            assert contender.returncode == 0 or i in may_fail, f"contender at {i}: {contender.returncode} {err}"
            entered[i] = int(out or 0)
        return entered

    def fences(self):
        try:
            with open(f"{self.folder}/fences") as file:
                return [int(line) for line in file]
        except FileNotFoundError:
            return []

    def wait_for_entries(self, count, patience=20):
        wait_until(lambda: len(self.fences()) >= count, patience, f"entry {count}")

    def check_fences(self, at_least):
        fences = self.fences()
        assert len(fences) >= at_least, f"only {len(fences)} entries"
        for earlier, later in zip(fences, fences[1:]):
            assert earlier < later, f"fence {later} after {earlier}"
        return len(fences)


class ProxiedGroup(Group):
    """Every link goes through a proxy, the third argument of the script; route 12 is that between members 1 and 2,
    which 1 dials."""

    def __init__(self, engine, size, *flags):
        super().__init__(engine, size, *flags)
        routes = []
        for i in self.everyone:
            via = []
            for j in range(i + 1, size + 1):
                port = free_ports(1)[0]
                routes.append(f"{i}{j}={port}:{self.peer_ports[j]}")
                via.append(f"{j}=127.0.0.1:{port}")
            if via:
                self.own_flags[i] = ["--via", ",".join(via)]
        self.proxy = subprocess.Popen([sys.argv[3], *routes], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __exit__(self, *why):
        self.proxy.kill()
        self.proxy.wait()
        super().__exit__(*why)

    def tell(self, command):
        self.proxy.stdin.write(command + "\n")
        self.proxy.stdin.flush()
        return int(self.proxy.stdout.readline())


def _run_one(name, test):
    began = time.monotonic()

    def line(verdict, text):
        print(f"{verdict:4} {name}: {text} ({time.monotonic() - began:.1f} s)", flush=True)

    try:
        line("ok", test())
        return True
    except Skipped as reason:
        line("skip", reason)
        return True
    except Exception as error:  # every other test still runs
        line("FAIL", f"{type(error).__name__}: {error}")
        return False


def run_tests(tests, wanted, at_once=1):
    """Runs those whose names contain a wanted word, or all. Returns the exit status."""
    chosen = {name: test for name, test in tests.items() if not wanted or any(word in name for word in wanted)}
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        passed = list(pool.map(lambda item: _run_one(*item), chosen.items()))
    return 0 if chosen and all(passed) else 1

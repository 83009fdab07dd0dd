#!/usr/bin/env python3
"""Members that begin again and again, each time at another hour: no acknowledged write may be lost, none refused for ever,
and leases end when they should.

   restarts.py CONCLAVE CLOCK_STEP [--restarts N] [--members N]… [--seed N] [--patience N] [--frozen] [--caught]

At each start the wall clock of a machine is drawn anew: right, off by seconds to years forth or back, or at the moment at
which it stood at the start before, with the same random numbers or others. A process ends by SIGKILL or SIGTERM, in the
middle of writes. --restarts: for each size of cluster. --members: 1 and 3 if nothing is said. --frozen: every start is at
the same moment. --caught: turned round, for members that are broken on purpose: status 0 means that something was found.

Exit status: 0 all held, 1 something did not, 3 void.
"""
import concurrent.futures
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
sys.path.insert(0, HERE)
import http2  # noqa: E402
from harness import CONCLAVE, MISTAKES, free_ports, wait_until  # noqa: E402
from http2 import Closed, Connection, fields, get, message, put  # noqa: E402

CLOCK_STEP = sys.argv[2] if len(sys.argv) > 2 else ""
BOOT = 1_600_000_000
MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400
# Of leases. What a leader measured since its last Tick goes with it; the first Tick after a renewal begins to count, and one
# in five hundred starts may have to wait for a disk.
TICKS_LOST = 0.6
LATE = 3.0
CALM_EVERY, CALM = 10, 2.0  # rounds, seconds: then there is time for leases to end
AT_ONCE = 6  # members
WORDS = 5  # writes on their way when a process ends, and asked as soon as one listens


class Void(Exception):
    """It did not come to pass."""


def flag(name, otherwise):
    return int(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else otherwise


PATIENCE = flag("--patience", 10)  # seconds until a member that was started takes a write, on a machine that is busy


def sizes():
    return [int(sys.argv[i + 1]) for i, word in enumerate(sys.argv) if word == "--members"] or [1, 3]


def drawn_clock(dice):
    """What a machine's wall clock shows from now on; clock_step.cpp says how that is written."""
    span = dice.choice([1, 10, MINUTE, HOUR, DAY, YEAR, 5 * YEAR])
    off = str(int(dice.choice([-1, 1]) * span * dice.uniform(1, 9)))
    return dice.choice(["0", off, off, off, f"@{BOOT}", f"@{BOOT} 7"])


class Machine:
    """One member, and the clock that it sees."""

    def __init__(self, folder, number, ports, peers):
        self.number, self.port, self.folder = number, ports[number], folder
        self.members = ",".join(f"{i}=127.0.0.1:{port}" for i, port in peers.items())
        self.clock, self.process, self.connection = f"{folder}/clock{number}", None, None
        self.seen = set()

    def set_clock(self, text):
        with open(self.clock + ".new", "w") as file:
            file.write(text + "\n")
        os.rename(self.clock + ".new", self.clock)

    def start(self):
        machine = {"LD_PRELOAD": CLOCK_STEP, "CLOCK_STEP": self.clock, "ASAN_OPTIONS": "verify_asan_link_order=0"}
        with open(f"{self.folder}/member{self.number}.log", "ab") as log:
            self.process = subprocess.Popen(
                [CONCLAVE, "serve", "--id", str(self.number), "--members", self.members, "--client",
                 f"127.0.0.1:{self.port}", "--data", f"{self.folder}/data{self.number}", "--down-after", "0.5"],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env={**os.environ, **machine})

    def connect(self, patience=PATIENCE):
        """As soon as somebody listens."""
        end = time.monotonic() + patience
        while True:
            try:
                self.connection = Connection(self.port, patience=5)
                return self.connection
            except OSError:
                status = self.process.poll()
                assert status is None, f"member {self.number} ended with {status} at its start: {self.last_words()}"
                assert time.monotonic() < end, f"member {self.number} does not listen after {patience} s"
                time.sleep(0.003)

    def end(self, how):
        self.process.send_signal(how)
        try:
            status = self.process.wait(20)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"member {self.number} does not end when it is told to") from None
        assert status in (0, -how), f"member {self.number} ended with {status}: {self.last_words()}"
        if self.connection:
            self.connection.close()
            self.connection = None

    def note_clock(self):
        """What the processes have seen of their clock, as clock_step.cpp wrote it down."""
        try:
            with open(self.clock + ".fired") as file:
                self.seen |= {line.split(" ", 1)[1].strip() for line in file if " " in line}
        except FileNotFoundError:
            pass

    def last_words(self):
        with open(f"{self.folder}/member{self.number}.log", errors="replace") as file:
            return "…" + " | ".join(file.read()[-500:].splitlines())


class Cluster:
    """Processes on machines whose clocks are drawn, the keys that were acknowledged, and the leases that nobody renews."""

    def __init__(self, size, dice):
        self.dice, self.folder = dice, tempfile.mkdtemp(prefix="conclave-restarts-")
        ports = free_ports(2 * size)
        numbers = range(1, size + 1)
        client_ports, peers = dict(zip(numbers, ports[:size])), dict(zip(numbers, ports[size:]))
        self.machines = [Machine(self.folder, i, client_ports, peers) for i in numbers]
        self.acknowledged, self.asked, self.unread = {}, 0, []
        self.leases, self.ended, self.counted = [], 0, 0.0
        self.slowest, self.stepped, self.restarts, self.rounds = 0.0, 0, 0, 0

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for machine in self.machines:
            if machine.process and machine.process.poll() is None:
                machine.process.kill()
                machine.process.wait()
        if kind is None or "--caught" in sys.argv:
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            print(f"what is left is in {self.folder}", flush=True)

    # ---- writes

    def ask(self, machine, count):
        """Writes that are on their way: calls with their keys and values."""
        waiting = []
        for _ in range(count):
            self.asked += 1
            key, value = f"key/{self.asked}", f"value {self.asked}"
            try:
                waiting.append((machine.connection.ask(http2.PUT, put(key, value)), key, value))
            except (Closed, OSError):
                break
        return waiting

    def hear(self, machine, waiting, patience):
        """Which of them were acknowledged is kept; how many."""
        heard = 0
        for number, key, value in waiting:
            try:
                status, _ = machine.connection.answer(number, patience)
            except (Closed, TimeoutError, OSError):
                continue
            if status == 0:
                heard += 1
                self.acknowledged[key] = value
                self.unread.append(key)
        return heard

    def write_until_taken(self, machine, began):
        """The first writes of a process, asked while it is no leader yet; until one is taken."""
        while not self.hear(machine, self.ask(machine, WORDS), PATIENCE):
            assert machine.process.poll() is None, \
                f"member {machine.number} ended with {machine.process.returncode}: {machine.last_words()}"
            assert time.monotonic() < began + PATIENCE, \
                f"member {machine.number} has taken no write for {PATIENCE} s: {machine.last_words()}"
            if machine.connection.closed:
                machine.connect()
            time.sleep(0.02)
        self.slowest = max(self.slowest, time.monotonic() - began)

    def look_at(self, machine, keys):
        """Whether they are there, by linearizable reads."""
        calls = [(machine.connection.ask(http2.RANGE, get(key)), key) for key in keys]
        for number, key in calls:
            status, answer = machine.connection.answer(number, PATIENCE)
            assert status == 0, f"a read at member {machine.number} has status {status}"
            found = [fields(kv)[5][0].decode() for kv in fields(answer).get(2, [])]
            assert found == [self.acknowledged[key]], f"{key} was acknowledged as {self.acknowledged[key]!r}, and is {found}"

    def check_new_keys(self, machine):
        self.look_at(machine, self.unread)
        self.unread = []

    def check_all(self, machine):
        answer = fields(machine.connection.must(http2.RANGE, get("key/", "key0"), 60))
        found = {fields(kv)[1][0].decode(): fields(kv)[5][0].decode() for kv in answer.get(2, [])}
        lost = [key for key, value in self.acknowledged.items() if found.get(key) != value]
        assert not lost, f"{len(lost)} of {len(self.acknowledged)} acknowledged writes are lost, {lost[:5]} of them"

    # ---- leases

    def grant(self, machine):
        """A lease that nobody renews, with a key."""
        ttl, before = self.dice.randint(1, 4), time.monotonic()
        status, answer = machine.connection.call(http2.GRANT, message((1, ttl)), PATIENCE)
        assert status == 0, f"a grant at member {machine.number} has status {status}"
        granted = fields(answer)
        key = f"leased/{granted[2][0]}"
        machine.connection.must(http2.PUT, put(key, "x", granted[2][0]), PATIENCE)
        self.leases.append({"key": key, "ttl": granted[3][0], "not_before": before + granted[3][0], "counted": self.counted})

    def look_at_leases(self, machine):
        for lease in list(self.leases):
            found = fields(machine.connection.must(http2.RANGE, get(lease["key"]), PATIENCE)).get(2)
            now, counted = time.monotonic(), self.counted - lease["counted"]
            if found:
                assert counted < lease["ttl"] + LATE, \
                    f"{lease['key']} of {lease['ttl']} s is there after {counted:.1f} s under leaders that could count them"
                continue
            assert now >= lease["not_before"], f"{lease['key']} is gone {lease['not_before'] - now:.1f} s before its time"
            self.leases.remove(lease)
            self.ended += 1

    def rest(self, machine, seconds):
        """Nothing happens for so long, so that leaders count. Clocks may leap meanwhile."""
        begin = time.monotonic()
        while time.monotonic() < begin + seconds:
            time.sleep(min(0.25, seconds))
            if self.dice.random() < 0.2:
                self.dice.choice(self.machines).set_clock(drawn_clock(self.dice))
                self.stepped += 1
            self.look_at_leases(machine)
        self.counted += max(0.0, time.monotonic() - begin - TICKS_LOST)

    # ---- restarts

    def restart(self, victims, frozen):
        """Ends them in the middle of writes, and begins anew at other times."""
        waiting = {machine: self.ask(machine, WORDS) for machine in victims if machine.connection}
        how = self.dice.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM])
        if self.dice.random() < 0.5:
            time.sleep(self.dice.uniform(0, 0.01))
        for machine in victims:
            machine.process.send_signal(how)
        for machine in victims:
            if machine in waiting:
                self.hear(machine, waiting[machine], 5.0)
            machine.end(how)
        for machine in victims:
            machine.set_clock(f"@{BOOT} 7" if frozen else drawn_clock(self.dice))
            machine.start()
        began = time.monotonic()
        for machine in victims:
            machine.connect()
        for machine in victims:
            self.write_until_taken(machine, began)
        self.restarts, self.rounds = self.restarts + len(victims), self.rounds + 1


def run(size, restarts, seed, frozen):
    dice = random.Random(f"restarts {size} {seed}")
    with Cluster(size, dice) as cluster:
        for machine in cluster.machines:
            machine.set_clock(f"@{BOOT} 7" if frozen else drawn_clock(dice))
            machine.start()
        for machine in cluster.machines:
            machine.connect()
            cluster.write_until_taken(machine, time.monotonic())
        while cluster.restarts < restarts:
            victims = dice.sample(cluster.machines, dice.choice([1, 1, 2, size])) if size > 1 else cluster.machines
            cluster.restart(victims, frozen)
            asked_at = dice.choice(victims)
            cluster.check_new_keys(asked_at)
            cluster.look_at_leases(asked_at)
            if len(cluster.leases) < 4:
                cluster.grant(asked_at)
            if cluster.rounds % CALM_EVERY == 0:
                cluster.rest(asked_at, CALM)
                cluster.check_all(asked_at)
        asked_at = cluster.machines[0]
        wait_until(lambda: cluster.rest(asked_at, 0.5) or not cluster.leases, 60, "the end of all leases")
        for machine in cluster.machines:
            cluster.check_all(machine)
            machine.note_clock()
    return cluster


def run_some(size, restarts, seed, frozen):
    """Several clusters at a time, since most of a start is waiting for a leader."""
    began, ways = time.monotonic(), AT_ONCE // size
    with concurrent.futures.ThreadPoolExecutor(ways) as pool:
        shares = [(size, -(-restarts // ways), f"{seed} {way}", frozen) for way in range(ways)]
        clusters = list(pool.map(lambda share: run(*share), shares))

    def total(what):
        return sum(what(cluster) for cluster in clusters)

    done, clocks = total(lambda one: one.restarts), total(lambda one: sum(len(machine.seen) for machine in one.machines))
    if clocks < min(restarts, 10) and not frozen:
        raise Void(f"only {clocks} clocks were seen")
    ended = total(lambda one: one.ended)
    if not ended:
        raise Void("no lease ended")
    return (f"{size} members: {done} restarts at {clocks} different clocks, {total(lambda one: one.stepped)} leaps while they "
            f"ran; {total(lambda one: len(one.acknowledged))} of {total(lambda one: one.asked)} writes acknowledged and none "
            f"lost, the slowest start took a write after {max(one.slowest for one in clusters):.2f} s, {ended} leases ended "
            f"in time ({done / (time.monotonic() - began):.1f} restarts a second)")


def main():
    seed = flag("--seed", random.SystemRandom().randrange(10**6))
    restarts, status = flag("--restarts", 30), 0
    for size in sizes():
        began = time.monotonic()
        try:
            word, text = "ok", run_some(size, restarts, seed, "--frozen" in sys.argv)
        except Void as why:
            word, text, status = "VOID", why, status or 3
        except MISTAKES:
            raise
        except Exception as error:  # the other size is still worth it
            word, status = "FAIL", 1
            text = f"{size} members: " + (str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}")
        print(f"{word:4} seed {seed}, {text} ({time.monotonic() - began:.1f} s)", flush=True)
    if "--caught" in sys.argv:
        print("found out" if status == 1 else "not found out")
        return {1: 0, 0: 1}.get(status, status)
    return status


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Clients that are hostile, huge, or merely patient, one kind at a time, beside an innocent one that puts every 10 ms.

   hostile.py CONCLAVE [--attack WORD]… [--but NAME]… [--short] [--seconds N] [--caught] [--list] [--port N]

Of every attack is asked: that the member goes on living and leading in the same term, that the innocent client is
answered, and in time, that memory stays below what there was and 512 MiB, that afterwards a newcomer is served; and
what the attack itself asks for. docs/chaos.md has them all. --short: for busy machines, less of everything, times are
judged generously, and what fails once is tried again. --seconds: how long floods last. --caught: turned round, for
servers that are broken on purpose: status 0 means that something was found. --port: the attacks and nothing else, at a
member that others look after.

Exit status: 0 all held, 1 one did not, 3 void: an attack did not come to pass.
"""
import json
import os
import random
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
sys.path.insert(0, HERE)
import http2  # noqa: E402
from harness import CONCLAVE, MISTAKES, free_ports, wait_until  # noqa: E402
from http2 import Closed, Connection, fields, frame, get, grpc, message, put, watch  # noqa: E402

SHORT = "--short" in sys.argv
MEMORY = 512 << 20  # beyond what there was before
P99, SLOWEST = 0.05, 0.5  # seconds, of the innocent client's puts
P50_IF_BUSY, SLOWEST_IF_BUSY = 0.2, 2.0
DESCRIPTORS = 12_000  # that this process needs


class Void(Exception):
    """The attack did not come to pass."""


def scaled(short, full):
    return short if SHORT else full


def flag(name, otherwise):
    return float(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else otherwise


SECONDS = flag("--seconds", scaled(1.5, 8.0))


# ---- the innocent

def innocent(port, key):
    """Puts every 10 ms, the next one at once if that took longer, until the input ends. What it saw, as JSON."""
    connection = Connection(port)
    taken, refused = [], []
    connection.call(http2.PUT, put(key, "first"), 12)
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], 0)[0]:
        began = time.monotonic()
        try:
            status, _ = connection.call(http2.PUT, put(key, str(len(taken))), 12)
            if status != 0:
                refused.append(f"status {status}")
        except (Closed, TimeoutError, OSError) as error:
            refused.append(str(error))
            try:
                connection = Connection(port)
            except OSError as again:
                refused.append(str(again))
        taken.append(time.monotonic() - began)
        time.sleep(max(0.0, 0.01 - taken[-1]))
    taken.sort()
    print(json.dumps({"puts": len(taken), "p50": taken[len(taken) // 2], "p99": taken[len(taken) * 99 // 100],
                      "max": taken[-1], "refused": refused[:5], "refusals": len(refused)}))


class Innocent:
    def __init__(self, port, key="innocent"):
        self.process = subprocess.Popen([sys.executable, "-B", __file__, "--innocent", str(port), key],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def end(self):
        try:
            out, _ = self.process.communicate("\n", timeout=40)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            return None
        return json.loads(out) if out else None


# ---- members

class Members:
    """One, or more, from empty directories or from a copy of one."""

    def __init__(self, size=1, store=None, soft_limit=None, hard_limit=None, flags=()):
        self.folder = tempfile.mkdtemp(prefix="conclave-hostile-")
        self.everyone = range(1, size + 1)
        ports = free_ports(2 * size)
        self.peers = dict(zip(self.everyone, ports[:size]))
        self.ports = dict(zip(self.everyone, ports[size:]))
        self.soft_limit, self.hard_limit = soft_limit or hard_limit, hard_limit
        self.flags = flags
        self.processes = {}
        with open(f"{self.folder}/key", "w", opener=lambda name, how: os.open(name, how, 0o600)) as file:
            file.write("a key that all members share\n")
        if store:
            shutil.copytree(store, f"{self.folder}/data1")
        for i in self.everyone:
            self.start(i)

    def start(self, i):
        def limit():
            _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (self.soft_limit, self.hard_limit or hard))

        # Every directory says where its member's peers are: a copy keeps that.
        members = ",".join(f"{j}=127.0.0.1:{self.peers[j]}" for j in self.everyone)
        with open(f"{self.folder}/member{i}.log", "ab") as log:
            self.processes[i] = subprocess.Popen(
                [CONCLAVE, "serve", "--id", str(i), "--members", members, "--client", f"127.0.0.1:{self.ports[i]}",
                 "--data", f"{self.folder}/data{i}", "--key-file", f"{self.folder}/key", *self.flags],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, preexec_fn=limit if self.soft_limit else None)

    def __enter__(self):
        try:
            wait_until(self.all_serve, 30, "an election")
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, kind, *_):
        for process in self.processes.values():
            process.kill()
            process.wait()
        if kind is None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def dead(self):
        return {i: process.returncode for i, process in self.processes.items() if process.poll() is not None}

    def all_serve(self):
        assert not self.dead(), f"ended at the start: {self.last_words()}"
        return all(self.serves(i) for i in self.everyone)

    def serves(self, i, source=None):
        try:
            connection = Connection(self.ports[i], source=source, patience=5)
            try:
                return (connection.call(http2.PUT, put("newcomer", "1"), 3)[0] == 0
                        and connection.call(http2.RANGE, get("newcomer"), 3)[0] == 0)
            finally:
                connection.close()
        except (Closed, TimeoutError, OSError):
            return False

    def status(self, i=1):
        connection = Connection(self.ports[i])
        answer = fields(connection.must("/etcdserverpb.Maintenance/Status", b""))
        connection.close()
        return {"leader": answer[4][0], "term": answer[6][0]}

    def memory(self, i=1, peak=False):
        with open(f"/proc/{self.processes[i].pid}/status") as file:
            wanted = "VmHWM" if peak else "VmRSS"
            return next((int(line.split()[1]) << 10 for line in file if line.startswith(wanted)), 0)  # 0: it is ending

    def forget_peak(self):
        for process in self.processes.values():
            with open(f"/proc/{process.pid}/clear_refs", "w") as file:
                file.write("5")

    def last_words(self):
        words = []
        for i in self.everyone:
            with open(f"{self.folder}/member{i}.log", errors="replace") as file:
                words.append(f"member {i}: …{file.read()[-400:].strip()}")
        return "\n".join(words)


# ---- stores that attacks begin with, made once and copied

def many_keys(connection, count=14_000):
    waiting = []
    for i in range(count):
        waiting.append(connection.ask(http2.PUT, put(f"many/{i}", "x")))
        if len(waiting) == 1000 or i == count - 1:
            for number in waiting:
                assert connection.answer(number)[0] == 0
            waiting = []


def large_values(connection, count=100, size=1 << 20):
    for i in range(count):
        connection.must(http2.PUT, put(f"large/{i:03}", random.Random(i).randbytes(size)))


STORES = {"many keys": many_keys, "large values": large_values,
          "fat values": lambda connection: large_values(connection, 13, 1_400_000)}
_made = {}


def store(kind):
    if kind and kind not in _made:
        place = tempfile.mkdtemp(prefix="conclave-hostile-store-")
        with Members() as members:
            STORES[kind](Connection(members.ports[1]))
            members.processes[1].send_signal(signal.SIGTERM)
            members.processes[1].wait(30)
            shutil.move(f"{members.folder}/data1", f"{place}/data")
        _made[kind] = f"{place}/data"
    return _made.get(kind)


def large(count):
    """A range over so many of the large values, a MiB each."""
    return get("large/000", f"large/{count:03}")


# ---- attacks. Each says what it did; what it finds wrong by itself it raises

class Scene:
    """What an attack is given."""

    def __init__(self, members):
        self.members, self.port, self.connections = members, members.ports[1], []

    def connect(self, port=None, **how):
        self.connections.append(Connection(port or self.port, **how))
        return self.connections[-1]

    def silent(self, count, port=None, source=None, say=b""):
        """Sockets that only are there."""
        opened = []
        for _ in range(count):
            one = socket.socket()
            try:
                if source:
                    one.bind((source, 0))
                one.settimeout(5)
                one.connect(("127.0.0.1", port or self.port))
                if say:
                    one.sendall(say)
                opened.append(one)
            except OSError:
                one.close()
        self.connections += opened
        if len(opened) < count * 0.9:
            raise Void(f"only {len(opened)} of {count} connections")
        return opened

    def leave(self):
        for connection in self.connections:
            connection.close()
        self.connections = []


ATTACKS = {}


def attack(name, start=None, size=1, key="innocent", soft_limit=None, memory=MEMORY, hard_limit=None, flags=()):
    def add(function):
        ATTACKS[name] = (function, {"store": start, "size": size, "key": key, "soft_limit": soft_limit, "memory": memory,
                                    "hard_limit": hard_limit, "flags": flags})
        return function
    return add


def flood(connection, chunk, seconds):
    """So long as the peer takes it. How many times."""
    end, times = time.monotonic() + seconds, 0
    connection.socket.settimeout(0.2)
    rest = memoryview(b"")
    while time.monotonic() < end:
        rest = rest or memoryview(chunk)
        try:
            rest = rest[connection.socket.send(rest):]
            times += not rest
        except TimeoutError:
            pass
        except OSError:
            break
    return times


def many_watchers(scene, creates, key="k", since=0):
    """On one stream; how many the member made, whether it refused the others or not."""
    connection = scene.connect()
    stream = connection.open(http2.WATCH)
    one = grpc(watch(key, since=since))
    try:
        for first in range(0, creates, 2000):
            connection.send(stream, one * min(2000, creates - first))
        connection.wait(lambda: len(connection.streams[stream].messages) >= creates, 4 + creates / 10_000)
    except (Closed, TimeoutError):
        pass
    answers = [fields(each) for each in connection.streams[stream].messages]
    connection.streams[stream].messages.clear()
    return connection, sum(3 in each and 4 not in each for each in answers)


def stuck(scene, creates):
    connection, made = many_watchers(scene, creates)
    if not connection.closed:
        connection.write(http2.settings((4, 0)))
    time.sleep(SECONDS)
    return f"{made} of {creates} watchers made"


@attack("stuck watchers", key="k")
def stuck_watchers(scene):
    return stuck(scene, 100_000)


@attack("a million stuck watchers", key="k")
def million_watchers(scene):
    return stuck(scene, scaled(300_000, 990_000))


@attack("old watchers", "many keys")
def old_watchers(scene):
    _, made = many_watchers(scene, 20_000, "nothing", since=1)
    time.sleep(SECONDS)
    return f"{made} of 20000 watchers made"


@attack("wide compares", "many keys")
def wide_compares(scene):
    compare = message((1, 3), (2, 0), (3, "many/"), (4, 77), (64, "many0"))  # a version that is not 77
    body = message(*[(1, compare)] * 128, (2, message((1, get("innocent")))))
    connection = scene.connect()
    asked = [connection.ask(http2.TXN, body) for _ in range(20)]
    statuses = [connection.answer(number, 60)[0] for number in asked]
    return f"answered with {sorted(set(statuses), key=str)}"


@attack("wide ranges not taken", "large values")
def wide_ranges(scene):
    connection = scene.connect(window=0)
    for _ in range(100):
        connection.ask(http2.RANGE, large(40))
    time.sleep(SECONDS)
    return "100 ranges of 40 MiB on one connection"


@attack("wide ranges not taken by many", "large values")
def ranges_of_many(scene):
    for _ in range(scaled(30, 60)):
        scene.connect(window=0).ask(http2.RANGE, large(40))
    time.sleep(SECONDS)
    return f"{len(scene.connections)} connections with a range of 40 MiB each"


@attack("one transaction of many ranges", "fat values")
def txn_of_ranges(scene):
    connection = scene.connect(keep=False)
    number = connection.ask(http2.TXN, message(*[(2, message((1, get("large/", "large0"))))] * 127))
    connection.wait(lambda: connection.streams[number].ended, 60)
    stream = connection.streams[number]
    if stream.status == 0:
        assert stream.bytes > 2 << 30, f"fine after {stream.bytes} bytes"
    return f"status {stream.status}, {stream.bytes >> 20} MiB"


def metric(port, name):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=40) as page:
        return next(int(line.split()[1]) for line in page.read().decode().splitlines() if line.startswith(f"conclave_{name} "))


class Watched:
    """The most that a gauge showed meanwhile."""

    def __init__(self, port, name):
        self.most, self.over = 0, threading.Event()
        self.thread = threading.Thread(target=self.run, args=(port, name))

    def run(self, port, name):
        while not self.over.wait(0.01):
            self.most = max(self.most, metric(port, name))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def left_behind(scene, under_way, what):
    """Nobody else waited for more than some hundred commands at once, and in the end nothing is left."""
    wait_until(lambda: metric(scene.port, "leases") == 0, 30, "the end of what the clients left behind")
    assert under_way.most < 2000, f"{under_way.most} commands were under way at once"
    return f"{what}, at most {under_way.most} commands under way"


@attack("waiters that leave")
def waiters(scene):
    with Watched(scene.port, "open_proposals") as under_way:
        count = crowd(scene)
        time.sleep(SECONDS)
        scene.leave()
        time.sleep(SECONDS)
    return left_behind(scene, under_way, f"{count} waiters")


def crowd(scene):
    each = scaled(2500, 3850)
    for _ in range(13):
        connection = scene.connect()
        for first in range(1, 2 * each, 2):
            connection.streams[first] = http2.Stream(0)
        chunk = [frame(http2.HEADERS, http2.END_HEADERS, 1, http2.header_block(http2.LOCK, indexed=True)),
                 *[frame(http2.HEADERS, http2.END_HEADERS, number, http2.same_again) for number in range(3, 2 * each, 2)]]
        body = grpc(message((1, "hostile")))
        for at, head in enumerate(chunk):
            connection.write(head + frame(http2.DATA, http2.END_STREAM, 2 * at + 1, body))
            if at % 64 == 0:
                connection.pump()
    return 13 * each


def streams(scene, path, body, connections, each):
    """Of one kind, which are left open; the last connection."""
    for _ in range(connections):
        connection = scene.connect()
        for first in range(1, 2 * each, 2):
            connection.streams[first] = http2.Stream(0)
        for number in range(1, 2 * each, 2):
            head = http2.header_block(path, indexed=True) if number == 1 else None
            connection.write((frame(http2.HEADERS, http2.END_HEADERS, 1, head) if head
                              else frame(http2.HEADERS, http2.END_HEADERS, number, http2.same_again))
                             + frame(http2.DATA, 0, number, grpc(body)))
            if number % 128 == 1:
                connection.pump()
    return connections * each


@attack("observers that leave")
def observers(scene):
    count = streams(scene, "/v3electionpb.Election/Observe", message((1, "hostile")), 8, scaled(2000, 5000))
    wait_until(lambda: metric(scene.port, "observers") >= count * 0.9, 30, "the observers")
    scene.leave()
    wait_until(lambda: metric(scene.port, "observers") == 0, 30, "the end of the observers")
    return f"{count} observers"


@attack("keep-alive streams that leave")
def keep_alives(scene):
    """Of leases that are not there, which takes nothing of the log."""
    before = metric(scene.port, "renewal_entries_total")
    count = streams(scene, "/etcdserverpb.Lease/LeaseKeepAlive", message((1, 77)), 4, scaled(2000, 4000))
    wait_until(lambda: metric(scene.port, "renewals_total") >= count * 0.9, 30, "the renewals")
    scene.leave()
    entries = metric(scene.port, "renewal_entries_total") - before
    assert entries == 0, f"{entries} entries of the log for leases that are not there"
    return f"{count} streams"


@attack("deep JSON")
def deep_json(scene):
    body, answers = b"[" * 1_900_000, []
    for _ in range(scaled(5, 15)):
        one = scene.silent(1, say=b"POST /v3/kv/put HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
                           b"Content-Length: %d\r\n\r\n" % (scene.port, len(body)))[0]
        one.settimeout(20)
        try:
            one.sendall(body)
            answers.append(one.recv(100).split(b"\r\n")[0].decode())
        except OSError as error:
            answers.append(str(error))
    assert not any(" 200" in answer for answer in answers), answers
    return f"{sorted(set(answers))}"


@attack("half-sent messages")
def half_sent(scene):
    half, sent = b"\0" + (2_000_000).to_bytes(4, "big") + bytes(1_900_000), 0
    # All write until they may not any more: one of them reads only what gives it more room.
    for _ in range(scaled(40, 60)):
        connection = scene.connect()
        for _ in range(8):
            try:
                connection.send(connection.open(http2.PUT), half, patience=0.3)
                sent += len(half)
            except TimeoutError:
                break
            except Closed:
                break
    time.sleep(SECONDS)
    return f"{sent >> 20} MiB taken"


@attack("snapshots not taken", "large values")
def snapshots(scene):
    good = scene.connect()
    for i in range(scaled(20, 40)):
        connection = scene.connect(window=0)
        connection.ask(http2.SNAPSHOT, b"")
        good.must(http2.PUT, put(f"between/{i}", "x"))
    time.sleep(SECONDS)
    return f"{len(scene.connections) - 1} snapshots of 100 MiB"


@attack("refused streams, nothing read", memory=64 << 20)
def refused_streams(scene):
    connection = scene.connect(window=0)
    connection.write(frame(http2.HEADERS, http2.END_HEADERS, 1, http2.header_block(http2.WATCH, indexed=True)))
    number, sent, end = 3, 0, time.monotonic() + scaled(5.0, 12.0)
    connection.socket.settimeout(0.2)
    while time.monotonic() < end and sent < 400:
        chunk = b"".join(frame(http2.HEADERS, http2.END_HEADERS, each, http2.same_again)
                         for each in range(number, number + 20_000, 2))
        number += 20_000
        if not flood_once(connection, chunk, end):
            break
        sent += 1
    return f"{(number - 1) // 2} streams opened"


def flood_once(connection, chunk, end):
    rest = memoryview(chunk)
    while rest and time.monotonic() < end:
        try:
            rest = rest[connection.socket.send(rest):]
        except TimeoutError:
            pass
        except OSError:
            return False
    return True


def write_much(connection):
    """Until the log has changed its file, some MiB later."""
    for i in range(scaled(300, 1500)):
        connection.must(http2.PUT, put(f"much/{i % 50}", bytes(60_000)))


def held(connections):
    """How many of these the member has not ended."""
    count = 0
    for one in connections:
        one.setblocking(False)
        try:
            count += one.recv(1, socket.MSG_PEEK) != b""
        except BlockingIOError:
            count += 1
        except OSError:
            pass
    return count


@attack("more connections than descriptors", soft_limit=1024)
def idle_connections(scene):
    writer = scene.connect()
    silent = scene.silent(1100)
    write_much(writer)
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] >= 2048:  # the soft limit is not all that there is
        assert held(silent) == 1100, f"{1100 - held(silent)} of 1100 idle connections were ended"
    return "1100 silent connections, a soft limit of 1024"


@attack("more connections than descriptors, at three", size=3, soft_limit=1024)
def idle_at_three(scene):
    writer = scene.connect()
    for port in scene.members.ports.values():
        scene.silent(1100, port)
    write_much(writer)
    return "1100 silent connections to each"


@attack("few descriptors at all", size=3, hard_limit=256)
def few_descriptors(scene):
    members, writer = scene.members, scene.connect()
    follower = 2 if members.status()["leader"] != 2 else 3
    for port in members.ports.values():
        scene.silent(400, port)
    write_much(writer)
    members.processes[follower].kill()  # its peers find a descriptor for it when it is back
    members.processes[follower].wait()
    members.start(follower)
    wait_until(lambda: members.serves(follower, source="127.0.0.2"), 20, "a member that is back being served")
    return "400 connections to each, 256 descriptors"


@attack("all connections of one address")
def one_address(scene):
    try:
        scene.silent(10_000)
    except Void:  # refused by the member: that is its right
        pass
    taken = len(scene.connections)
    assert scene.members.serves(1, source="127.0.0.2"), "a newcomer from another address is locked out"
    return f"{taken} connections from 127.0.0.1"


def half_messages(connection):
    half = b"\0" + (2_000_000).to_bytes(4, "big") + bytes(1_900_000)
    for _ in range(2):
        connection.send(connection.open(http2.PUT), half, patience=0.2)


def heads(connection):
    """Streams whose heads are some bytes on the wire, and thousands each when they are there."""
    block = http2.header_block(http2.WATCH)
    entry = b"\x40\x01x\x7f\xa1\x1e" + bytes(b"v" * 4000)  # its place in the table is 62
    connection.write(frame(http2.HEADERS, http2.END_HEADERS, 1, block + entry))
    connection.write(b"".join(frame(http2.HEADERS, http2.END_HEADERS, number, block + b"\xbe" * 3)
                              for number in range(3, 803, 2)))


def ranges_not_taken(connection):
    connection.write(http2.settings((4, 0)))
    for _ in range(10):
        connection.ask(http2.RANGE, large(40))


def snapshots_not_taken(connection):
    connection.write(http2.settings((4, 0)))
    connection.ask(http2.SNAPSHOT, b"")


def watches_not_taken(connection):
    stream = connection.open(http2.WATCH)
    connection.send(stream, grpc(watch("", "\0")) * 100)
    connection.write(http2.settings((4, 0)))


@attack("ten thousand idle and a thousand hostile", "large values")
def idle_and_hostile(scene):
    hello = http2.PREFACE + http2.settings() + frame(http2.SETTINGS, http2.ACK, 0)
    idle = scene.silent(scaled(2_000, 10_000), source="127.0.0.2", say=hello)
    kinds = [half_messages, half_messages, heads, ranges_not_taken, snapshots_not_taken, watches_not_taken]
    done = refused = 0
    for i in range(scaled(200, 1_000)):
        try:
            kinds[i % len(kinds)](scene.connect(source=f"127.0.1.{1 + i % 8}"))
            done += 1
        except (Closed, TimeoutError, OSError):
            refused += 1
    time.sleep(SECONDS)
    return f"{len(idle)} idle, {held(idle)} of them to the end; {done} hostile, and {refused} that were ended before"


@attack("unknown frames")
def unknown_frames(scene):
    times = flood(scene.connect(), frame(0x42, 0, 0) * 10_000, SECONDS)
    assert times < 200, f"{times * 10_000} frames were taken"
    return f"{times * 10_000} frames"


@attack("rapid reset")
def rapid_reset(scene):
    end, streams, connections = time.monotonic() + SECONDS, 0, 0
    head = http2.header_block(http2.RANGE)
    chunk = b"".join(frame(http2.HEADERS, http2.END_HEADERS, number, head) + frame(http2.RST_STREAM, 0, number, bytes(4))
                     for number in range(1, 4000, 2))
    while time.monotonic() < end:
        try:
            connection = scene.connect()
            connections += 1
            flood_once(connection, chunk, end)
            streams += 2000
            scene.connections.pop().close()
        except (OSError, Closed):
            continue
    return f"some {streams} resets over {connections} connections"


@attack("thousands of watch streams")
def watch_streams(scene):
    connection = scene.connect()
    connection.pump(2)
    opened = []
    for i in range(5000):
        if len(opened) >= connection.most_streams:
            break  # a good client waits until one of its streams ends
        opened.append(connection.open(http2.WATCH, watch(f"stream/{i}")))
        if i % 64 == 0:
            connection.pump()
    ended = sum(connection.streams[number].ended for number in opened)
    assert len(opened) - ended < connection.most_streams, \
        f"{len(opened)} watch streams are all that one connection may have open: its other calls wait for ever"
    status, _ = connection.call(http2.PUT, put("beside", "1"))
    assert status == 0, f"a put beside {len(opened)} streams has status {status}"
    return f"{len(opened)} streams, {ended} of them refused"


@attack("a watch beside wide ranges", "large values")
def watch_beside_ranges(scene):
    both, other = scene.connect(), scene.connect()
    lease = fields(other.must(http2.GRANT, message((1, 600))))[2][0]
    leader = fields(other.must(http2.CAMPAIGN, message((1, "head"), (2, lease), (3, "0"))))[2][0]
    watching = both.open(http2.WATCH, watch("event/", "event0"))
    observing = both.ask(http2.OBSERVE, message((1, "head")))
    both.wait(lambda: both.streams[watching].messages and both.streams[observing].messages)
    told = []
    for wanted in ([10], [16], [40], [80], [1] * 64):  # of one range little waits at a time, of many much
        asked = [both.ask(http2.RANGE, large(megabytes)) for megabytes in wanted]
        for _ in range(scaled(50, 200)):  # while much waits on the other connection, which is read now and then
            told.append(str(len(told)))
            other.must(http2.PUT, put("event/x", told[-1]))
            other.must(http2.PROCLAIM, message((1, leader), (2, told[-1])))
        statuses = {both.answer(number, 30)[0] for number in asked}
        assert statuses == {0}, f"ranges of {wanted[0]} MiB have status {statuses}"

    def events():
        found = [fields(fields(event)[2][0]) for each in both.streams[watching].messages
                 for event in fields(each).get(11, [])]
        return [kv[5][0].decode() for kv in found]

    def observed():
        return fields(fields(both.streams[observing].messages[-1])[2][0])[5][0].decode()

    try:
        both.wait(lambda: len(events()) >= len(told) and observed() == told[-1], 10)
    except TimeoutError:
        pass
    assert events() == told, f"a watcher was told of {len(events())} of {len(told)} changes"
    assert observed() == told[-1], f"an observer was told of {observed()}, and {told[-1]} is the last"
    return f"{len(told)} changes, none missing"


@attack("values that are replaced", flags=("--quota-backend-bytes", "32M"))
def replaced_values(scene):
    """Nobody compacts, and far more is written than there is room for."""
    connection, value = scene.connect(), random.Random(1).randbytes(100_000)
    for count in range(1200):
        status, _ = connection.call(http2.PUT, put(f"replaced/{count % 4}", value), 12)
        assert status == 0, f"a put was refused with {status} after {count * len(value) >> 20} MiB"
    most = metric(scene.port, "store_bytes")
    assert most < 33 << 20, f"the store has {most >> 20} MiB"
    return f"{count * len(value) >> 20} MiB written, {most >> 20} kept"


@attack("a watch that is read in spurts", flags=("--auto-compaction-retention", "1s"))
def watch_in_spurts(scene):
    """Between two of them more is written than history is kept of."""
    reader, writer = scene.connect(window=65536), scene.connect()
    watching = reader.open(http2.WATCH, watch("spurt/", "spurt0"))
    reader.wait(lambda: reader.streams[watching].messages)
    value, written, end = "x" * 10_000, 0, time.monotonic() + 16
    while time.monotonic() < end:
        pause = time.monotonic() + 2.5
        while time.monotonic() < pause:
            writer.must(http2.PUT, put("spurt/key", value))
            written += 1
            time.sleep(0.005)
        while reader.pump(0.2):
            pass
    answers = reader.streams[watching].messages
    try:
        reader.wait(lambda: 4 in fields(answers[-1]) or sum(len(fields(each).get(11, [])) for each in answers) >= written, 20)
    except TimeoutError:
        pass
    assert not [each for each in answers if 4 in fields(each)], "a watcher that reads was overtaken by a compaction"
    told = [fields(fields(event)[2][0])[4][0] for each in answers for event in fields(each).get(11, [])]
    assert told == list(range(1, written + 1)), f"a watcher was told of {len(told)} of {written} changes"
    compacted = metric(scene.port, "compacted_revision")
    if compacted < written // 4:
        raise Void(f"compacted up to {compacted} only, of {written}")
    return f"{written} changes, none missing; compacted up to {compacted}"


@attack("four wide ranges at once", "large values")
def four_ranges(scene):
    connection = scene.connect(keep=False)
    asked = [connection.ask(http2.RANGE, large(80)) for _ in range(4)]
    for number in asked:
        connection.wait(lambda n=number: connection.streams[n].ended, 40)
    ends = [(connection.streams[n].status, connection.streams[n].bytes >> 20) for n in asked]
    assert all(end == (0, 80) for end in ends), f"status and MiB: {ends}"
    return "4 × 80 MiB"


@attack("small calls beside a wide range", "large values")
def small_calls(scene):
    connection = scene.connect(window=0)
    for megabytes in [1] * 64 + [100]:
        connection.ask(http2.RANGE, large(megabytes))
    time.sleep(0.5)
    asked = [connection.ask(http2.PUT, put("counted", str(i))) for i in range(200)]
    time.sleep(0.5)
    connection.write(http2.settings((4, 1 << 20)))  # until now nothing was taken
    statuses = [connection.answer(number, 40)[0] for number in asked]
    other = scene.connect()
    found = fields(other.must(http2.RANGE, get("counted"))).get(2, [])
    version = fields(found[0])[4][0] if found else 0
    answered = statuses.count(0)
    assert version == answered, f"{answered} puts were answered, {200 - answered} refused; version {version}"
    assert answered == 200, f"{200 - answered} of 200 puts were refused: {sorted(set(statuses), key=str)}"
    return "200 puts, all answered"


def pinging(scene, pings, pause):
    """Whoever has nothing to say and wants to know whether somebody is there."""
    idle, holding = scene.connect(), scene.connect()
    key = fields(holding.must(http2.LOCK, message((1, "held"))))[2][0]
    waiting = idle.ask(http2.LOCK, message((1, "held")))
    watching = idle.open(http2.WATCH, watch("idle"))
    idle.wait(lambda: idle.streams[watching].messages)
    for i in range(pings):
        for connection in (idle, holding):
            connection.write(frame(http2.PING, 0, 0, bytes(8)))
            connection.pump(pause / 2)
            assert not connection.closed and connection.goaway is None, \
                f"ended after {i} pings, one each {pause} s: GOAWAY {connection.goaway}"
        time.sleep(pause)
    other = scene.connect()
    assert fields(other.must(http2.RANGE, get(key))).get(2), "a lock without a lease was lost"
    other.must(http2.PUT, put("idle", "1"))
    idle.wait(lambda: len(idle.streams[watching].messages) > 1, 10, "an event for an idle watcher")
    other.must(http2.UNLOCK, message((1, key)))
    assert idle.answer(waiting)[0] == 0, "a waiter lost its place"
    return f"{pings} pings, one each {pause} s"


@attack("pings of an idle client")
def idle_pings(scene):
    # Clients that etcd takes ping each 5 s at most. Those need hours for what can be seen in minutes.
    return pinging(scene, 230, 0.02) if SHORT else pinging(scene, 300, 0.5)


@attack("hours of idleness")
def hours_idle(scene):
    # Nearly as fast as it is allowed for ever: 2,000 are what a client sends in five hours and a half, one each 10 s.
    return pinging(scene, scaled(400, 2000), 0.06)


@attack("slow requests")
def slow_requests(scene):
    heads = scene.silent(scaled(300, 1500), say=b"POST /v3/kv/put HTTP/1.1\r\n")
    prefaces = scene.silent(scaled(300, 1500), say=http2.PREFACE[:10])
    end, at = time.monotonic() + max(SECONDS, 2), 0
    while time.monotonic() < end:
        for one in heads:
            try:
                one.send(b"x")
            except OSError:
                pass
        at += 1
        time.sleep(0.5)
    return f"{len(heads)} heads a byte at a time, {len(prefaces)} halves of a preface"


@attack("long first words")
def first_words(scene):
    """As much as is read at once, and nothing more for as long as pings are answered."""
    words = http2.PREFACE + http2.settings() + frame(0x42, 0, 0, bytes(16_000)) * 3
    spoken = scene.silent(scaled(2_000, 10_000), source="127.0.0.2", say=words)
    time.sleep(SECONDS)
    return f"{len(spoken)} connections, {len(words)} bytes each"


@attack("a huge client")
def huge_client(scene):
    """Well-behaved, and merely large: values of a MiB, and ranges over all of them, taken slowly."""
    good, slow = scene.connect(), scene.connect(window=1 << 14, keep=False)
    for i in range(scaled(8, 40)):
        good.must(http2.PUT, put(f"huge/{i:03}", bytes(1 << 20)))
    asked = [slow.ask(http2.RANGE, get("huge/", "huge0")) for _ in range(4)]
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        slow.pump(0.05)
        time.sleep(0.05)
    taken = sum(slow.streams[number].bytes for number in asked)
    good.must(http2.DELETE, get("huge/", "huge0"))
    return f"{scaled(8, 40)} MiB put, {taken >> 10} KiB of four ranges over them taken"


# ---- judging

class OthersMembers:
    """Members that somebody else has started and looks after."""

    def __init__(self, port):
        self.ports, self.everyone = {1: port}, [1]


def attack_only(name, port):
    """What of it was done, before the member had enough of it, or was not there any more."""
    scene = Scene(OthersMembers(port))
    try:
        return ATTACKS[name][0](scene)
    except (AssertionError, Closed, TimeoutError, OSError) as error:
        if not scene.connections:
            raise Void(f"never connected: {error}") from error
        return f"ended by {type(error).__name__}: {error}"
    finally:
        scene.leave()


def judge(name):
    """Raises what was not as it should be; returns what happened."""
    function, how = ATTACKS[name]
    with Members(how["size"], store(how["store"]), how["soft_limit"], how["hard_limit"], how["flags"]) as members:
        scene = Scene(members)
        before, memory = members.status(), {i: members.memory(i) for i in members.everyone}
        members.forget_peak()
        victim = Innocent(members.ports[1], how["key"])
        wrong, did, seen = [], "", None
        try:
            time.sleep(0.3)
            did = function(scene)
        except (AssertionError, TimeoutError, Closed, OSError) as error:
            wrong.append(f"{type(error).__name__}: {error}" if not isinstance(error, AssertionError) else str(error))
        finally:
            scene.leave()
            time.sleep(0.3)
            seen = victim.end()
        wrong += verdict(members, before, memory, how["memory"], seen)
        figures = f"p50 {seen['p50'] * 1e3:.1f}, p99 {seen['p99'] * 1e3:.1f}, max {seen['max'] * 1e3:.0f} ms of {seen['puts']}" \
            if seen else "no figures"
        if not members.dead():
            grown = max(members.memory(i, peak=True) - memory[i] for i in members.everyone)
            figures += f", +{grown >> 20} MiB"
        assert not wrong, f"{'; '.join(wrong)} [{figures}]"
        return f"{did} [{figures}]"


def judged(name):
    """A machine that is busy may hold a member up for long enough that it elects itself anew: what counts is what comes
    again."""
    try:
        return judge(name)
    except AssertionError as error:
        if not SHORT or "--caught" in sys.argv:
            raise
        return f"{judge(name)}, at the second try; at the first: {error}"


def verdict(members, before, memory, most, seen):
    wrong = []
    for i in members.everyone:
        grown = members.memory(i, peak=True) - memory[i]
        if grown > most:
            wrong.append(f"memory of {i}: {grown >> 20} MiB more")
    try:
        wait_until(members.all_serve, 10, "a newcomer being served afterwards")
        after = members.status()
        if after != before:
            wrong.append(f"was {before}, is {after}")
    except (AssertionError, Closed, TimeoutError, OSError) as error:
        wrong.append(str(error))
    if members.dead():
        return [f"ended: {members.dead()}; {members.last_words()}"]
    if seen is None:
        return wrong + ["the innocent client never came back"]
    if seen["refusals"]:
        wrong.append(f"{seen['refusals']} puts of the innocent failed: {seen['refused']}")
    if seen["max"] > (SLOWEST_IF_BUSY if SHORT else SLOWEST):
        wrong.append(f"a put of the innocent took {seen['max']:.2f} s")
    if SHORT and seen["p50"] > P50_IF_BUSY:
        wrong.append(f"the median of the innocent is {seen['p50'] * 1e3:.0f} ms")
    if not SHORT and seen["p99"] > P99:
        wrong.append(f"p99 of the innocent is {seen['p99'] * 1e3:.0f} ms")
    return wrong


def wanted():
    words, but = said("--attack"), said("--but")
    unknown = [word for word in words + but if not any(word in name for name in ATTACKS)]
    assert not unknown, f"there is no attack {unknown}"
    return [name for name in ATTACKS if name not in but and (
        not words or name in words or any(word in name and word not in ATTACKS for word in words))]


def said(name):
    """Every `NAME WORD` and `NAME=WORD`."""
    return [sys.argv[i + 1] for i, word in enumerate(sys.argv) if word == name] + \
        [word.removeprefix(f"{name}=") for word in sys.argv if word.startswith(f"{name}=")]


def main():
    if "--list" in sys.argv:
        print("\n".join(wanted()))
        return 0
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    bad = void = 0
    try:
        for name in wanted():
            began = time.monotonic()
            try:
                word, text = "ok", attack_only(name, int(flag("--port", 0))) if "--port" in sys.argv else judged(name)
            except Void as why:
                word, text = "VOID", why
                void += 1
            except MISTAKES:
                raise
            except Exception as error:  # the others are still worth it
                word, text = "FAIL", error if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
                bad += 1
            print(f"{word:4} {name}: {text} ({time.monotonic() - began:.1f} s)", flush=True)
    finally:
        for place in _made.values():
            shutil.rmtree(os.path.dirname(place), ignore_errors=True)
    if "--caught" in sys.argv:
        print("found out" if bad else "not found out")
        return 0 if bad else 1
    return 1 if bad else 3 if void else 0


if __name__ == "__main__":
    if "--innocent" in sys.argv:
        at = sys.argv.index("--innocent")
        innocent(int(sys.argv[at + 1]), sys.argv[at + 2])
        sys.exit(0)
    sys.exit(main())

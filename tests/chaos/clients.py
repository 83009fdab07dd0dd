"""Clients of a cluster under faults, and what is asked of the answers that they got."""
import base64
import json
import subprocess
import threading
import time

from arena import KEEPERS, LOAD, say
from harness import CONCLAVE, CONTENDER

WORKERS, PAUSE_MS = 16, 8
READERS = 4  # at each member
# Of reads: after trouble begins, and after it ends, there is an election, links are made anew, and a machine may be busy.
SETTLED = 3.0
LONGEST_READ = 1.5  # seconds, without any trouble …
ALIVE = 20  # … in which so many writes are acknowledged
LEASE_GRACE = 20.0  # seconds within which a lease has ended, once everything is whole


class Clients:
    """The load, those who want a lock, readers that stay with their member, keepers of leases, a leader who speaks and
    those who listen, holders of a lock without a lease, and leases that nobody keeps."""

    def __init__(self, arena, seed, *flags, readers=READERS):
        self.arena, self.history = arena, f"{arena.folder}/history.jsonl"
        self.slow_reads = f"{arena.folder}/slow_reads.jsonl"
        arena.on_change = self.learn
        members = self.endpoints(arena.everyone)
        self.load = self.open(LOAD, members, self.history, seed, WORKERS, PAUSE_MS, *flags)
        self.keepers = self.open(KEEPERS, members, self.slow_reads, readers)
        self.leases = UnkeptLeases(arena)
        # Each begins at another member, and knows all, with those to come.
        self.contenders = {i: subprocess.Popen(
            [CONTENDER, self.endpoints(arena.ever[i - 1:] + arena.ever[:i - 1]), "door", "1000000", arena.folder, "5"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for i in arena.everyone}

    @staticmethod
    def open(*words):
        return subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def endpoints(self, members):
        return ",".join(self.arena.endpoint(i) for i in members)

    def tell(self, process, line):
        process.stdin.write(line + "\n")
        process.stdin.flush()
        return int(process.stdout.readline())

    def acknowledged(self):
        return self.tell(self.load, "?")

    def read(self):
        return self.tell(self.keepers, "?")

    def learn(self):
        """Who the members are by now."""
        for process in (self.load, self.keepers):
            self.tell(process, "use " + self.endpoints(self.arena.everyone))

    def finish(self):
        """What they say of themselves: the load, and the keepers."""
        self.arena.enough()
        self.leases.finish()
        told = []
        for process in (self.keepers, self.load):
            out, _ = process.communicate(timeout=120)
            told.append(json.loads(out.splitlines()[-1]))
            assert told[-1]["written"], "what was seen could not be written"
        self.arena.finish(self.contenders, 60, may_fail=self.contenders)
        return told[1], told[0]

    def end(self):
        self.leases.stop()
        for process in [self.load, self.keepers, *self.contenders.values()]:
            if process.poll() is None:
                process.kill()
            process.communicate()


def base(text):
    return base64.b64encode(text.encode()).decode()


class UnkeptLeases(threading.Thread):
    """Grants leases that nobody keeps, each with a key: it is there before its time is over, and gone some time later,
    whatever happens to clocks and leaders."""

    def __init__(self, arena):
        super().__init__(daemon=True)
        self.arena, self.open, self.ended, self.early, self.looked = arena, [], 0, "", 0
        self.stopped, self.no_more = threading.Event(), threading.Event()
        self.start()

    def run(self):
        number, at = 0, 0
        while not self.stopped.wait(0.25):
            members = self.arena.alive()
            if not members:
                continue
            at += 1
            member = members[at % len(members)]
            if len(self.open) < 6 and not self.no_more.is_set():
                number += self.grant(member, number)
            for lease in list(self.open):
                self.look(member, lease)

    def grant(self, member, number):
        key, ttl, before = f"unkept/{number}", 4 + number % 5, time.monotonic()
        lease = self.arena.post(member, "/v3/lease/grant", {"TTL": ttl, "ID": 0}, 1.5)
        if not lease or "ID" not in lease:
            return 0
        if not self.arena.post(member, "/v3/kv/put", {"key": base(key), "value": base("x"), "lease": lease["ID"]}, 1.5):
            return 1  # it may be there or not
        self.open.append({"key": key, "until": before + int(lease["TTL"]), "id": lease["ID"]})
        return 1

    def look(self, member, lease):
        found = self.arena.post(member, "/v3/kv/range", {"key": base(lease["key"])}, 1.0)
        if found is None:
            return
        self.looked += 1
        if found.get("kvs"):
            return
        self.open.remove(lease)
        self.ended += 1
        early = lease["until"] - time.monotonic()
        if early > 0 and not self.early:
            self.early = f"{lease['key']} is gone {early:.1f} s before its lease may end"

    def finish(self):
        """Those that are left end, soon."""
        self.no_more.set()
        end = time.monotonic() + LEASE_GRACE
        while self.open and time.monotonic() < end:
            time.sleep(0.1)
        assert not self.open, f"leases that nobody keeps do not end: {self.open}"
        assert not self.early, self.early
        self.stop()

    def stop(self):
        self.stopped.set()
        self.join(10)


# ---- judging

def judged(history):
    run = subprocess.run([CONCLAVE, "history", history, "--json"], capture_output=True, text=True, timeout=300)
    assert run.stdout, f"no verdict: {run.stderr}"
    return json.loads(run.stdout)


def explained(history):
    return subprocess.run([CONCLAVE, "history", history], capture_output=True, text=True, timeout=300).stdout


def lines_of(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def excuses(troubles, endpoint):
    """When a reader at this member may wait."""
    times = []
    for begin, end, readers, victims in troubles:
        if readers == "all" or endpoint in victims:
            times.append((begin, end + SETTLED))
        else:
            times.append((begin, begin + SETTLED))
            times.append((end, end + SETTLED))
    return times


def without(span, holes):
    """What is left of a span of time."""
    left = [span]
    for begin, end in holes:
        left = [part for a, b in left for part in ((a, min(b, begin)), (max(a, end), b)) if part[0] < part[1]]
    return left


def stuck_reads(slow_reads, troubles, writes):
    """Reads that waited although nothing was wrong, and although writes of others were acknowledged meanwhile."""
    found = []
    for read in slow_reads:
        quiet = without((read["begin"], read["end"]), excuses(troubles, read["endpoint"]))
        waited = sum(end - begin for begin, end in quiet)
        alive = sum(any(begin < write < end for begin, end in quiet) for write in writes)
        if waited > LONGEST_READ and alive >= ALIVE:
            found.append(f"a read at {read['endpoint']} waited for {read['end'] - read['begin']:.1f} s, {waited:.1f} of them "
                         f"without any trouble, while {alive} writes were acknowledged")
    return found


def check_reads(clients, troubles):
    """None was stuck. Returns the slowest that was not excused by anything."""
    slow = lines_of(clients.slow_reads)
    writes = [operation["end"] / 1e9 for operation in lines_of(clients.history)
              if operation["op"] != "get" and operation.get("end")]
    stuck = stuck_reads(slow, troubles, writes)
    assert not stuck, f"{len(stuck)} reads were stuck: {stuck[:3]}"
    return len(slow)


def check_keepers(told):
    assert not told["wrong"], f"who keeps leases, leads or listens was {told['wrong']}"

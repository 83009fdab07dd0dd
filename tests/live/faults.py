#!/usr/bin/env python3
"""Real members and clients under faults of networks, processes, disks, clocks and strangers.

   faults.py CONCLAVE CONTENDER LINK_PROXY CLOCK_STEP [--long] [--seed N] [TEST…]

A test counts only if its fault was seen to happen and enough entries were made; otherwise it fails. Some tests need
root for network namespaces and mounts, and say so if they are skipped. --long: more of what is random.
"""
import os
import random
import signal
import socket
import subprocess
import sys
import time

from harness import CONCLAVE, Group, ProxiedGroup, Skipped, new_key, run_tests, wait_until

CLOCK_STEP = sys.argv[4]
LONG = "--long" in sys.argv
SEED = int(sys.argv[sys.argv.index("--seed") + 1]) if "--seed" in sys.argv else random.SystemRandom().randrange(10**6)


def root_or_skip():
    if os.geteuid() != 0:
        raise Skipped("only root may do this")


def lock(group, i, ttl=2):
    """A client of member i that holds the lock as long as it may; `ended` sees to what it leaves behind."""
    inside, fences = f"{group.folder}/inside", f"{group.folder}/fences"
    script = (f"set -C; : > {inside} || exit 3; set +C; trap 'rm -f {inside}; exit 0' TERM; "
              f"echo $$ > {group.folder}/command; echo $CONCLAVE_FENCE >> {fences}; sleep 60 & wait")
    before = len(group.fences())
    process = subprocess.Popen([*group.around[i], CONCLAVE, "lock", "door", "--ttl", str(ttl), "--endpoints",
                                group.endpoint(i), "--", "sh", "-c", script],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    group.wait_for_entries(before + 1)
    return process


def ended(group, process, patience):
    """It was told that it lost the lock, and what it ran is dead. That may have had no time to clear up."""
    try:
        _, err = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise AssertionError(f"the holder was not told within {patience} s")
    assert process.returncode == 1, f"the holder ended with {process.returncode}: {err}"
    with open(f"{group.folder}/command") as file:
        assert not os.path.exists(f"/proc/{file.read().strip()}"), "its command goes on"
    if os.path.exists(f"{group.folder}/inside"):
        os.unlink(f"{group.folder}/inside")


# ---- links

def cut_both_ways(group):
    group.tell("cut 12 both")
    wait_until(lambda: group.up(1, without=(2,)) and group.up(2, without=(1,)), 10, "1 and 2 missing each other")
    group.tell("heal 12")
    return "cut"


def cut_one_way(group):
    group.tell("cut 12 forth")
    wait_until(lambda: group.up(2, without=(1,)), 10, "2 missing 1")
    group.tell("heal 12")
    return "cut one way"


def cut_all(group):
    group.tell("cut all both")
    wait_until(lambda: group.up(1, without=(2, 3)) and group.up(3, without=(1, 2)), 10, "everybody alone")
    group.tell("heal all")
    return "cut all"


def half_closed(group):
    done = 0
    for way in ("forth", "back") * 3:
        done += group.tell(f"half all {way}")
        time.sleep(0.15)
    assert done >= 6, f"only {done} connections were half closed"
    return f"{done} half closed"


def resets(group):
    done = 0
    for _ in range(15):
        done += group.tell("reset all")
        time.sleep(0.1)
    assert done >= 10, f"only {done} connections were reset"
    return f"{done} reset"


def delayed(group):
    assert group.tell("delay all 20") == 3
    before, began = len(group.fences()), time.monotonic()
    group.wait_for_entries(before + 5, 30)
    took = time.monotonic() - began
    assert took > 0.1, "five entries in no time: nothing was delayed"
    group.tell("delay all 0")
    return f"delayed, 5 entries in {took:.1f} s"


def links(engine, *faults):
    """Links that are lost and come back are no reason to begin anew, and cost nobody an entry."""
    with ProxiedGroup(engine, 3) as group:
        contenders = group.contend(100000)
        group.wait_for_entries(30)
        epoch = group.epoch(1)
        said = []
        for fault in faults:
            said.append(fault(group))
            group.wait_for_entries(len(group.fences()) + 10, 30)
        group.wait_all_up()
        group.enough()
        entered = group.finish(contenders)
        assert sum(entered.values()) == len(group.fences()), (entered, len(group.fences()))
        group.once_more()
        assert group.finish(group.contend(5)) == {1: 5, 2: 5, 3: 5}
        assert group.epoch(1) == epoch, f"epoch {group.epoch(1)} after {epoch}"
        assert "event=disconnected" in group.log(1)
        return f"{group.check_fences(60)} entries; {', '.join(said)}"


# ---- partitions and pauses

def partition(engine, minority):
    """The minority has the lock and loses it; the majority goes on, and not before."""
    majority = [i for i in (1, 2, 3) if i != minority]
    with ProxiedGroup(engine, 3) as group:
        group.finish(group.contend(5, ttl=2))
        holder = lock(group, minority)
        others = group.contend(20, at=majority, ttl=2)
        routes = ["".join(sorted((str(minority), str(i)))) for i in majority]
        for route in routes:
            group.tell(f"cut {route} both")
        ended(group, holder, 10)
        before = len(group.fences())
        assert before == 16, "somebody entered while the minority's client was inside"
        assert group.up(minority, without=majority)
        assert group.finish(others, 40) == {i: 20 for i in majority}
        assert "event=evicted" in group.log(majority[0]) + group.log(majority[1])
        for route in routes:
            group.tell(f"heal {route}")
        group.wait_all_up()
        assert group.finish(group.contend(5, ttl=2), 40) == {1: 5, 2: 5, 3: 5}
        return f"{group.check_fences(71)} entries, {before} before the cut"


def short_partition(engine, minority):
    """It heals before anybody was left out: the minority gave up what it had, and the others hear of it."""
    majority = [i for i in (1, 2, 3) if i != minority]
    with ProxiedGroup(engine, 3) as group:
        group.finish(group.contend(5))  # leases of 10 s: nobody is left out before
        holder = lock(group, minority)
        others = group.contend(20, at=majority)
        group.tell("cut all both")
        ended(group, holder, 10)
        group.tell("heal all")
        group.wait_all_up()
        assert group.finish(others, 40) == {i: 20 for i in majority}
        assert all("event=evicted" not in group.log(i) for i in majority)
        assert "event=gave-up" in group.log(minority)
        return f"{group.check_fences(56)} entries"


def one_link_missing(engine):
    """1 and 2 cannot reach each other, and both reach 3: one of them steps back, and the others go on."""
    with ProxiedGroup(engine, 3) as group:
        contenders = group.contend(100000, ttl=1)
        group.wait_for_entries(30)
        group.tell("cut 12 both")
        wait_until(lambda: group.up(1, without=(2,)) and group.up(2, without=(1,)), 20, "1 and 2 missing each other")
        cut = time.monotonic()
        wait_until(lambda: any(member["evicted"] for member in group.status(3)["members"]), 30, "one stepping back")
        # Twice, so that it is known to last: the second time there is nothing left to decide.
        for patience in (30, 15):
            entered = group.finish(group.contend(20, at=(2, 3), ttl=1), patience)
            assert entered == {2: 20, 3: 20}, entered
        took = time.monotonic() - cut
        evicted = {i: group.log(i).count("event=evicted") for i in group.everyone}
        assert evicted[2] >= 1 and sum(evicted.values()) <= 2, f"evictions: {evicted}"
        wait_until(lambda: "comes back when it hears member 2" in str(group.status(1)), 20, "1 saying what it waits for")
        group.tell("heal 12")
        group.wait_all_up()
        wait_until(lambda: not any(member["evicted"] for member in group.status(3)["members"]), 20, "1 coming back")
        group.enough()
        group.finish(contenders, 60, may_fail=(1, 2, 3))
        group.once_more()
        before = len(group.fences())
        assert group.finish(group.contend(10, ttl=1), 60) == {1: 10, 2: 10, 3: 10}
        return f"{group.check_fences(before + 30)} entries; 80 of them {took:.1f} s after the cut"


def stopped_holder(engine):
    """A member stands still with the lock until the others went on; when it wakes it is told."""
    with Group(engine, 3) as group:
        group.finish(group.contend(5, ttl=2))
        holder = lock(group, 3)
        waiting = group.contend(1, at=(3,), ttl=2)
        others = group.contend(100000, at=(1, 2), ttl=2)
        time.sleep(0.3)
        before = len(group.fences())
        group.processes[3].send_signal(signal.SIGSTOP)
        ended(group, holder, 10)
        assert len(group.fences()) == before == 16, "somebody entered while the holder was inside"
        group.wait_for_entries(before + 20, 20)
        group.processes[3].send_signal(signal.SIGCONT)
        wait_until(lambda: "event=gave-up" in group.log(3), 10, "the woken member giving up")
        group.wait_for_entries(len(group.fences()) + 20, 20)
        group.wait_all_up()
        group.enough()
        group.finish(others, 60)
        group.finish(waiting, 60, may_fail=(3,))
        group.once_more()
        assert group.finish(group.contend(5, ttl=2), 60) == {1: 5, 2: 5, 3: 5}
        return f"{group.check_fences(before + 55)} entries, {before} before it was stopped"


def kills(engine, times, seconds):
    """Members are killed and started again at random, under contention."""
    dice = random.Random(f"{SEED} {engine}")
    with Group(engine, 3) as group:
        contenders = group.contend(100000, ttl=2)
        group.wait_for_entries(20)
        before = len(group.fences())
        for _ in range(times):
            victim = dice.choice((1, 2, 3))
            group.kill(victim)
            away = dice.uniform(0, 0.8) * seconds / times
            time.sleep(away)
            group.start(victim)
            time.sleep(seconds / times - away)
        group.wait_all_up()
        during = len(group.fences()) - before
        group.enough()
        group.finish(contenders, 60, may_fail=(1, 2, 3))
        group.once_more()
        assert group.finish(group.contend(10, ttl=2), 60) == {1: 10, 2: 10, 3: 10}
        total = group.check_fences(before + 30)
        restarts = sum(group.log(i).count("event=listening") for i in (1, 2, 3)) - 3
        assert restarts == times, f"{restarts} restarts"
        return f"{total} entries, {during} while {times} times one was killed"


# ---- networks

class Cables:
    """A network namespace for each member, and a cable from each to a bridge."""

    def __init__(self, size):
        root_or_skip()
        self.tag = f"c{os.getpid() % 100000}"
        self.size = size
        self.net = f"10.{random.SystemRandom().randrange(64, 250)}.{os.getpid() % 250}"
        try:
            self.ip("link", "add", self.tag, "type", "bridge")
            self.ip("addr", "add", f"{self.net}.254/24", "dev", self.tag)
            self.ip("link", "set", self.tag, "up")
            for i in range(1, size + 1):
                self.add(i)
        except subprocess.CalledProcessError as error:
            self.remove()
            raise Skipped(f"no network namespaces here: {error.stderr.decode().strip()}") from error

    def add(self, i):
        space = f"{self.tag}n{i}"
        self.ip("netns", "add", space)
        self.ip("link", "add", self.cable(i), "type", "veth", "peer", "name", "eth0", "netns", space)
        self.ip("link", "set", self.cable(i), "master", self.tag, "up")
        for command in (("addr", "add", f"{self.net}.{i}/24", "dev", "eth0"), ("link", "set", "eth0", "up"),
                        ("link", "set", "lo", "up")):
            self.ip("-n", space, *command)

    def cable(self, i):
        return f"{self.tag}v{i}"

    def inside(self, i):
        return ["ip", "netns", "exec", f"{self.tag}n{i}"]

    def pull(self, i):
        self.ip("link", "set", self.cable(i), "down")

    def plug(self, i):
        self.ip("link", "set", self.cable(i), "up")

    def remove(self):
        for i in range(1, self.size + 1):
            subprocess.run(["ip", "netns", "del", f"{self.tag}n{i}"], capture_output=True)
        subprocess.run(["ip", "link", "del", self.tag], capture_output=True)

    @staticmethod
    def ip(*words):
        subprocess.run(["ip", *words], check=True, capture_output=True)


def cable_pulled(engine):
    """Silence without a word of farewell, and the same members when the cable is back."""
    cables = Cables(3)
    try:
        group = Group(engine, 3, "--insecure-clients", "--insecure-members")
        for i in group.everyone:
            group.hosts[i] = f"{cables.net}.{i}"
            group.around[i] = cables.inside(i)
        group.flags += ["--key-file", new_key(group.folder)]  # these addresses are not this machine's alone
        with group:
            group.finish(group.contend(5))
            epoch = group.epoch(1)
            contenders = group.contend(100000)
            group.wait_for_entries(30)
            cables.pull(3)
            pulled = time.monotonic()
            wait_until(lambda: group.up(1, without=(3,)), 10, "1 missing 3")
            noticed = time.monotonic() - pulled
            assert noticed < 8, f"noticed after {noticed:.1f} s"
            before = len(group.fences())
            time.sleep(1)
            assert len(group.fences()) == before, "entered although a member that has to agree is away"
            cables.plug(3)
            group.wait_all_up()
            group.wait_for_entries(before + 20, 30)
            group.enough()
            group.finish(contenders, 60)
            group.once_more()
            assert group.finish(group.contend(5), 60) == {1: 5, 2: 5, 3: 5}
            assert group.epoch(1) == epoch, f"epoch {group.epoch(1)} after {epoch}"
            return f"{group.check_fences(80)} entries, noticed after {noticed:.1f} s"
    finally:
        cables.remove()


# ---- disks, clocks, strangers

def full_disk(engine):
    """Traces that no longer fit are given up, and said to be; nothing else is."""
    root_or_skip()
    group = Group(engine, 3)
    disk = f"{group.folder}/disk"
    os.mkdir(disk)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True, text=True)
    if mounted.returncode != 0:
        raise Skipped(f"no tmpfs here: {mounted.stderr.strip()}")
    try:
        for i in group.everyone:
            data = ["--data", f"{group.folder}/data{i}"] if engine == "raft" else []
            group.own_flags[i] = ["--trace", f"{disk}/{i}.jsonl", *data]
        with group:
            assert group.finish(group.contend(100)) == {1: 100, 2: 100, 3: 100}
            room = os.statvfs(disk)
            assert room.f_bavail * room.f_frsize < 8192, "the disk has room left"
            wait_until(lambda: all("event=trace-ended" in group.log(i) for i in group.everyone), 5, "everybody saying so")
            assert group.finish(group.contend(20)) == {1: 20, 2: 20, 3: 20}
            time.sleep(1.2)
            assert all(group.log(i).count("event=trace-ended") == 1 for i in group.everyone), "said more than once"
            return f"{group.check_fences(360)} entries"
    finally:
        subprocess.run(["umount", "-l", disk], check=False)


def clock_set_back(engine):
    """The wall clock goes back a day: under a lock nothing happens, and a member that restarts is behind nobody."""
    if not os.path.exists(CLOCK_STEP):
        raise Skipped(f"there is no {CLOCK_STEP}")
    group = Group(engine, 3)
    clock = f"{group.folder}/clock"
    for i in group.everyone:
        # A sanitized member is not to mind that something is loaded before its sanitizer.
        group.around[i] = ["env", f"LD_PRELOAD={CLOCK_STEP}", f"CLOCK_STEP={clock}",
                           "ASAN_OPTIONS=verify_asan_link_order=0"]
    with group:
        assert group.finish(group.contend(10, ttl=2)) == {1: 10, 2: 10, 3: 10}
        holder = lock(group, 1)
        with open(clock + ".new", "w") as file:
            file.write("-86400\n")
        os.rename(clock + ".new", clock)
        time.sleep(3)
        assert holder.poll() is None, "the lock was lost"
        holder.send_signal(signal.SIGTERM)
        holder.communicate(timeout=10)
        assert group.finish(group.contend(10, ttl=2)) == {1: 10, 2: 10, 3: 10}
        group.kill(2)
        group.start(2)
        group.wait_all_up()
        yesterday = time.strftime("%Y-%m-%dT", time.gmtime(time.time() - 86400))
        assert yesterday in group.log(2), "its clock was not set back"
        assert group.finish(group.contend(10, ttl=2)) == {1: 10, 2: 10, 3: 10}
        return f"{group.check_fences(91)} entries"


TLS_HELLO = bytes.fromhex("160301002f0100002b0303") + bytes(32) + bytes.fromhex("000004130113020100")


def strangers():
    """Whoever finds the ports and talks nonsense harms nobody."""
    dice = random.Random(SEED)
    greetings = [dice.randbytes(4000), b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", TLS_HELLO, b"\0" * 64, b"\xff" * 64,
                 b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + dice.randbytes(500), b"",
                 b"POST /v3/lock/lock HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n{"]
    with Group("ricart-agrawala", 3) as group:
        contenders = group.contend(100000)
        group.wait_for_entries(10)
        half_open, talked = [], 0
        for i in group.everyone:
            for port in (group.peer_ports[i], group.client_ports[i]):
                half_open += [socket.create_connection(("127.0.0.1", port), 5) for _ in range(200)]
                for greeting in greetings + [dice.randbytes(dice.randrange(1, 3000)) for _ in range(20)]:
                    with socket.create_connection(("127.0.0.1", port), 5) as stranger:
                        try:
                            stranger.sendall(greeting)
                            talked += 1
                        except OSError:
                            pass  # it hung up already
        before = len(group.fences())
        group.wait_for_entries(before + 50, 30)
        group.enough()
        group.finish(contenders)
        for stranger in half_open:
            stranger.close()
        group.once_more()
        assert group.finish(group.contend(10)) == {1: 10, 2: 10, 3: 10}
        assert all(process.poll() is None for process in group.processes.values())
        assert any("refus" in group.log(i) or "event=" in group.log(i) for i in group.everyone)
        return f"{group.check_fences(90)} entries, {len(half_open)} half open, {talked} talked"


TESTS = {}
for engine in ("ricart-agrawala", "lamport", "maekawa-deadlock-free"):
    TESTS[f"links/{engine}"] = lambda engine=engine: links(engine, cut_both_ways, cut_one_way, cut_all, half_closed, resets,
                                                           delayed)
# Alone it would rightly give up what it has, and begin anew.
TESTS["links/token-ring"] = lambda: links("token-ring", cut_both_ways, cut_one_way, half_closed, resets, delayed)
for engine in ("token-ring", "central-server"):
    for minority in (1, 3):
        TESTS[f"partition/{engine}/{minority}"] = lambda engine=engine, minority=minority: partition(engine, minority)
    TESTS[f"short-partition/{engine}"] = lambda engine=engine: short_partition(engine, 3)
    TESTS[f"stopped-holder/{engine}"] = lambda engine=engine: stopped_holder(engine)
for engine in ("token-ring", "central-token", "central-server"):
    TESTS[f"one-link-missing/{engine}"] = lambda engine=engine: one_link_missing(engine)
for engine in ("ricart-agrawala", "central-server", "token-ring", "carvalho-roucairol"):
    TESTS[f"kills/{engine}"] = lambda engine=engine: kills(engine, *((20, 15) if LONG else (4, 14)))
TESTS["cable-pulled"] = lambda: cable_pulled("ricart-agrawala")
for engine in ("ricart-agrawala", "raft"):
    TESTS[f"full-disk/{engine}"] = lambda engine=engine: full_disk(engine)
for engine in ("ricart-agrawala", "token-ring"):
    TESTS[f"clock-set-back/{engine}"] = lambda engine=engine: clock_set_back(engine)
TESTS["strangers"] = strangers


def main():
    words = [word for word in sys.argv[5:] if word not in ("--long", "--seed", str(SEED))]
    print(f"seed {SEED}", flush=True)
    return run_tests(TESTS, words, at_once=4)


if __name__ == "__main__":
    sys.exit(main())

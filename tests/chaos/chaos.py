#!/usr/bin/env python3
"""A Raft cluster of real processes under faults, judged by what its clients were told.

   chaos.py CONCLAVE CONTENDER LINK_PROXY CHAOS_LOAD [--members N] [--seconds N] [--seed N] [--times N] [--prove]

While clients put, get, delete, compare and swap, and others contend for a lock, members are killed, stopped, cut off,
slowed down, and run out of disk, as the seed says. Then everything heals, and has to go on. docs/chaos.md says what is
checked. --times: so many runs, with the seeds that follow. --prove: shows that a broken history is found out.

Exit status: 0 all promises were kept, 1 one was broken (what is left says where to look), 3 void: too little happened
for that to mean anything.
"""
import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
from harness import CONCLAVE, CONTENDER, ProxiedGroup, Skipped, wait_until  # noqa: E402
from raft import Cluster  # noqa: E402

LOAD = sys.argv[4]
WORKERS, PAUSE_MS = 16, 8
LEAST_RATE = 40  # acknowledged operations a second, in all the time
LEAST_FAULTS = 0.12  # a second
LEAST_ENTRIES = 2  # of the lock, a second
NO_SPACE = "o space left"  # in a log
PROGRESS = 15.0  # seconds after which everything must go on, once everything is whole


class Void(Exception):
    """Too little happened."""


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


class Arena(Cluster, ProxiedGroup):
    """A cluster whose links go through a proxy. The last member's disk is small, if this machine allows that."""

    def __init__(self, size):
        super().__init__(size)
        self.heard = {i: 0 for i in self.everyone}  # of their logs
        self.small_disk = f"{self.folder}/data{size}"
        os.mkdir(self.small_disk)
        mounted = os.geteuid() == 0 and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=96m", "tmpfs", self.small_disk], capture_output=True).returncode == 0
        if not mounted:
            self.small_disk = None

    def __exit__(self, kind, *rest):
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()
        if self.small_disk:
            if kind is not None:
                subprocess.run(["cp", "-r", self.small_disk, f"{self.folder}/small-disk"], check=False)
            subprocess.run(["umount", "-l", self.small_disk], check=False)
        super().__exit__(kind, *rest)

    def alive(self):
        return [i for i in self.everyone if self.processes[i].poll() is None]

    def post(self, i, path, body, patience=0.5):
        """What a member says; none: it does not answer in time, or refuses."""
        request = urllib.request.Request(f"http://{self.endpoint(i)}{path}", json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=patience) as answer:
                return json.loads(answer.read())
        except OSError:
            return None

    def leader(self):
        """Who leads in the newest term, by its own word."""
        leaders = {}
        for i in self.alive():
            status = self.post(i, "/v3/maintenance/status", {})
            if status and status.get("leader") and int(status["leader"]) == i:
                leaders[int(status["raftTerm"])] = i
        return leaders[max(leaders)] if leaders else None

    def cut(self, sender, receiver):
        """What one sends no longer reaches the other; it arrives late, if at all."""
        one, other = sorted((sender, receiver))
        self.tell(f"cut {one}{other} {'forth' if sender == one else 'back'}")

    def cut_both(self, one, other):
        self.tell(f"cut {min(one, other)}{max(one, other)} both")

    def revive(self):
        """Starts again whoever ended by itself. Only a full disk is a reason to."""
        for i in self.everyone:
            status = self.processes[i].poll()
            if status is None:
                continue
            last_words = self.log(i)[self.heard[i]:]
            assert status in (1, 2) and NO_SPACE in last_words, f"member {i} ended with {status}: {last_words[-600:]}"
            self.heard[i] += len(last_words)
            say(f"member {i} had ended for want of disk, and is started again")
            self.start(i)

    def heal(self):
        self.tell("heal all")
        self.tell("delay all 0")
        self.revive()


# ---- faults: each is done to an arena and a victim, and lasts until what it returns is called

def kill(arena, victims):
    killed = [i for i in victims if arena.processes[i].poll() is None]
    for i in killed:
        arena.processes[i].kill()
    for i in killed:
        arena.processes[i].wait()
    return lambda: [arena.start(i) for i in killed]


def stop(arena, victims):
    for i in victims:
        arena.processes[i].send_signal(signal.SIGSTOP)
    return lambda: [arena.processes[i].send_signal(signal.SIGCONT) for i in victims]


def cut_off(arena, victims):
    for i in victims:
        for j in arena.everyone:
            if j not in victims:
                arena.cut_both(i, j)
    return lambda: arena.tell("heal all")


def cut_sending(arena, victims):
    for j in arena.everyone:
        if j != victims[0]:
            arena.cut(victims[0], j)
    return lambda: arena.tell("heal all")


def cut_hearing(arena, victims):
    for j in arena.everyone:
        if j != victims[0]:
            arena.cut(j, victims[0])
    return lambda: arena.tell("heal all")


def cut_one_link(arena, victims):
    arena.cut_both(victims[0], victims[0] % arena.size + 1)
    return lambda: arena.tell("heal all")


def slow(arena, _):
    arena.tell("delay all 40")
    return lambda: arena.tell("delay all 0")


def reset(arena, _):
    arena.tell("reset all")
    return lambda: arena.tell("reset all")


def hand_over(arena, victims):
    heir = victims[0] % arena.size + 1
    arena.post(victims[0], "/v3/maintenance/transfer-leadership", {"targetID": heir})
    return lambda: None


def fill_disk(arena, _):
    ballast, before = f"{arena.small_disk}/ballast", arena.log(arena.size).count(NO_SPACE)
    with open(ballast, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1 << 16))
        except OSError:
            pass

    def undo():
        for _ in range(120):  # it lives on what it has until it needs more
            if arena.log(arena.size).count(NO_SPACE) > before:
                break
            time.sleep(0.1)
        os.unlink(ballast)
    return undo


# Name, what is done, to whom, and for how long at most.
FAULTS = [
    ("the leader is killed", kill, "leader", 2.0),
    ("a follower is killed", kill, "follower", 2.0),
    ("all are killed", kill, "all", 1.0),
    ("a majority is killed", kill, "majority", 2.0),
    ("the leader is stopped", stop, "leader", 2.5),
    ("a follower is stopped", stop, "follower", 2.5),
    ("the leader is cut off", cut_off, "leader", 4.0),
    ("a follower is cut off", cut_off, "follower", 3.0),
    ("a minority with the leader is cut off", cut_off, "minority", 4.0),
    ("nobody hears the leader", cut_sending, "leader", 3.0),
    ("the leader hears nobody", cut_hearing, "leader", 3.0),
    ("nobody hears a follower", cut_sending, "follower", 3.0),
    ("one link is cut", cut_one_link, "leader", 3.0),
    ("links are slow", slow, "nobody", 3.0),
    ("links are reset", reset, "nobody", 0.5),
    ("the leader hands over", hand_over, "leader", 0.5),
    ("a disk is full", fill_disk, "small disk", 8.0),
]


def schedule(seed, seconds, faults):
    """What happens when: a function of the seed. Every fault comes before any comes again; some come while another
    lasts."""
    dice = random.Random(f"chaos {seed}")
    at, plan, deck = 1.5, [], []
    while at < seconds:
        chosen = []
        for _ in range(2 if dice.random() < 0.25 else 1):
            if not deck:
                deck = list(faults)
                dice.shuffle(deck)
            chosen.append((deck.pop(), dice.random()))
        hold = dice.uniform(0.3, 1.0) * max(fault[3] for fault, _ in chosen)
        plan.append((at, chosen, hold))
        at += hold + dice.uniform(0.4, 1.8)
    return plan


def victims(arena, whom, draw):
    leader = arena.leader() or arena.everyone[int(draw * arena.size)]
    others = [i for i in arena.everyone if i != leader]
    first = int(draw * len(others))
    others = others[first:] + others[:first]
    return {"leader": [leader], "follower": others[:1], "all": list(arena.everyone), "nobody": [],
            "minority": [leader, *others][:(arena.size - 1) // 2],
            "majority": [leader, *others][:arena.size // 2 + 1], "small disk": [arena.size]}[whom]


def torment(arena, plan):
    """Carries the plan out. Returns which faults were done, how often."""
    began, done = time.monotonic(), {}
    for at, chosen, hold in plan:
        time.sleep(max(0.0, began + at - time.monotonic()))
        arena.revive()
        undo = []
        for (name, act, whom, _), draw in chosen:
            if act is fill_disk and not arena.small_disk:
                continue
            hit = victims(arena, whom, draw)
            say(f"{'and ' if undo else ''}{name}{': ' if hit else ''}{', '.join(map(str, hit))} for {hold:.1f} s")
            undo.append(act(arena, hit))
            done[name] = done.get(name, 0) + 1
            time.sleep(hold / len(chosen))
        for end in reversed(undo):
            end()
    return done


# ---- clients

class Clients:
    """The load and those who want a lock."""

    def __init__(self, arena, seed, *flags):
        self.arena, self.history = arena, f"{arena.folder}/history.jsonl"
        everywhere = [arena.endpoint(i) for i in arena.everyone]
        self.load = subprocess.Popen([LOAD, ",".join(everywhere), self.history, str(seed), str(WORKERS), str(PAUSE_MS),
                                      *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        # Each begins at another member, and knows all.
        self.contenders = {i: subprocess.Popen(
            [CONTENDER, ",".join(everywhere[i - 1:] + everywhere[:i - 1]), "door", "1000000", arena.folder, "5"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for i in arena.everyone}

    def acknowledged(self):
        self.load.stdin.write("?\n")
        self.load.stdin.flush()
        return int(self.load.stdout.readline())

    def finish(self):
        """What the load says of itself."""
        self.arena.enough()
        out, _ = self.load.communicate(timeout=120)
        summary = json.loads(out.splitlines()[-1])
        assert summary["written"], "the history could not be written"
        self.arena.finish(self.contenders, 60, may_fail=self.arena.everyone)
        return summary

    def end(self):
        for process in [self.load, *self.contenders.values()]:
            if process.poll() is None:
                process.kill()
            process.communicate()


def judged(history):
    run = subprocess.run([CONCLAVE, "history", history, "--json"], capture_output=True, text=True, timeout=300)
    assert run.stdout, f"no verdict: {run.stderr}"
    return json.loads(run.stdout)


def explained(history):
    return subprocess.run([CONCLAVE, "history", history], capture_output=True, text=True, timeout=300).stdout


# ---- one run

def goes_on(arena, clients):
    """After everything healed: every member serves, and clients that were there all the time get answers."""
    began = time.monotonic()
    before = clients.acknowledged()
    fences = len(arena.fences())

    def served(i):
        return arena.post(i, "/v3/kv/put", {"key": "YWZ0ZXI=", "value": "MQ=="}, 2) is not None

    def soon(condition, what):
        wait_until(condition, max(0.1, began + PROGRESS - time.monotonic()), what)
        if time.monotonic() - began > 2:
            say(f"{what}: only {time.monotonic() - began:.1f} s after healing")

    for i in arena.everyone:
        soon(lambda: served(i), f"a write through member {i}")
    soon(lambda: clients.acknowledged() >= before + 200, "progress of the clients")
    soon(lambda: len(arena.fences()) >= fences + 3, "entries into the lock")
    return time.monotonic() - began


def enough_happened(summary, done, entries, seconds):
    few = []
    if summary["acknowledged"] < LEAST_RATE * seconds:
        few.append(f"{summary['acknowledged']} operations acknowledged in {seconds:.0f} s, {LEAST_RATE} a second is the least")
    if sum(done.values()) < LEAST_FAULTS * seconds:
        few.append(f"{sum(done.values())} faults in {seconds:.0f} s")
    if entries < LEAST_ENTRIES * seconds:
        few.append(f"{entries} entries into the lock in {seconds:.0f} s")
    if few:
        raise Void("; ".join(few))


def run(size, seconds, seed):
    say(f"{size} members, {seconds} s, seed {seed}")
    plan = schedule(seed, seconds, FAULTS)
    with Arena(size) as arena:
        say(f"logs and history in {arena.folder}")
        clients = Clients(arena, seed)
        try:
            began = time.monotonic()
            done = torment(arena, plan)
            arena.heal()
            took = goes_on(arena, clients)
            summary = clients.finish()
            lasted = time.monotonic() - began
        finally:
            clients.end()
        entries = arena.check_fences(1)
        verdict = judged(clients.history)
        assert verdict["verdict"] == "linearizable", f"{verdict['verdict']}\n{explained(clients.history)}"
        assert summary["unread_keys"] == 0, f"{summary['unread_keys']} keys could not be read at the end"
        assert not summary["wrong_with_watchers"], f"a watcher was {summary['wrong_with_watchers']}"
        wait_until(lambda: len(set(arena.digests().values())) == 1, 30, "equal stores")
        enough_happened(summary, done, entries, lasted)
        assert not any("event=invariant" in arena.log(i) for i in arena.everyone), "a member broke its own rules"
        disk = sum(arena.log(i).count(NO_SPACE) for i in arena.everyone)
        return (f"{size} members, seed {seed}: {sum(done.values())} faults of {len(done)} kinds, "
                f"{verdict['operations']} operations on {verdict['keys']} keys ({verdict['unknown']} unknown), "
                f"{summary['watches']} watches, "
                f"longest time without a write {summary['longest_gap_ms']} ms, {entries} entries with growing fences, "
                f"{disk} words of full disks, all well {took:.1f} s after healing")


# ---- proof that it can fail

def tampered(good, bad):
    """One answer is replaced by what was there before."""
    with open(good) as file:
        lines = [json.loads(line) for line in file]
    last = {}
    for line in lines:
        if line["op"] == "get" and line.get("found"):
            older = last.setdefault(line["key"], [])
            if len(older) > 20 and older[-1]["end"] < line["begin"] and older[0]["found"] != line["found"]:
                line["found"], line["revision"] = older[0]["found"], older[0]["revision"]
                break
            older.append(dict(line))
    else:
        raise Void("the history has no read that could be replaced")
    with open(bad, "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def prove(seed):
    """Reads that may be old, passed off as good ones, are found out; so is one wrong answer among thousands."""
    cuts = [fault for fault in FAULTS if fault[1] in (cut_off, cut_sending, cut_hearing)]
    with Arena(3) as arena:
        say(f"old reads are passed off as good ones; history in {arena.folder}")
        clients = Clients(arena, seed, "serializable")
        try:
            torment(arena, schedule(seed, 10, cuts))
            arena.heal()
            clients.finish()
        finally:
            clients.end()
        verdict = judged(clients.history)
        assert verdict["verdict"] == "not linearizable", "old reads passed for good ones"
        print(explained(clients.history))
    with Arena(3) as arena:
        say("one answer is replaced")
        clients = Clients(arena, seed)
        try:
            time.sleep(4)
            clients.finish()
        finally:
            clients.end()
        assert judged(clients.history)["verdict"] == "linearizable", explained(clients.history)
        bad = f"{arena.folder}/tampered.jsonl"
        tampered(clients.history, bad)
        assert judged(bad)["verdict"] == "not linearizable", "a wrong answer was not found"
        print(explained(bad))
    return "both were found out"


def flag(name, otherwise):
    return int(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else otherwise


def main():
    seed = flag("--seed", random.SystemRandom().randrange(10**6))
    status = 0
    jobs = [lambda: prove(seed)] if "--prove" in sys.argv else [
        lambda s=seed + n: run(flag("--members", 3), flag("--seconds", 60), s) for n in range(flag("--times", 1))]
    for job in jobs:
        try:
            say("ok: " + job())
        except Skipped as reason:
            say(f"skipped: {reason}")
        except Void as why:
            say(f"VOID: {why}")
            status = status or 3
        except Exception as error:  # the other runs are still worth it
            say(f"FAILED: {type(error).__name__}: {error}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())

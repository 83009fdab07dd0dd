#!/usr/bin/env python3
"""A Raft cluster of real processes under faults, judged by what its clients were told.

   chaos.py CONCLAVE CONTENDER LINK_PROXY CHAOS_LOAD [--members N] [--seconds N] [--seed N] [--times N] [--prove]

While clients put, get, delete, compare and swap, and others contend for a lock, members are killed, stopped, cut off,
slowed down, replaced, and run out of disk, as the seed says. Then everything heals, and has to go on. docs/chaos.md says what is
checked. --times: so many runs, with the seeds that follow. --prove: shows that a broken history is found out.

Exit status: 0 all promises were kept, 1 one was broken (what is left says where to look), 3 void: too little happened
for that to mean anything.
"""
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
from harness import CONCLAVE, CONTENDER, Skipped, free_ports, wait_until  # noqa: E402
from raft import Cluster  # noqa: E402

PROXY, LOAD = sys.argv[3], sys.argv[4]
WORKERS, PAUSE_MS = 16, 8
# What must have happened for each second planned, or a run says nothing.
LEAST_RATE = 40  # acknowledged operations
LEAST_FAULTS = 0.12
LEAST_ENTRIES = 2  # into the lock
NO_SPACE = "o space left"  # in a log
REPLACED = 60.0  # seconds until a newcomer has taken a member's place, whatever else happens
MOST_NEWCOMERS = 8  # in one run: every two members ever have routes between them
EXPELLED = 3  # exit status of a member that was told that it is none any more
PROGRESS = 15.0  # seconds after which everything must go on, once everything is whole


class Void(Exception):
    """Too little happened."""


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


class Arena(Cluster):
    """A cluster whose links go through a proxy, those of members to come as well: route 1-2 is where 1 dials 2. One
    member's disk is small, if this machine allows that."""

    def __init__(self, size, newcomers=0):
        super().__init__(size)
        founders = list(self.everyone)
        self.everyone = founders  # who is a member; those who are replaced go
        self.ever = list(range(1, size + newcomers + 1))  # who is, was or may become one; ids are given in order
        self.next_id = size + 1
        self.gone = set()
        self.replacement = None
        self.on_change = lambda: None
        ports = iter(free_ports(2 * newcomers))
        for i in self.ever[size:]:
            self.hosts[i], self.peer_ports[i], self.client_ports[i] = "127.0.0.1", next(ports), next(ports)
            self.around[i], self.own_flags[i] = [], ["--data", f"{self.folder}/data{i}", "--join"]
        self.known = {i: self.members for i in founders}  # on its command line, which stays what it was
        self.heard = {i: 0 for i in self.ever}  # of their logs
        self.open_proxy()
        self.mounted = []
        self.small = size if self.shrink(size) else None

    def open_proxy(self):
        pairs = list(itertools.permutations(self.ever, 2))
        ports = dict(zip(pairs, free_ports(len(pairs))))
        for i in self.ever:
            via = ",".join(f"{j}=127.0.0.1:{ports[i, j]}" for j in self.ever if j != i)
            self.own_flags[i] += ["--via", via]
        routes = [f"{i}-{j}={ports[i, j]}:{self.peer_ports[j]}" for i, j in pairs]
        self.proxy = subprocess.Popen([PROXY, *routes], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, command):
        self.proxy.stdin.write(command + "\n")
        self.proxy.stdin.flush()
        return int(self.proxy.stdout.readline())

    def shrink(self, i):
        """Gives a member that has not started a small disk."""
        place = f"{self.folder}/data{i}"
        os.mkdir(place)
        mounted = os.geteuid() == 0 and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=96m", "tmpfs", place], capture_output=True).returncode == 0
        self.mounted += [place] if mounted else []
        return mounted

    def __exit__(self, kind, *rest):
        if self.replacement:
            self.replacement.give_up = True
            self.replacement.join()
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()
        for place in self.mounted:
            if kind is not None:
                subprocess.run(["cp", "-r", place, f"{place}-copy"], check=False)
            subprocess.run(["umount", "-l", place], check=False)
        self.proxy.kill()
        self.proxy.wait()
        super().__exit__(kind, *rest)

    def start(self, i):
        with open(f"{self.folder}/member{i}.log", "ab") as log:
            self.processes[i] = subprocess.Popen(
                [CONCLAVE, "serve", "--engine", "raft", "--id", str(i), "--members", self.known[i], "--client",
                 self.endpoint(i), "--down-after", "0.5", *self.own_flags[i]],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def alive(self):
        return [i for i in self.everyone if self.processes[i].poll() is None]

    def after(self, i):
        """The next member."""
        return self.everyone[(self.everyone.index(i) + 1) % len(self.everyone)] if i in self.everyone else self.everyone[0]

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
        self.tell(f"cut {sender}-{receiver} forth")
        self.tell(f"cut {receiver}-{sender} back")

    def cut_both(self, one, other):
        self.tell(f"cut {one}-{other} both")
        self.tell(f"cut {other}-{one} both")

    def revive(self):
        """Starts again whoever ended by itself. Only a full disk is a reason to, and having been replaced."""
        for i, process in list(self.processes.items()):
            status = process.poll()
            if status is None or i in self.gone or (self.replacement and i == self.replacement.old):
                continue
            last_words = self.log(i)[self.heard[i]:]
            assert status in (1, 2) and NO_SPACE in last_words, f"member {i} ended with {status}: {last_words[-600:]}"
            self.heard[i] += len(last_words)
            say(f"member {i} had ended for want of disk, and is started again")
            self.start(i)

    def replace(self, old):
        self.replacement = Replacement(self, old, self.next_id)
        self.next_id += 1

    def settle(self):
        """Waits until a newcomer has taken the place of the member that is being replaced, if one is. The old one is told
        so and ends."""
        replacement = self.replacement
        if not replacement:
            return
        while replacement.is_alive():
            self.revive()
            replacement.join(0.2)
        self.replacement = None
        assert not replacement.trouble, f"{replacement.old} was not replaced by {replacement.new}: {replacement.trouble}"
        old, new = replacement.old, replacement.new
        self.gone.add(old)
        self.everyone = [i for i in self.everyone if i != old] + [new]
        self.small = new if old == self.small else self.small
        self.on_change()
        left = self.processes[old]
        wait_until(lambda: left.poll() is not None, 20, f"the end of member {old}, which was replaced")
        for_want_of_disk = NO_SPACE in self.log(old)[self.heard[old]:]
        assert left.returncode in (EXPELLED, -signal.SIGKILL) or for_want_of_disk, \
            f"member {old}, which was replaced, ended with {left.returncode}"
        say(f"member {new} has taken the place of {old}, after {replacement.took:.1f} s")

    def heal(self):
        self.tell("heal all")
        self.tell("delay all 0")
        self.revive()
        self.settle()


class Replacement(threading.Thread):
    """A newcomer takes a member's place, by the verbs that an operator has. While others are down or cut off these may
    fail; whoever gets no answer looks what came of it, and asks again."""

    def __init__(self, arena, old, new):
        super().__init__()
        self.arena, self.old, self.new = arena, old, new
        self.address = f"127.0.0.1:{arena.peer_ports[new]}"
        self.trouble, self.took, self.give_up, self.said = None, 0.0, False, ""
        self.start()

    def run(self):
        began = time.monotonic()
        try:
            self.until(self.told, began + REPLACED)
            if self.arena.small == self.old:
                self.arena.shrink(self.new)
            members = [*self.arena.everyone, self.new]
            self.arena.known[self.new] = ",".join(f"{i}=127.0.0.1:{self.arena.peer_ports[i]}" for i in members)
            self.arena.start(self.new)
            self.until(self.done, began + REPLACED)
        except Exception as error:  # the thread that waits for this one will say it
            self.trouble = f"{type(error).__name__}: {error}"
        self.took = time.monotonic() - began

    def until(self, condition, end):
        while not condition():
            assert time.monotonic() < end and not self.give_up, f"{condition.__name__}? {self.said}"
            time.sleep(0.2)

    def ask(self, *words):
        """The lines of JSON that a verb printed."""
        members = self.arena.alive() + [i for i in (self.new,) if i in self.arena.processes]
        run = subprocess.run([CONCLAVE, "member", *words, "--json", "--endpoints",
                              ",".join(self.arena.endpoint(i) for i in members) or "127.0.0.1:1"],
                             capture_output=True, text=True, timeout=60)
        self.said = run.stdout + run.stderr
        return run.stdout

    def listed(self):
        try:
            return {member["id"]: member for member in json.loads(self.ask("list"))}
        except json.JSONDecodeError:
            return {}

    def told(self):
        """The cluster has given the newcomer its id."""
        if any(member["address"] == self.address for member in self.listed().values()):
            return True  # the answer was lost
        for line in self.ask("replace", str(self.old), self.address, "--timeout", "0").splitlines():
            given = json.loads(line).get("member")
            assert given in (None, self.new), f"the id is {given}"
            if given:
                return True
        return False

    def done(self):
        members = self.listed()
        return self.new in members and members[self.new]["votes"] and self.old not in members


# ---- faults: each is done to an arena and a victim, and lasts until what it returns is called. That says NOT_MET if
# nobody felt it

NOT_MET = "not met"


def kill(arena, victims):
    killed = [i for i in victims if arena.processes[i].poll() is None]
    for i in killed:
        arena.processes[i].kill()
    for i in killed:
        arena.processes[i].wait()
    return lambda: [arena.start(i) for i in killed if i not in arena.gone]


def stop(arena, victims):
    for i in victims:
        arena.processes[i].send_signal(signal.SIGSTOP)
    return lambda: [arena.processes[i].send_signal(signal.SIGCONT) for i in victims]


def cut_off(arena, victims):
    for i in victims:
        for j in arena.ever:
            if j not in victims:
                arena.cut_both(i, j)
    return lambda: arena.tell("heal all")


def cut_sending(arena, victims):
    for j in arena.ever:
        if j != victims[0]:
            arena.cut(victims[0], j)
    return lambda: arena.tell("heal all")


def cut_hearing(arena, victims):
    for j in arena.ever:
        if j != victims[0]:
            arena.cut(j, victims[0])
    return lambda: arena.tell("heal all")


def cut_one_link(arena, victims):
    arena.cut_both(victims[0], arena.after(victims[0]))
    return lambda: arena.tell("heal all")


def slow(arena, _):
    arena.tell("delay all 40")
    return lambda: arena.tell("delay all 0")


def reset(arena, _):
    arena.tell("reset all")
    return lambda: arena.tell("reset all")


def hand_over(arena, victims):
    arena.post(victims[0], "/v3/maintenance/transfer-leadership", {"targetID": arena.after(victims[0])})
    return lambda: None


def replace(arena, victims):
    arena.replace(victims[0])
    return lambda: None  # it takes the time that it takes; once everything else is whole, that is waited for


def replace_dead(arena, victims):
    arena.kill(victims[0])
    return replace(arena, victims)


def fill_disk(arena, victims):
    full = victims[0]
    ballast, before = f"{arena.folder}/data{full}/ballast", arena.log(full).count(NO_SPACE)
    with open(ballast, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1 << 16))
        except OSError:
            pass

    def met():
        return arena.log(full).count(NO_SPACE) > before

    def undo():
        for _ in range(120):  # it lives on what it has until it needs more
            if arena.processes[full].poll() is not None or met():
                break
            time.sleep(0.1)
        os.unlink(ballast)
        return None if met() else NOT_MET
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
    ("the leader is replaced", replace, "leader", 1.5),
    ("a follower is replaced", replace, "follower", 1.5),
    ("a dead member is replaced", replace_dead, "follower", 1.5),
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
            "majority": [leader, *others][:arena.size // 2 + 1], "small disk": [arena.small]}[whom]


def possible(arena, act):
    if act is fill_disk:
        return arena.small is not None
    return act not in (replace, replace_dead) or arena.next_id in arena.ever


def torment(arena, plan):
    """Carries the plan out. Returns which faults were done, how often."""
    began, done = time.monotonic(), {}
    for at, chosen, hold in plan:
        time.sleep(max(0.0, began + at - time.monotonic()))
        strike(arena, chosen, hold, done)
    # Two at a time may leave nobody to feel one of them: what came to nothing is done once more, by itself.
    for fault, draw in [each for _, chosen, _ in plan for each in chosen]:
        if possible(arena, fault[1]) and fault[0] not in done:
            strike(arena, [(fault, draw)], fault[3], done)
    return done


def strike(arena, chosen, hold, done):
    """Some faults at a time, until all of them are over."""
    arena.revive()
    undo = []
    for (name, act, whom, _), draw in chosen:
        if not possible(arena, act):
            continue
        if act in (replace, replace_dead):
            arena.settle()  # one after the other: who is replaced cannot be replaced again
        hit = victims(arena, whom, draw)
        say(f"{'and ' if undo else ''}{name}{': ' if hit else ''}{', '.join(map(str, hit))} for {hold:.1f} s")
        undo.append((name, act, act(arena, hit)))
        time.sleep(hold / len(chosen))
    # Who was killed comes back to a disk that is still full.
    for name, _, end in sorted(reversed(undo), key=lambda one: one[1] is fill_disk):
        if end() == NOT_MET:
            say(f"{name}: nobody felt it, so it does not count")
        else:
            done[name] = done.get(name, 0) + 1
    arena.settle()


# ---- clients

class Clients:
    """The load and those who want a lock."""

    def __init__(self, arena, seed, *flags):
        self.arena, self.history = arena, f"{arena.folder}/history.jsonl"
        arena.on_change = self.learn
        self.load = subprocess.Popen([LOAD, self.endpoints(arena.everyone), self.history, str(seed), str(WORKERS), str(PAUSE_MS),
                                      *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        # Each begins at another member, and knows all, with those to come.
        self.contenders = {i: subprocess.Popen(
            [CONTENDER, self.endpoints(arena.ever[i - 1:] + arena.ever[:i - 1]), "door", "1000000", arena.folder, "5"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for i in arena.everyone}

    def endpoints(self, members):
        return ",".join(self.arena.endpoint(i) for i in members)

    def tell(self, line):
        self.load.stdin.write(line + "\n")
        self.load.stdin.flush()
        return int(self.load.stdout.readline())

    def acknowledged(self):
        return self.tell("?")

    def learn(self):
        """Who the members are by now."""
        self.tell("use " + self.endpoints(self.arena.everyone))

    def finish(self):
        """What the load says of itself."""
        self.arena.enough()
        out, _ = self.load.communicate(timeout=120)
        summary = json.loads(out.splitlines()[-1])
        assert summary["written"], "the history could not be written"
        self.arena.finish(self.contenders, 60, may_fail=self.contenders)
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


def enough_happened(summary, plan, done, entries, seconds):
    """For each second planned: on a machine that is busy everything takes longer, and is done all the same."""
    few = []
    never = {fault[0] for _, chosen, _ in plan for fault, _ in chosen} - set(done)
    if never:
        few.append(f"planned and never done: {', '.join(sorted(never))}")
    for what, count, least in (("operations acknowledged", summary["acknowledged"], LEAST_RATE),
                               ("faults", sum(done.values()), LEAST_FAULTS),
                               ("entries into the lock", entries, LEAST_ENTRIES)):
        if count < least * seconds:
            few.append(f"{count} {what}; {least * seconds:.0f} is the least")
    if few:
        raise Void("; ".join(few))


def run(size, seconds, seed):
    say(f"{size} members, {seconds} s, seed {seed}")
    plan = schedule(seed, seconds, FAULTS)
    replaced = sum(fault[1] in (replace, replace_dead) for _, chosen, _ in plan for fault, _ in chosen)
    with Arena(size, min(replaced, MOST_NEWCOMERS)) as arena:
        say(f"logs and history in {arena.folder}")
        clients = Clients(arena, seed)
        try:
            done = torment(arena, plan)
            arena.heal()
            took = goes_on(arena, clients)
            summary = clients.finish()
        finally:
            clients.end()
        entries = arena.check_fences(1)
        verdict = judged(clients.history)
        assert verdict["verdict"] == "linearizable", f"{verdict['verdict']}\n{explained(clients.history)}"
        assert summary["unread_keys"] == 0, f"{summary['unread_keys']} keys could not be read at the end"
        assert not summary["wrong_with_watchers"], f"a watcher was {summary['wrong_with_watchers']}"
        wait_until(lambda: len(set(arena.digests().values())) == 1, 30, "equal stores")
        if not arena.mounted:
            done.setdefault("a disk is full", 0)  # this machine does not allow that
        enough_happened(summary, plan, done, entries, seconds)
        assert not any("event=invariant" in arena.log(i) for i in arena.processes), "a member broke its own rules"
        disk = sum(arena.log(i).count(NO_SPACE) for i in arena.processes)
        return (f"{size} members, seed {seed}: {sum(done.values())} faults of {len(done)} kinds, "
                f"{len(arena.gone)} members replaced, "
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

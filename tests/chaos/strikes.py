"""What befalls a cluster: faults of processes, networks, clocks, machines, disks and clients, each with the evidence that
somebody felt it. Which come when is a function of a seed."""
import dataclasses
import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from typing import Callable

import http2
from arena import EXPELLED, LOST, NO_SPACE, say, wait_until
from harness import CONCLAVE
from http2 import Connection, put

HERE = os.path.dirname(os.path.abspath(__file__))
MOST_NEWCOMERS = 12  # in one run: every two members ever have routes between them
HOUR, YEARS = 3600, 5 * 365 * 86400
BOOT = 1_600_000_000  # the moment at which a frozen image begins, each time


# Each is done to an arena and its victims, and lasts until what it returns is called. That says NOT_MET if nobody felt
# it, and else what the evidence is, if there is more than that it was done.
NOT_MET = "not met"


# ---- processes

def kill(arena, victims):
    killed = [i for i in victims if arena.processes[i].poll() is None]
    for i in killed:
        arena.processes[i].kill()
    for i in killed:
        arena.processes[i].wait()
    return lambda: [arena.start(i) for i in killed if i not in arena.gone] and None


def stop(arena, victims):
    for i in victims:
        arena.processes[i].send_signal(signal.SIGSTOP)
    return lambda: [arena.processes[i].send_signal(signal.SIGCONT) for i in victims] and None


def suspend(arena, victims):
    """As a machine that sleeps: its processes stop, and so does the monotonic clock, while the wall clock goes on."""
    stopped = time.monotonic()
    stop(arena, victims)

    def undo():
        asleep = f"0 asleep {round(time.monotonic() - stopped)}"
        for i in victims:
            arena.set_clock(i, asleep)
            arena.processes[i].send_signal(signal.SIGCONT)
        wait_until(lambda: all(asleep in arena.clock_fired(i) or arena.processes[i].poll() is not None for i in victims), 10,
                   "a member looking at its clock")
        seen = [i for i in victims if asleep in arena.clock_fired(i)]
        return f"{asleep} s, seen by {seen}" if seen else NOT_MET
    return undo


# ---- networks

def cut_off(arena, victims):
    for i in victims:
        for j in arena.ever:
            if j not in victims:
                arena.cut_both(i, j)
    return lambda: heal_links(arena)


def heal_links(arena):
    arena.tell("heal all")


def cut_sending(arena, victims):
    for j in arena.ever:
        if j != victims[0]:
            arena.cut(victims[0], j)
    return lambda: heal_links(arena)


def cut_hearing(arena, victims):
    for j in arena.ever:
        if j != victims[0]:
            arena.cut(j, victims[0])
    return lambda: heal_links(arena)


def cut_one_link(arena, victims):
    arena.cut_both(victims[0], arena.after(victims[0]))
    return lambda: heal_links(arena)


def slow(arena, _):
    arena.tell("delay all 40")
    return lambda: arena.tell("delay all 0") and None


def reset(arena, _):
    arena.tell("reset all")
    return lambda: arena.tell("reset all") and None


def change_bytes(arena, _):
    """What is on the way arrives with a bit flipped, twice, not at all, or after what was said later. Members share a key."""
    over, before = threading.Event(), arena.tell("altered all")

    def lie():
        for how in itertools.cycle(("flip", "flip", "replay", "skip", "swap")):
            arena.tell(f"{how} all")
            if over.wait(0.1):
                return

    liar = threading.Thread(target=lie)
    liar.start()

    def undo():
        over.set()
        liar.join()
        altered = arena.tell("altered all") - before
        return f"{altered} pieces were not as they had been sent" if altered else NOT_MET
    return undo


# ---- members

def hand_over(arena, victims):
    arena.post(victims[0], "/v3/maintenance/transfer-leadership", {"targetID": arena.after(victims[0])})
    return lambda: None


def replace(arena, victims):
    arena.replace(victims[0])
    return lambda: None  # it takes the time that it takes; once everything else is whole, that is waited for


def replace_dead(arena, victims):
    arena.kill(victims[0])
    return replace(arena, victims)


# ---- clocks. A process looks at the wall clock when it writes a line of its log, at the latest

def step_clocks(seconds):
    def act(arena, victims):
        for i in victims:
            arena.set_clock(i, seconds)
        arena.tell("reset all")

        def undo():
            arena.tell("reset all")
            seen = [i for i in victims if str(seconds) in arena.clock_fired(i)]
            for i in victims:
                arena.set_clock(i)
            return f"seen by {seen}" if seen else NOT_MET
        return undo
    return act


def come_back_at(seconds):
    """The process ends and begins again at another time, and then at the right one."""
    def act(arena, victims):
        back = kill(arena, victims)
        for i in victims:
            arena.set_clock(i, seconds)
        back()
        for i in victims:
            wait_until(lambda: arena.serves(i), 15, f"member {i} serving at another time")

        def undo():
            seen = [i for i in victims if str(seconds) in arena.clock_fired(i)]
            again = kill(arena, victims)
            for i in victims:
                arena.set_clock(i)
            again()
            return f"seen by {seen}" if seen else NOT_MET
        return undo
    return act


def frozen_image(arena, victims):
    """The process begins at the same moment each time, and with the same random numbers."""
    seen = 0
    for _ in range(3):
        back = kill(arena, victims)
        for i in victims:
            arena.set_clock(i, f"@{BOOT} {i}")
        back()
        for i in victims:
            wait_until(lambda: arena.serves(i), 15, f"member {i} serving from a frozen image")
        time.sleep(0.7)
        seen += all(arena.clock_fired(i) for i in victims)

    def undo():
        again = kill(arena, victims)
        for i in victims:
            arena.set_clock(i)
        again()
        return f"{seen} boots at the same moment" if seen == 3 else NOT_MET
    return undo


# ---- what a system has only so much of

def no_descriptors(arena, victims):
    hit = [i for i in victims if arena.processes[i].poll() is None]
    for i in hit:
        arena.limit_descriptors(i, arena.descriptors(i))
    missed = [i for i in hit if not arena.serves(i) and arena.processes[i].poll() is None]  # a connection, for the asking

    def undo():
        for i in hit:
            if arena.processes[i].poll() is None:
                arena.limit_descriptors(i)
        return f"no new connection to {missed}" if missed else NOT_MET
    return undo


def bad_disk(*rules, evidence, reread=False):
    """While it lasts, the disk is as the rules say; `reread`: then the process begins again, with what it wrote. A
    snapshot for which there is no room is a reason to end."""
    def act(arena, victims):
        before = {i: len(arena.disk_fired(i)) for i in victims}
        for i in victims:
            arena.expected[i] = "/snapshot-"
            arena.set_disk(i, *rules)

        def undo():
            for i in victims:
                arena.set_disk(i)
            arena.revive()
            for i in victims:
                del arena.expected[i]
            if reread:
                kill(arena, victims)()
            struck = {i: set(arena.disk_fired(i)[before[i]:]) & set(evidence) for i in victims}
            return f"{struck}" if all(len(one) == len(evidence) for one in struck.values()) else NOT_MET
        return undo
    return act


def fill_disk(arena, victims):
    full = victims[0]
    ballast, before = f"{arena.data(full)}/ballast", arena.log(full).count(NO_SPACE)
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


def ends_by_itself(arena, i, words):
    """Its disk said no: it says so, and ends. The others go on meanwhile."""
    status = arena.ended(i, 15)
    assert status is not None, f"member {i} lives on although its disk has failed"
    said = arena.hear(i)
    assert status in (1, 2) and words in said, f"member {i} ended with {status}, and does not say {words}: {said[-600:]}"


def fail_once(arena, victims):
    """A sync says no, once; then a read does, once, at the next start."""
    i, before = victims[0], len(arena.disk_fired(victims[0]))
    arena.expected[i] = "Input/output error"
    arena.set_disk(i, "sync eio 1")

    def undo():
        ends_by_itself(arena, i, "Input/output error")
        arena.set_disk(i, "read eio 1")
        arena.start(i)
        ends_by_itself(arena, i, "Input/output error")
        arena.set_disk(i)
        arena.start(i)
        del arena.expected[i]
        struck = arena.disk_fired(i)[before:]
        return f"{struck}" if {"sync eio", "read eio"} <= set(struck) else NOT_MET
    return undo


# ---- what a directory is found to be

def comes_back_or_is_refused(arena, i):
    """Of a member that has forgotten something: the others tell it so and it ends, or they bring it what it lacks. That
    which was refused is replaced."""
    began = time.monotonic()
    while time.monotonic() < began + 20:
        if arena.ended(i, 0.1) is not None:
            break
        if arena.serves(i) and caught_up(arena, i):
            return "caught up"
    status, said = arena.processes[i].poll(), arena.hear(i)
    assert status == EXPELLED and LOST in said, f"member {i}, which has forgotten something, has status {status}: {said[-600:]}"
    arena.replace(i)
    arena.settle()
    return "refused and replaced"


def caught_up(arena, i):
    """Whether it has what the leader had a moment ago."""
    leader = arena.leader()
    goal = arena.post(leader, "/v3/maintenance/status", {}) if leader else None
    if not goal:
        return False
    end = time.monotonic() + 3
    while time.monotonic() < end:
        mine = arena.post(i, "/v3/maintenance/status", {})
        if mine and int(mine.get("raftAppliedIndex", 0)) >= int(goal["raftAppliedIndex"]):
            return True
        if arena.processes[i].poll() is not None:
            return False
        time.sleep(0.1)
    return False


def others_go_on(arena, i):
    """Until the others have a leader of their own and have committed under it: what it may forget, they have."""
    def they_do():
        leader = arena.leader()
        return leader not in (None, i) and arena.post(leader, "/v3/kv/put", {"key": "Z29lcw==", "value": "b24="}, 2)
    wait_until(they_do, 20, "a write of the others")


def lie(arena, victims):
    """The disk says that it is done and is not; then the power fails. What it forgot is of one member, while all others
    are well: a disk that lies is like one that is lost."""
    i, before = victims[0], len(arena.disk_fired(victims[0]))
    arena.set_disk(i, "sync lies")

    def undo():
        arena.kill(i)
        arena.set_disk(i)
        others_go_on(arena, i)
        arena.start_after_power_cut(i)
        outcome = comes_back_or_is_refused(arena, i)
        struck = arena.disk_fired(i)[before:]
        return f"{struck}, {outcome}" if {"sync lies", "power cut"} <= set(struck) else NOT_MET
    return undo


def power_cut(arena, victims):
    """All at once, with honest disks: what was written since the last sync is gone."""
    before = {i: len(arena.disk_fired(i)) for i in victims}
    for i in victims:
        arena.set_disk(i, "sync noted")
    time.sleep(1.0)

    def undo():
        killed = [i for i in victims if arena.processes[i].poll() is None]
        for i in killed:
            arena.processes[i].kill()
        for i in killed:
            arena.processes[i].wait()
            arena.set_disk(i)
        for i in killed:
            arena.start_after_power_cut(i)
            wait_until(lambda: arena.serves(i) or arena.processes[i].poll() is not None, 15, f"a start of member {i}")
        struck = [i for i in victims if "power cut" in arena.disk_fired(i)[before[i]:]]
        return f"unflushed writes lost by {struck}" if struck else NOT_MET
    return undo


def old_copy(arena, victims):
    """Somebody puts an older copy into the place of a directory."""
    i = victims[0]
    copy = f"{arena.folder}/copy{i}"
    arena.kill(i)
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(arena.data(i), copy)
    arena.start(i)
    wait_until(lambda: arena.serves(i), 15, f"member {i} serving")

    def undo():
        wait_until(lambda: caught_up(arena, i), 15, f"member {i} catching up")
        arena.kill(i)
        others_go_on(arena, i)
        changed = 0
        for name in os.listdir(arena.data(i)):
            path, old = f"{arena.data(i)}/{name}", f"{copy}/{name}"
            changed += name.startswith("log-") and (not os.path.exists(old) or content(path) != content(old))
            os.unlink(path)
        for name in os.listdir(copy):
            shutil.copyfile(f"{copy}/{name}", f"{arena.data(i)}/{name}")
        shutil.rmtree(copy)
        arena.start(i)
        outcome = comes_back_or_is_refused(arena, i)
        return f"{changed} files of the log were others, {outcome}" if changed else NOT_MET
    return undo


def content(path):
    with open(path, "rb") as file:
        return file.read()


# A start with less of these must be refused, but of a snapshot that has a newer one beside it.
PROMISES = ("log-", "snapshot-", "DURABLE", "STARTS", "VERSION")


def damage(path, zeroed, draw):
    """The end of what a file holds is gone, or full of zeros. None: it holds nothing."""
    whole = content(path)
    used = len(whole.rstrip(b"\0"))
    if used == 0:
        return None
    kept = int(used * draw) if draw < 0.7 else used - 1  # from the middle of something, or the last byte
    with open(path, "r+b") as file:
        file.truncate(kept)
        if zeroed:
            file.truncate(len(whole))
    return whole


def write_until_saved(arena, i):
    """Until there is a snapshot, which comes after so many entries."""
    connection = Connection(arena.client_ports[i], patience=15)
    end = time.monotonic() + 60
    while not any(name.startswith("snapshot-") and "." not in name for name in os.listdir(arena.data(i))):
        assert time.monotonic() < end, f"member {i} writes no snapshot"
        asked = [connection.ask(http2.PUT, put("tails", "x")) for _ in range(500)]
        for number in asked:
            connection.answer(number, 15)
    connection.close()


def damaged_tails(arena, victims, draw=None):
    """Every file of a member that does not run, one after the other: cut, and full of zeros from there on."""
    i, dice = victims[0], random.Random(arena.next_id if draw is None else draw)
    write_until_saved(arena, i)
    arena.kill(i)
    arena.hear(i)
    refused, harmless = [], []
    older = sorted(name for name in os.listdir(arena.data(i)) if name.startswith("snapshot-") and "." not in name)[:-1]
    for name in sorted(os.listdir(arena.data(i))):
        for zeroed in (False, True):
            path = f"{arena.data(i)}/{name}"
            whole = damage(path, zeroed, dice.random()) if os.path.exists(path) else None
            if whole is None:
                continue
            arena.start(i)
            wait_until(lambda: arena.processes[i].poll() is not None or arena.serves(i), 15, f"a start of member {i}")
            if arena.processes[i].poll() is None:
                assert not name.startswith(PROMISES) or name.endswith((".draft", ".partial")) or name in older, \
                    f"member {i} starts without the end of {name}, {'zeroed' if zeroed else 'cut'} from byte {kept_of(path)} on"
                harmless.append(name)
                arena.kill(i)
                continue
            said = arena.hear(i)
            assert arena.processes[i].returncode in (1, 2) and name in said, \
                f"member {i}, without the end of {name}, ends with {arena.processes[i].returncode}: {said[-600:]}"
            refused.append(name)
            with open(path, "wb") as file:
                file.write(whole)

    def undo():
        arena.start(i)
        say(f"refused without the ends of {sorted(set(refused))}; harmless: {sorted(set(harmless))}")
        return f"{len(refused)} starts refused" if refused else NOT_MET
    return undo


def kept_of(path):
    return len(content(path).rstrip(b"\0"))


# ---- clients that others suffer from

def besiege(attack):
    """A hostile client, at one member."""
    def act(arena, victims):
        process = subprocess.Popen([sys.executable, "-B", f"{HERE}/hostile.py", CONCLAVE, "--short", "--seconds", "1.5",
                                    "--port", str(arena.client_ports[victims[0]]), "--attack", attack],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

        def undo():
            try:
                did, _ = process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                return NOT_MET
            assert process.returncode != 1, did
            return did.strip() if process.returncode == 0 else NOT_MET
        return undo
    return act


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str
    act: Callable
    whom: str
    most: float  # seconds
    least: float = 0  # 0: three tenths of that
    alone: bool = False  # nothing else happens meanwhile
    # Whose readers may wait while it lasts: "all", or the victims' only, once there was time for an election.
    readers: str = "all"


FAULTS = [
    Fault("the leader is killed", kill, "leader", 2.0, readers="victims"),
    Fault("a follower is killed", kill, "follower", 2.0, readers="victims"),
    Fault("the leader is killed and stays away", kill, "leader", 6.0, 6.0, alone=True, readers="victims"),
    Fault("all are killed", kill, "all", 1.0),
    Fault("a majority is killed", kill, "majority", 2.0),
    Fault("the leader is stopped", stop, "leader", 2.5, readers="victims"),
    Fault("a follower is stopped", stop, "follower", 2.5, readers="victims"),
    Fault("the leader sleeps", stop, "leader", 9.0, 7.0, alone=True, readers="victims"),
    Fault("a follower sleeps", stop, "follower", 9.0, 7.0, readers="victims"),
    Fault("all sleep", stop, "all", 6.0, 3.0),
    Fault("the leader's machine is suspended", suspend, "leader", 8.0, 5.0, alone=True, readers="victims"),
    Fault("all machines are suspended", suspend, "all", 8.0, 5.0, alone=True),
    Fault("the leader is cut off", cut_off, "leader", 4.0, readers="victims"),
    Fault("a follower is cut off", cut_off, "follower", 3.0, readers="victims"),
    Fault("a minority with the leader is cut off", cut_off, "minority", 4.0),
    Fault("nobody hears the leader", cut_sending, "leader", 3.0),
    Fault("the leader hears nobody", cut_hearing, "leader", 3.0),
    Fault("nobody hears a follower", cut_sending, "follower", 3.0),
    Fault("one link is cut", cut_one_link, "leader", 3.0),
    Fault("links are slow", slow, "nobody", 3.0),
    Fault("links are reset", reset, "nobody", 0.5),
    Fault("links change what they carry", change_bytes, "nobody", 3.0, alone=True),
    Fault("the leader hands over", hand_over, "leader", 0.5),
    Fault("the leader is replaced", replace, "leader", 1.5),
    Fault("a follower is replaced", replace, "follower", 1.5),
    Fault("a dead member is replaced", replace_dead, "follower", 1.5),
    Fault("the leader's clock goes back an hour", step_clocks(-HOUR), "leader", 3.0, 1.0),
    Fault("all clocks leap by years", step_clocks(YEARS), "all", 3.0, 1.0),
    Fault("the leader comes back an hour ago", come_back_at(-HOUR), "leader", 2.0, alone=True),
    Fault("a follower comes back in years", come_back_at(YEARS), "follower", 2.0, alone=True),
    Fault("all come back in an hour", come_back_at(HOUR), "all", 2.0, alone=True),
    Fault("a frozen image", frozen_image, "anyone", 1.0, alone=True),
    Fault("frozen images everywhere", frozen_image, "all", 1.0, alone=True),
    Fault("no descriptors are left", no_descriptors, "anyone", 3.0, alone=True),
    Fault("no memory for the disk", bad_disk("write enomem", evidence=["write enomem"]), "anyone", 2.5, alone=True),
    Fault("calls are interrupted", bad_disk("any eintr", evidence=["any eintr"]), "anyone", 2.0, alone=True),
    Fault("calls do half", bad_disk("any short", evidence=["any short"], reread=True), "anyone", 2.0, alone=True),
    Fault("a disk is full", fill_disk, "small disk", 8.0),
    Fault("a disk says that it is full", bad_disk("write enospc", evidence=["write enospc"]), "anyone", 2.5, alone=True),
    Fault("a disk is slow", bad_disk("sync slow 60", "write slow 10", evidence=["sync slow"]), "anyone", 4.0, alone=True),
    Fault("the leader's disk is stuck", bad_disk("sync stuck", "write stuck", evidence=["write stuck"]), "leader", 4.0, 2.0,
          alone=True),
    Fault("a disk fails once", fail_once, "anyone", 1.5, alone=True),
    Fault("a disk lies", lie, "anyone", 2.0, alone=True),
    Fault("the power fails everywhere", power_cut, "all", 1.0, alone=True),
    Fault("an old copy of a directory", old_copy, "follower", 2.0, alone=True),
    Fault("tails of files are gone", damaged_tails, "follower", 0.5, alone=True),
    *[Fault(f"hostile: {attack}", besiege(attack), "anyone", 3.0) for attack in (
        "rapid reset", "unknown frames", "deep JSON", "slow requests", "half-sent messages", "refused streams, nothing read",
        "waiters that leave", "a huge client", "thousands of watch streams", "pings of an idle client")],
]
NEED_NEWCOMERS = (replace, replace_dead, lie, old_copy)


def schedule(seed, seconds, faults):
    """What happens when: a function of the seed. Every fault comes before any comes again; some come while another
    lasts."""
    dice = random.Random(f"chaos {seed}")
    at, plan, deck = 1.5, [], []

    def draw():
        nonlocal deck
        if not deck:
            deck = list(faults)
            dice.shuffle(deck)
        return deck.pop(), dice.random()

    while at < seconds:
        chosen = [draw()]
        if dice.random() < 0.25 and not chosen[0][0].alone:
            second = draw()
            if second[0].alone:
                deck.insert(0, second[0])
            else:
                chosen.append(second)
        most = max(fault.most for fault, _ in chosen)
        least = max(fault.least or 0.3 * fault.most for fault, _ in chosen)
        hold = least + dice.random() * (max(most, least) - least)
        plan.append((at, chosen, hold))
        at += hold + dice.uniform(0.4, 1.8)
    return plan


def victims(arena, whom, draw):
    leader = arena.leader() or arena.everyone[int(draw * arena.size)]
    others = [i for i in arena.everyone if i != leader]
    first = int(draw * len(others))
    others = others[first:] + others[:first]
    return {"leader": [leader], "follower": others[:1], "all": list(arena.everyone), "nobody": [],
            "anyone": [arena.everyone[int(draw * len(arena.everyone))]],
            "minority": [leader, *others][:(arena.size - 1) // 2],
            "majority": [leader, *others][:arena.size // 2 + 1], "small disk": [arena.small]}[whom]


def possible(arena, act):
    if act is fill_disk:
        return arena.small is not None
    return act not in NEED_NEWCOMERS or arena.next_id in arena.ever


def torment(arena, plan):
    """Carries the plan out. Returns which faults were done, how often."""
    began, done = time.monotonic(), {}
    for at, chosen, hold in plan:
        time.sleep(max(0.0, began + at - time.monotonic()))
        strike(arena, chosen, hold, done)
    # Two at a time may leave nobody to feel one of them: what came to nothing is done once more, by itself.
    for fault, draw in [each for _, chosen, _ in plan for each in chosen]:
        if possible(arena, fault.act) and fault.name not in done:
            strike(arena, [(fault, draw)], fault.most, done)
    return done


def strike(arena, chosen, hold, done):
    """Some faults at a time, until all of them are over."""
    arena.revive()
    if any(fault.alone for fault, _ in chosen):
        arena.wait_for_all()
    began, undo = time.monotonic(), []
    for fault, draw in chosen:
        if not possible(arena, fault.act):
            continue
        if fault.act in NEED_NEWCOMERS:
            arena.settle()  # one after the other: who is replaced cannot be replaced again
        hit = victims(arena, fault.whom, draw)
        say(f"{'and ' if undo else ''}{fault.name}{': ' if hit else ''}{', '.join(map(str, hit))} for {hold:.1f} s")
        undo.append((fault, hit, fault.act(arena, hit)))
        time.sleep(hold / len(chosen))
    # Who was killed comes back to a disk that is still full.
    for fault, hit, end in sorted(reversed(undo), key=lambda one: one[0].act is fill_disk):
        evidence = end()
        if evidence == NOT_MET:
            say(f"{fault.name}: nobody felt it, so it does not count")
            continue
        done[fault.name] = done.get(fault.name, 0) + 1
        if evidence:
            say(f"{fault.name}: {evidence}")
    arena.settle()
    arena.troubles += [(began, time.monotonic(), fault.readers, [arena.endpoint(i) for i in hit]) for fault, hit, _ in undo]

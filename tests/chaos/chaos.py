#!/usr/bin/env python3
"""A Raft cluster of real processes under faults, judged by what its clients were told.

   chaos.py CONCLAVE CONTENDER LINK_PROXY CHAOS_LOAD CHAOS_KEEPERS BAD_DISK CLOCK_STEP
            [--members N] [--seconds N] [--seed N] [--times N] [--only WORD]… [--readers N] [--patience N]
            [--prove] [--caught] [--list]

While clients write, read, watch, keep leases, lead, listen and contend for a lock, members are killed, stopped, cut off,
slowed down and replaced, their clocks leap, their disks fail, and strangers attack them, as the seed says. Then everything
heals, and has to go on. docs/chaos.md says what befalls them and what is checked. --only: of the faults, those whose
names have the word. --times: so many runs, with the seeds that follow. --readers: at each member. --patience: so many
seconds until everything has to go on. --prove: shows that a broken history is found out. --caught: turned round, for
members that are broken on purpose: status 0 means that something was found.

Exit status: 0 all promises were kept, 1 one was broken (what is left says where to look), 3 void: too little happened
for that to mean anything.
"""
import json
import os
import random
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from arena import NO_SPACE, Arena, Void, say  # noqa: E402
from clients import READERS, Clients, check_keepers, check_reads, explained, judged  # noqa: E402
from harness import MISTAKES, Skipped, wait_until  # noqa: E402
from strikes import FAULTS, MOST_NEWCOMERS, NEED_NEWCOMERS, cut_hearing, cut_off, cut_sending, schedule, torment  # noqa: E402

# What must have happened for each second planned, or a run says nothing.
LEAST_RATE = 40  # acknowledged operations
LEAST_READS = 40
LEAST_FAULTS = 0.12
LEAST_ENTRIES = 2  # into the lock
LEAST_HELD = 0.2  # times that a lock without a lease was had


def flag(name, otherwise):
    return int(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else otherwise


PROGRESS = flag("--patience", 15)  # seconds after which everything must go on, once everything is whole


# ---- one run

def goes_on(arena, clients):
    """After everything healed: every member serves, and clients that were there all the time get answers."""
    began = time.monotonic()
    before, reads = clients.acknowledged(), clients.read()
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
    soon(lambda: clients.read() >= reads + 200, "progress of the readers")
    soon(lambda: len(arena.fences()) >= fences + 3, "entries into the lock")
    return time.monotonic() - began


def enough_happened(summary, kept, plan, done, entries, seconds):
    """For each second planned: on a machine that is busy everything takes longer, and is done all the same."""
    few = []
    never = {fault.name for _, chosen, _ in plan for fault, _ in chosen} - set(done)
    if never:
        few.append(f"planned and never done: {', '.join(sorted(never))}")
    for what, count, least in (("operations acknowledged", summary["acknowledged"], LEAST_RATE),
                               ("reads answered", kept["reads"], LEAST_READS),
                               ("faults", sum(done.values()), LEAST_FAULTS),
                               ("entries into the lock", entries, LEAST_ENTRIES),
                               ("entries without a lease", kept["held"], LEAST_HELD)):
        if count < least * seconds:
            few.append(f"{count} {what}; {least * seconds:.0f} is the least")
    if few:
        raise Void("; ".join(few))


def run(size, seconds, seed, faults):
    say(f"{size} members, {seconds} s, seed {seed}")
    plan = schedule(seed, seconds, faults)
    replaced = sum(fault.act in NEED_NEWCOMERS for _, chosen, _ in plan for fault, _ in chosen)
    with Arena(size, min(replaced, MOST_NEWCOMERS)) as arena:
        say(f"logs and history in {arena.folder}")
        clients = Clients(arena, seed, readers=flag("--readers", READERS))
        try:
            done = torment(arena, plan)
            arena.heal()
            took = goes_on(arena, clients)
            summary, kept = clients.finish()
        finally:
            clients.end()
        entries = arena.check_fences(1)
        verdict = judged(clients.history)
        assert verdict["verdict"] == "linearizable", f"{verdict['verdict']}\n{explained(clients.history)}"
        assert summary["unread_keys"] == 0, f"{summary['unread_keys']} keys could not be read at the end"
        assert not summary["wrong_with_watchers"], f"a watcher was {summary['wrong_with_watchers']}"
        check_keepers(kept)
        slow = check_reads(clients, arena.troubles)
        wait_until(lambda: len(set(arena.digests().values())) == 1, 30, "equal stores")
        if not arena.mounted:
            done.setdefault("a disk is full", 0)  # this machine does not allow that
        enough_happened(summary, kept, plan, done, entries, seconds)
        assert not any("event=invariant" in arena.log(i) for i in arena.processes), "a member broke its own rules"
        disk = sum(arena.log(i).count(NO_SPACE) for i in arena.processes)
        return (f"{size} members, seed {seed}: {sum(done.values())} faults of {len(done)} kinds, "
                f"{len(arena.gone)} members replaced, "
                f"{verdict['operations']} operations on {verdict['keys']} keys ({verdict['unknown']} unknown), "
                f"{summary['watches']} watches, {kept['reads']} reads, {slow} of them slow and none stuck, "
                f"{kept['renewals']} renewals, {kept['leases_lost']} leases lost in time, {kept['proclaimed']} proclamations, "
                f"{clients.leases.ended} leases ended that nobody kept, "
                f"a lock without a lease was had {kept['held']} times and lost {kept['locks_lost']} times, "
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
    cuts = [fault for fault in FAULTS if fault.act in (cut_off, cut_sending, cut_hearing)]
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


def main():
    words = [sys.argv[i + 1] for i, word in enumerate(sys.argv) if word == "--only"]
    faults = [fault for fault in FAULTS if not words or any(word in fault.name for word in words)]
    if "--list" in sys.argv:
        print("\n".join(fault.name for fault in faults))
        return 0
    seed = flag("--seed", random.SystemRandom().randrange(10**6))
    status = 0
    jobs = [lambda: prove(seed)] if "--prove" in sys.argv else [
        lambda s=seed + n: run(flag("--members", 3), flag("--seconds", 60), s, faults) for n in range(flag("--times", 1))]
    for job in jobs:
        try:
            say("ok: " + job())
        except Skipped as reason:
            say(f"skipped: {reason}")
        except Void as why:
            say(f"VOID: {why}")
            status = status or 3
        except MISTAKES:
            raise
        except Exception as error:  # the other runs are still worth it
            say(f"FAILED: {type(error).__name__}: {error}")
            status = 1
    if "--caught" in sys.argv:
        print("found out" if status == 1 else "not found out")
        return {1: 0, 0: 1}.get(status, status)
    return status


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Members with a line that is wrong (twin_lines.cmake), each of which one of the attacks and faults must find out.

   prove.py CHAOS_SERVER CONTENDER LINK_PROXY CHAOS_LOAD CHAOS_KEEPERS BAD_DISK CLOCK_STEP [--short] [--sound]
            [--at-once N] [TWIN…]

--short: those that are found in some seconds, for the tests. --sound: the same attacks and faults, and nothing is wrong;
then nothing may be found. The last lines are a table: what found which twin, and after how long. Exit status: 0 every twin
was found out, 1 one was not, 3 void.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = sys.argv[1:8]


class Finder:
    """What must find a twin: in words, and as a command."""

    def __init__(self, words, command, short=True):
        self.words, self.command, self.short = words, command, short


def attack(name, short=True, strictly=False):
    judged = [] if strictly else ["--short"]  # as on an idle machine, or as on a busy one
    return Finder(name, [f"{HERE}/hostile.py", PROGRAMS[0], *judged, "--attack", name], short)


def fault(name, *flags, seconds=3, seed=1):
    return Finder(name, [f"{HERE}/chaos.py", *PROGRAMS, "--members", "3", "--seconds", str(seconds), "--seed", str(seed),
                         "--patience", "5", "--only", name, *flags], short=False)


def restarts(words, *flags):
    return Finder(words, [f"{HERE}/restarts.py", PROGRAMS[0], PROGRAMS[6], "--seed", "1", "--patience", "5", *flags])


TWINS = {
    "numbers_by_the_clock": restarts("clocks drawn at each start", "--members", "1", "--restarts", "24"),
    "takes_numbers_for_names": restarts("the same moment at each start", "--members", "1", "--restarts", "24", "--frozen"),
    "counts_by_the_wall_clock": restarts("clocks that leap while leases run", "--members", "1", "--restarts", "60"),
    "forgets_silent_watchers": attack("a watch beside wide ranges"),
    "counts_pings_for_ever": attack("pings of an idle client"),
    "drops_answers": attack("small calls beside a wide range"),
    "believes_any_frame": fault("links change what they carry"),
    "reads_in_the_log": attack("wide compares", strictly=True),
    "makes_whole_answers": attack("one transaction of many ranges"),
    "copies_states": attack("snapshots not taken"),
    "has_no_turns": attack("waiters that leave"),
    "keeps_what_lived_with_connections": attack("waiters that leave"),
    "renews_nothing_in_the_log": attack("keep-alive streams that leave"),
    "takes_scarcity_for_failure": fault("no descriptors are left"),
    "leaves_the_soft_limit": attack("more connections than descriptors"),
    "gives_one_address_all": attack("all connections of one address"),
    "counts_no_memory": attack("half-sent messages"),
    "keeps_first_words": attack("long first words", short=False, strictly=True),
    "keeps_history_for_ever": attack("values that are replaced"),
    "compacts_what_watchers_need": attack("a watch that is read in spurts"),
    "asks_only_once": fault("leader is killed", "--readers", "15", seconds=16, seed=2),
    "gives_up_when_interrupted": fault("calls are interrupted"),
    "writes_half": fault("calls do half"),
    "believes_short_files": fault("tails of files are gone"),
    "does_not_flush": fault("the power fails everywhere"),
}
VOID = 3
SOUND = "--sound" in sys.argv


def planted():
    """The twins that there are."""
    with open(f"{HERE}/twin_lines.cmake") as file:
        return set(re.findall(r'twin\(\\"(\w+)\\"\)', file.read()))


def tried(twin):
    """Whether it was found out, by what, and how soon."""
    began, finder = time.monotonic(), TWINS[twin]
    chosen = {} if SOUND else {"CONCLAVE_TWIN": twin}
    for _ in range(2):  # a machine that is busy may leave nobody to feel it
        run = subprocess.run([sys.executable, "-B", *finder.command, *([] if SOUND else ["--caught"])], capture_output=True,
                             text=True, timeout=300, env={**os.environ, **chosen})
        if run.returncode != VOID:
            break
    lines = [line for line in (run.stdout + run.stderr).splitlines() if line not in ("found out", "not found out", "")]
    by = next((line for line in reversed(lines) if "FAIL" in line or "ok" in line), lines[-1] if lines else "")
    verdict = {0: "held" if SOUND else "found", VOID: "VOID"}.get(run.returncode, "FAIL")
    took = time.monotonic() - began
    print(f"{verdict:5} {twin}: {by.strip()[:300]} ({took:.1f} s)", flush=True)
    return run.returncode, f"{verdict:5} | {twin:26} | {finder.words:34} | {took:5.1f} s"


def main():
    at_once = int(sys.argv[sys.argv.index("--at-once") + 1]) if "--at-once" in sys.argv else 2
    if planted() != set(TWINS):
        print(f"FAIL  planted or to be found, and not both: {', '.join(sorted(planted() ^ set(TWINS)))}")
        return 1
    wanted = [word for word in sys.argv[8:] if word in TWINS] \
        or [twin for twin, finder in TWINS.items() if finder.short or "--short" not in sys.argv]
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        found = list(pool.map(tried, wanted))
    print(*[row for _, row in found], sep="\n", flush=True)
    statuses = {status for status, _ in found}
    return 0 if statuses == {0} else VOID if statuses <= {0, VOID} else 1


if __name__ == "__main__":
    sys.exit(main())

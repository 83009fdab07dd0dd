#!/usr/bin/env python3
"""The checker against Spin: the same steps, the same states, in turns in one run.

    bench/checker.py [--quick] [--spin-only] [--only TEXT] [--rounds N] [--ways] [--json]

Builds pan, Spin's explorer, for the models in bench/spin, and runs it in turns with `conclave check` for the same
configuration; `conclave` is $CONCLAVE, or build/release/conclave. Fails if a search is not complete, if anything
is found wrong, or if the two count different numbers of states. The speed goals are only marked: a machine that
others use at the same time may miss them.
"""
import argparse
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = ROOT / "build" / "spin"

# Every state, kept exactly, no partial order reduction; what pan need not look after is switched off.
EXHAUSTIVE = ["-O2", "-w", "-DSAFETY", "-DNOFAIR", "-DNOBOUNDCHECK", "-DMEMLIM=12000"]
ALL_STATES = EXHAUSTIVE + ["-DNOREDUCE"]
# pan masks out padding before it stores a state. Without that it is faster and takes more memory, so the better
# of the two counts: the faster one for speed, the smaller one for memory.
CONTENDERS = {"masked": ALL_STATES, "unmasked": ALL_STATES + ["-DNOCOMP"]}
OTHER_WAYS = {
    "reduced": EXHAUSTIVE,  # by partial order
    "collapse": ALL_STATES + ["-DCOLLAPSE"],
    "hc4": ALL_STATES + ["-DHC4"],  # keeps a hash of each state: may lose some
}

SPEED_GOAL, MEMORY_GOAL, WORKERS_GOAL = 2.0, 0.5, 1.7
TOO_SHORT = 1.0  # seconds of pan below which rates say little


@dataclass
class Configuration:
    name: str
    model: str
    macros: list
    check: list  # arguments of `conclave check`
    slots: int  # of pan's hash table, as a power of two: the next above the number of states
    large: bool = False
    different: str = ""  # why the two do not count the same states, if they do not


def ricart_agrawala(entries, slots, **more):
    return Configuration(
        f"Ricart-Agrawala, N=3, {entries} entries",
        "ricart_agrawala",
        ["-DN=3", f"-DENTRIES={entries}"],
        ["ricart-agrawala", "--nodes", "3", "--entries", str(entries), "--tells", "0", "--fifo", "--property", "EM1"],
        slots,
        **more,
    )


def bakery(entries, slots, **more):
    return Configuration(
        f"bakery, N=3, {entries} {'entry' if entries == 1 else 'entries'}",
        "bakery",
        ["-DN=3", f"-DENTRIES={entries}"],
        ["bakery", "--nodes", "3", "--entries", str(entries), "--set", "tokens=0", "--no-starvation", "--property", "EM1"],
        slots,
        **more,
    )


def chang_roberts(nodes, slots, **more):
    return Configuration(
        f"Chang-Roberts, N={nodes}, rising ids",
        "chang_roberts",
        [f"-DN={nodes}"],
        ["chang-roberts", "--nodes", str(nodes), "--entries", "1", "--set", "ring=rising", "--property", "E1"],
        slots,
        **more,
    )


CONFIGURATIONS = [
    ricart_agrawala(2, slots=21),
    bakery(1, slots=13),
    chang_roberts(5, slots=13),
    ricart_agrawala(3, slots=25, large=True),
    bakery(5, slots=24, large=True),
    chang_roberts(9, slots=22, large=True),
]


class Failure(Exception):
    pass


@dataclass
class Run:
    """One complete exploration, by whomever."""

    states: int
    edges: int
    depth: int
    cpu: float  # seconds of processor time of the whole process
    wall: float  # seconds, as it says itself
    bytes: int  # held for states, as it says itself; of pan, its hash table too, its stack not
    resident: int  # at most, as the system says
    vector: int = 0  # bytes of pan's state vector


@dataclass
class Best:
    """The best of several runs that all found the same."""

    runs: list = field(default_factory=list)

    def add(self, run):
        if self.runs and (run.states, run.edges) != (self.runs[0].states, self.runs[0].edges):
            raise Failure(f"{run.states} states and {run.edges} edges; before, {self.states} and {self.edges}")
        self.runs.append(run)

    def __getattr__(self, what):
        if what in ("states", "edges", "depth", "vector"):
            return getattr(self.runs[0], what)
        if what in ("cpu", "wall", "bytes", "resident"):
            return min(getattr(run, what) for run in self.runs)
        raise AttributeError(what)

    @property
    def rate(self):
        return self.states / max(self.cpu, 0.001)

    @property
    def bytes_per_state(self):
        return self.bytes / self.states


# In a process of its own: whoever starts another passes its own peak of memory on to it, as the system counts.
TOUCH = """
import mmap, sys
size = int(sys.argv[1])
with mmap.mmap(-1, size) as memory:
    memory.madvise(mmap.MADV_HUGEPAGE)
    for at in range(0, size, 4096):
        memory[at] = 1
"""


def touch(size):
    """Uses so much memory once. A virtual machine's host takes back what no process uses, and whoever asks for it
    first pays for getting it again, up to a tenth of a run; after this nobody does."""
    subprocess.run([sys.executable, "-c", TOUCH, str(size + (2 << 20))], check=True)


def timed(command):
    """Its output, exit status, and what it used."""
    with subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return output, process.returncode, usage


def build_pan(configuration, way, flags):
    folder = BUILD / (configuration.model + "".join(configuration.macros).replace("-D", "_").replace("=", ""))
    folder.mkdir(parents=True, exist_ok=True)
    pan = folder / f"pan_{way}"
    model = HERE / "spin" / f"{configuration.model}.pml"
    for command in (
        ["spin", "-a", *configuration.macros, str(model)],
        ["gcc", *flags, "-o", str(pan), "pan.c"],
    ):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise Failure(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return pan


def run_pan(pan, configuration):
    output, _, usage = timed([pan, "-m1000", f"-w{configuration.slots}"])

    def number(pattern):
        found = re.search(pattern, output)
        if not found:
            raise Failure(f"{pan.name} says nothing like '{pattern}':\n{output}")
        return float(found.group(1))

    incomplete = "Search not completed" in output or "too small" in output or "out of memory" in output
    if incomplete or number(r"errors: (\d+)") != 0:
        raise Failure(f"{pan.name} did not complete, or found an error:\n{output}")
    states = int(number(r"(\d+) states, stored"))
    vector = int(number(r"State-vector (\d+) byte"))
    # Its hash table and the states; when it does not mask, pan gives the sum of all it holds.
    if "actual memory usage for states" in output:
        held = number(r"([\d.]+)\s+actual memory usage for states") + number(r"([\d.]+)\s+memory used for hash table")
    else:
        held = number(r"([\d.]+)\s+memory usage \(Mbyte\)")
    return Run(
        states=states,
        edges=int(number(r"(\d+) transitions")) - 1,  # pan counts the way into the first state
        depth=int(number(r"depth reached (\d+)")),
        cpu=usage.ru_utime + usage.ru_stime,
        wall=number(r"elapsed time ([\d.]+)"),
        bytes=int(held * 2**20),
        resident=usage.ru_maxrss * 1024,
        vector=vector,
    )


def check_command(conclave, configuration, workers):
    command = [conclave, "check", *configuration.check, "--no-partial-order", "--no-symmetry"]
    return [str(part) for part in [*command, "--workers", workers, "--json"]]


def run_side_by_side(conclave, configuration):
    """Seconds that each of two searches takes that have nothing in common but the machine: two workers of one search
    cannot be faster than that."""
    command = check_command(conclave, configuration, 1)
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    return max(json.loads(process.communicate()[0])["seconds"] for process in both)


def run_conclave(conclave, configuration, workers):
    command = check_command(conclave, configuration, workers)
    words = " ".join(command)
    output, status, usage = timed(command)
    if status != 0:
        raise Failure(f"{words}: exit status {status}\n{output}")
    try:
        report = json.loads(output)
    except json.JSONDecodeError as error:
        raise Failure(f"{words}: not JSON ({error}):\n{output[:500]}") from error
    if not report["complete"] or not report["holds"]:
        raise Failure(f"{words}: not complete, or does not hold:\n{output}")
    return Run(
        states=report["states"],
        edges=report["edges"],
        depth=report["depth"],
        cpu=usage.ru_utime + usage.ru_stime,
        wall=report["seconds"],
        bytes=report["bytes"],
        resident=usage.ru_maxrss * 1024,
    )


@dataclass
class Result:
    configuration: Configuration
    pan: dict = field(default_factory=lambda: {way: Best() for way in CONTENDERS})
    other: dict = field(default_factory=dict)
    ours: dict = field(default_factory=dict)  # by number of workers
    side_by_side: float = float("inf")  # seconds, the best of several

    @property
    def fastest(self):
        return max(self.pan.values(), key=lambda best: best.rate)

    @property
    def smallest(self):
        return min(self.pan.values(), key=lambda best: best.bytes)

    @property
    def speed(self):
        return self.ours[1].rate / self.fastest.rate

    @property
    def memory(self):
        return self.ours[1].bytes_per_state / self.smallest.bytes_per_state

    @property
    def speed_up(self):
        return self.ours[1].wall / max(self.ours[2].wall, 0.000001)

    @property
    def speed_up_limit(self):
        return 2 * self.ours[1].wall / self.side_by_side

    @property
    def largest(self):
        """Bytes that any run held so far."""
        return max((run.resident for best in [*self.pan.values(), *self.ours.values()] for run in best.runs), default=0)

    @property
    def short(self):
        return self.fastest.cpu < TOO_SHORT


def compare_counts(result):
    theirs = result.fastest
    for workers, ours in result.ours.items():
        if ours.states != theirs.states and not result.configuration.different:
            raise Failure(
                f"Spin finds {theirs.states} states, conclave with {workers} "
                f"worker(s) {ours.states}: the models differ, or states were lost"
            )
        if ours.edges != theirs.edges and not result.configuration.different:
            raise Failure(
                f"Spin takes {theirs.edges} steps, conclave with {workers} "
                f"worker(s) {ours.edges}, between as many states: one of them leaves steps out"
            )


def measure(configuration, conclave, rounds, other_ways):
    result = Result(configuration)
    pans = {way: build_pan(configuration, way, flags) for way, flags in CONTENDERS.items()}
    if conclave:
        result.ours = {1: Best(), 2: Best()}
    for turn in range(rounds):
        tell(f"{configuration.name}: round {turn + 1} of {rounds}")
        for way, pan in pans.items():
            touch(result.largest)
            result.pan[way].add(run_pan(pan, configuration))
        for workers, best in result.ours.items():
            touch(result.largest)
            best.add(run_conclave(conclave, configuration, workers))
        if conclave:
            touch(2 * result.largest)
            result.side_by_side = min(result.side_by_side, run_side_by_side(conclave, configuration))
        compare_counts(result)
    for way, flags in OTHER_WAYS.items() if other_ways else ():
        tell(f"{configuration.name}: pan, {way}")
        result.other[way] = run_pan(build_pan(configuration, way, flags), configuration)
    return result


def tell(what):
    if sys.stderr.isatty():
        print(f"\r\033[K{what}", end="", file=sys.stderr, flush=True)


def print_table(head, rows):
    rows = [[str(cell) for cell in row] for row in [head, *rows]]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]

    def line(row):
        cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        return "| " + " | ".join(cells) + " |"

    print(line(rows[0]))
    print("|" + "-" * (widths[0] + 2) + "|" + "".join("-" * (width + 1) + ":|" for width in widths[1:]))
    for row in rows[1:]:
        print(line(row))
    print()


def millions(rate):
    return f"{rate / 1e6:.2f}"


def print_comparison(results):
    rows = []
    for r in results:
        row = [r.configuration.name, f"{r.fastest.states:,}", f"{r.fastest.edges:,}"]
        row += [f"{r.fastest.cpu:.2f}", millions(r.fastest.rate)]
        if r.ours:
            row += [millions(r.ours[1].rate), f"{r.speed:.2f}", f"{r.speed_up:.2f}", f"{r.speed_up_limit:.2f}"]
        row += [f"{r.smallest.bytes_per_state:.1f}"]
        if r.ours:
            met = r.speed >= SPEED_GOAL and r.memory <= MEMORY_GOAL and r.speed_up >= WORKERS_GOAL
            row += [f"{r.ours[1].bytes_per_state:.1f}", f"{r.memory:.2f}"]
            row += ["too short" if r.short else "ok" if met else "below"]
        rows.append(row)
    head = ["same steps", "states", "edges", "Spin, s", "Spin, M/s"]
    ours = bool(results and results[0].ours)
    head += ["ours, M/s", "ours/Spin", "2 workers", "2 apart"] if ours else []
    head += ["Spin, B/state"]
    head += ["ours, B/state", "ours/Spin", "goals"] if ours else []
    print("States per second of processor time, one core; two workers against one by the clock, and two searches that")
    print("have nothing in common, at the same time; bytes per state.")
    print(f"Goals: {SPEED_GOAL:.0f} times the speed, {WORKERS_GOAL} times more with two workers, "
          f"{MEMORY_GOAL} of the memory.\n")
    print_table(head, rows)
    for r in results:
        if r.configuration.different:
            print(f"{r.configuration.name}: different states: {r.configuration.different}\n")


def print_ways(results):
    rows = []
    for r in results:
        runs = {**r.pan, **r.other}
        if r.ours:
            runs |= {"conclave": r.ours[1], "conclave, 2 workers": r.ours[2]}
        for way, run in runs.items():
            rows.append([
                r.configuration.name, way, f"{run.states:,}", f"{run.edges:,}", run.depth, run.vector or "",
                f"{run.cpu:.2f}", f"{run.wall:.2f}", f"{run.bytes / run.states:.1f}", f"{run.resident / 2**20:.1f}",
            ])
    print("Every way to run it. Bytes for states as each says itself; resident MiB as the system says.\n")
    print_table(["", "way", "states", "edges", "depth", "vector", "cpu, s", "clock, s", "B/state", "resident"], rows)


def as_json(results):
    def run(best):
        return {what: getattr(best, what) for what in
                ("states", "edges", "depth", "cpu", "wall", "bytes", "resident", "vector")}

    return [{
        "name": r.configuration.name,
        "spin": {way: run(best) for way, best in {**r.pan, **r.other}.items()},
        "conclave": {str(workers): run(best) for workers, best in r.ours.items()},
        **({"speed": r.speed, "memory": r.memory, "speed_up": r.speed_up, "speed_up_limit": r.speed_up_limit} if r.ours else {}),
    } for r in results]


def find_conclave(spin_only):
    if spin_only:
        return None
    conclave = os.environ.get("CONCLAVE", str(ROOT / "build" / "release" / "conclave"))
    if not os.access(conclave, os.X_OK):
        sys.exit(f"checker.py: {conclave} is not there; run `make build`, set CONCLAVE, or give --spin-only")
    return conclave


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the small configurations only")
    parser.add_argument("--spin-only", action="store_true", help="without conclave")
    parser.add_argument("--only", default="", metavar="TEXT", help="configurations with this in their name")
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many (3)")
    parser.add_argument("--ways", action="store_true", help="Spin's other ways to keep states too")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds: at least 1")
    conclave = find_conclave(options.spin_only)
    if subprocess.run(["which", "spin"], capture_output=True).returncode != 0:
        sys.exit("checker.py: spin is not installed; run `scripts/deps.sh bench`, or apt-get install spin")
    chosen = [c for c in CONFIGURATIONS if options.only in c.name and not (options.quick and c.large)]
    if not chosen:
        sys.exit(f"checker.py: no configuration has '{options.only}' in its name: "
                 + "; ".join(c.name for c in CONFIGURATIONS))

    results, failures = [], []
    for configuration in chosen:
        try:
            results.append(measure(configuration, conclave, options.rounds, options.ways))
        except Failure as failure:
            failures.append(f"{configuration.name}: {failure}")
    tell("")
    if options.json:
        print(json.dumps(as_json(results), indent=2))
    elif results:
        print_comparison(results)
        print_ways(results)
    for failure in failures:
        print(f"FAILED {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

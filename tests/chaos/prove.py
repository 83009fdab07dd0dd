#!/usr/bin/env python3
"""Members with a line that is wrong (twin_lines.cmake), each of which one of the attacks and faults must find out.

   prove.py CHAOS_SERVER CONTENDER LINK_PROXY CHAOS_LOAD CHAOS_KEEPERS BAD_DISK CLOCK_STEP [--sound] [--at-once N] [TWIN…]

--sound: the same attacks and faults, and nothing is wrong; then nothing may be found. Exit status: 0 every twin was found
out, 1 one was not, 3 void.
"""
import concurrent.futures
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = sys.argv[1:8]


def attack(name):
    return [f"{HERE}/hostile.py", PROGRAMS[0], "--short", "--attack", name]


def fault(name, *flags, seconds=3):
    return [f"{HERE}/chaos.py", *PROGRAMS, "--members", "3", "--seconds", str(seconds), "--seed", "1", "--patience", "5",
            "--only", name, *flags]


# What must find it.
TWINS = {
    "forgets_silent_watchers": attack("a watch beside wide ranges"),
    "counts_pings_for_ever": attack("pings of an idle client"),
    "drops_answers": attack("small calls beside a wide range"),
    "takes_scarcity_for_failure": attack("more connections than descriptors"),
    "gives_up_when_interrupted": fault("calls are interrupted"),
    "writes_half": fault("calls do half"),
    "believes_short_files": fault("tails of files are gone"),
    "does_not_flush": fault("the power fails everywhere"),
}
VOID = 3
SOUND = "--sound" in sys.argv


def tried(twin):
    """Whether it was found out, and by what."""
    began = time.monotonic()
    chosen = {} if SOUND else {"CONCLAVE_TWIN": twin}
    for _ in range(2):  # a machine that is busy may leave nobody to feel it
        run = subprocess.run([sys.executable, "-B", *TWINS[twin], *([] if SOUND else ["--caught"])], capture_output=True,
                             text=True, timeout=300, env={**os.environ, **chosen})
        if run.returncode != VOID:
            break
    lines = [line for line in (run.stdout + run.stderr).splitlines() if line not in ("found out", "not found out", "")]
    by = next((line for line in reversed(lines) if "FAIL" in line or "ok" in line), lines[-1] if lines else "")
    verdict = {0: "held" if SOUND else "found", VOID: "VOID"}.get(run.returncode, "FAIL")
    print(f"{verdict:5} {twin}: {by.strip()[:300]} ({time.monotonic() - began:.1f} s)", flush=True)
    return run.returncode


def main():
    at_once = int(sys.argv[sys.argv.index("--at-once") + 1]) if "--at-once" in sys.argv else 2
    wanted = [word for word in sys.argv[8:] if word in TWINS] or list(TWINS)
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        found = list(pool.map(tried, wanted))
    return 0 if not any(found) else VOID if set(found) <= {0, VOID} else 1


if __name__ == "__main__":
    sys.exit(main())

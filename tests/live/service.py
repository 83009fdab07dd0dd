#!/usr/bin/env python3
"""Real members, real clients, one lock: every engine under contention, and under the faults it claims to survive.

   service.py CONCLAVE CONTENDER [TEST…]

Each test starts members on free ports in a folder of its own. A test counts only if enough entries were made and
the fault that it is about has fired; otherwise it fails.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from harness import CONCLAVE, Group, Skipped, free_ports, run_tests, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))

LOCKS = ["central-server", "central-token", "token-ring", "lamport", "ricart-agrawala", "carvalho-roucairol",
         "ricart-agrawala-just-released", "maekawa-deadlock-free", "bakery-messages"]


# ---- contention

def contention(engine, size, entries):
    with Group(engine, size) as group:
        entered = group.finish(group.contend(entries))
        assert all(count == entries for count in entered.values()), entered
        return f"{group.check_fences(size * entries)} entries"


# ---- faults

def restart_under_load(engine):
    """A member is killed and started again while everybody contends."""
    with Group(engine, 3) as group:
        contenders = group.contend(150, ttl=2)
        wait_until(lambda: len(group.fences()) > 30, 20, "the first entries")
        group.kill(2)
        before = len(group.fences())
        time.sleep(0.3)
        group.start(2)
        entered = group.finish(contenders, may_fail=(2,))
        assert entered[1] == 150 and entered[3] == 150, entered
        total = group.check_fences(300)
        assert total > before + 20, "nothing happened after the restart"
        return f"{total} entries, {before} before the kill"


def blocks_and_evict(engine):
    """A dead member blocks the lock, which says for whom it waits; the operator evicts it."""
    with Group(engine, 3) as group:
        group.finish(group.contend(5, ttl=2))
        group.kill(3)
        wait_until(lambda: group.up(1, without=(3,)), 10, "somebody noticing")
        contenders = group.contend(5, at=(1,), ttl=2)
        time.sleep(1.5)
        assert len(group.fences()) == 15, "entered although a member that has to agree is dead"
        text = subprocess.run([CONCLAVE, "status", "--endpoints", group.endpoint(1)], capture_output=True, text=True)
        assert "member 3" in text.stdout, text.stdout
        evicted = subprocess.run([CONCLAVE, "evict", "3", "--yes", "--endpoints", group.endpoint(1)],
                                 capture_output=True, text=True)
        assert evicted.returncode == 0, evicted.stderr
        assert group.finish(contenders)[1] == 5
        # It comes back, and counts again.
        group.start(3)
        group.wait_all_up()
        assert group.finish(group.contend(5))[3] == 5
        return f"{group.check_fences(35)} entries"


def regenerates(engine):
    """The member with the token, or the coordinator, dies with the lock; the others go on by themselves."""
    with Group(engine, 3) as group:
        group.finish(group.contend(5, ttl=2))
        holder = group.contend(100000, at=(3,), ttl=2)
        wait_until(lambda: len(group.fences()) > 30, 10, "member 3 entering")
        group.kill(3)
        holder[3].kill()
        holder[3].communicate()
        if os.path.exists(f"{group.folder}/inside"):
            os.unlink(f"{group.folder}/inside")  # it died in there
        before = len(group.fences())
        entered = group.finish(group.contend(20, at=(1, 2), ttl=2))
        assert entered == {1: 20, 2: 20}, entered
        return f"{group.check_fences(before + 40)} entries, {before} before the kill"


def stopped_member(engine):
    """SIGSTOP and SIGCONT: the links heal, nobody notices but by the delay."""
    with Group(engine, 3) as group:
        contenders = group.contend(100)
        wait_until(lambda: len(group.fences()) > 30, 20, "the first entries")
        group.processes[2].send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        before = len(group.fences())
        time.sleep(1.0)
        still = len(group.fences()) - before
        group.processes[2].send_signal(signal.SIGCONT)
        entered = group.finish(contenders, may_fail=(2,))
        assert entered[1] == 100 and entered[3] == 100, entered
        return f"{group.check_fences(200)} entries, {still} while one was stopped"


def everybody_restarts(engine):
    """All members die at once and come back without any memory: fences go on growing."""
    with Group(engine, 3) as group:
        group.finish(group.contend(10))
        for i in range(1, 4):
            group.kill(i)
        for i in range(1, 4):
            group.start(i)
        group.wait_all_up()
        group.finish(group.contend(10))
        return f"{group.check_fences(60)} entries"


def started_twice():
    """A second process of the same member is refused, and harms nobody."""
    with Group("ricart-agrawala", 3) as group:
        twin = subprocess.run([CONCLAVE, "serve", "--engine", group.engine, "--id", "2", "--members", group.members,
                               "--client", f"127.0.0.1:{free_ports(1)[0]}"], capture_output=True, text=True, timeout=20)
        assert twin.returncode != 0 and "in use" in twin.stderr.lower(), twin.stderr
        group.finish(group.contend(20))
        return f"{group.check_fences(60)} entries"


def two_with_one_id():
    """Another process claims an id from another port: it is refused while the first lives."""
    with Group("ricart-agrawala", 3) as group:
        port, client = free_ports(2)
        log = open(f"{group.folder}/impostor.log", "ab")
        impostor = subprocess.Popen([CONCLAVE, "serve", "--engine", group.engine, "--id", "2", "--members", group.members,
                                     "--listen", f"127.0.0.1:{port}", "--client", f"127.0.0.1:{client}"],
                                    stdout=log, stderr=log)
        try:
            group.finish(group.contend(50))
            time.sleep(1)
        finally:
            impostor.kill()
            impostor.wait()
        logs = "".join(open(f"{group.folder}/{name}").read() for name in os.listdir(group.folder) if name.endswith("log"))
        assert "refus" in logs, "nobody refused the impostor"
        return f"{group.check_fences(150)} entries"


def lease_ends():
    """The client that holds the lock is killed: the next gets it when the lease has ended, and not before."""
    with Group("ricart-agrawala", 3) as group:
        holder = subprocess.Popen([CONCLAVE, "lock", "door", "--ttl", "2", "--endpoints", group.endpoint(1), "--",
                                   "sleep", "60"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: "holding" in json.dumps(group.status(1)), 10, "the first lock")
        holder.kill()
        died = time.monotonic()
        holder.wait()
        assert group.finish(group.contend(1, at=(2,))) == {2: 1}
        waited = time.monotonic() - died
        assert 0.5 < waited < 30, f"the next one entered after {waited:.1f} s"
        return f"after {waited:.1f} s"


def elections(engine):
    """Everybody agrees on a leader; it is killed, and everybody agrees on another one."""
    def leader(group, i):
        run = subprocess.run([CONCLAVE, "leader", "king", "--endpoints", group.endpoint(i), "--json"], capture_output=True,
                             text=True, timeout=20)
        return run.stdout if run.returncode == 0 and "member" in run.stdout else None

    def agree(group, members, on):
        answers = {i: leader(group, i) for i in members}
        return all(answer and f"member {on}" in answer for answer in answers.values())

    with Group(engine, 3) as group:
        wait_until(lambda: agree(group, (1, 2, 3), 3), 40, "agreement on 3")
        group.kill(3)
        wait_until(lambda: agree(group, (1, 2), 2), 40, "agreement on 2")
        group.start(3)
        wait_until(lambda: agree(group, (1, 2, 3), 3) or agree(group, (1, 2, 3), 2), 40, "agreement after the return")
        return "elected, died, elected again"


def traces(engine, *settings):
    """What the members wrote is judged, and repeated in the simulator state by state."""
    folder = tempfile.mkdtemp(prefix="conclave-traces-")
    with Group(engine, 3) as group:
        files = []
        for i in range(1, 4):
            group.kill(i)
            group.flags = ["--trace", f"{folder}/{i}"]
            group.start(i)
        group.wait_all_up()
        group.finish(group.contend(20))
        for process in group.processes.values():
            process.terminate()
        for process in group.processes.values():
            process.wait(timeout=10)
    files = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    merged = f"{folder}/merged"
    for command in (["trace", "merge", *files, "-o", merged], ["trace", merged],
                    ["sim", engine, "--script", merged, *settings]):
        run = subprocess.run([CONCLAVE, *command], capture_output=True, text=True, timeout=60)
        assert run.returncode == 0, f"{' '.join(command)}: {run.stdout}{run.stderr}"
    with open(merged) as file:
        grants = file.read().count('"Granted"')
    assert grants >= 60, f"only {grants} grants in the trace"
    return f"{grants} grants, repeated"


# ---- strangers' clients, and clients that are strangers

def python_client():
    """The etcd client of Python, which is for the system's own interpreter."""
    with Group("ricart-agrawala", 3) as group:
        run = subprocess.run(["/usr/bin/python3", "-B", f"{HERE}/etcd3_client.py", group.endpoint(2)],
                             capture_output=True, text=True, timeout=100)
        if run.returncode == 77:
            raise Skipped(run.stdout.strip())
        assert run.returncode == 0, run.stdout + run.stderr
        return run.stdout.strip()


def tls():
    """Members and clients that check each other's certificates; whoever is not signed for is told why it is refused."""
    group = Group("ricart-agrawala", 3)
    made = subprocess.run(["bash", f"{HERE}/../rpc/certificates.sh", group.folder], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    key, certificate = f"{group.folder}/secret", lambda name: f"{group.folder}/{name}"
    with open(key, "w") as file:
        file.write("nobody knows this\n")
    os.chmod(key, 0o600)
    group.flags += ["--key-file", key, "--tls-ca", certificate("authority.pem"), "--client-tls"]
    for i in group.everyone:
        group.own_flags[i] = ["--tls-cert", certificate("server.pem"), "--tls-key", certificate("server.key")]
    group.client_flags = ["--cacert", certificate("authority.pem")]

    def lock(*flags, patience="30"):
        return subprocess.run([CONCLAVE, "lock", "door", "--timeout", patience, *flags, "--", "true"],
                              capture_output=True, text=True, timeout=60)

    with group:
        for i in group.everyone:
            got = lock("--cacert", certificate("authority.pem"), "--endpoints", group.endpoint(i))
            assert got.returncode == 0, got.stderr
        wrong = lock("--cacert", certificate("stranger.pem"), "--endpoints", group.endpoint(1), patience="1")
        assert wrong.returncode == 125 and "certificate" in wrong.stderr, (wrong.returncode, wrong.stderr)
        plain = lock("--endpoints", group.endpoint(1), patience="1")
        assert plain.returncode == 125 and plain.stderr, (plain.returncode, plain.stderr)
        # A member that another authority signed for, and one with another secret.
        for flags, why in ((["--tls-cert", certificate("mallory.pem"), "--tls-key", certificate("mallory.key")], "certificate"),
                           (group.own_flags[3] + ["--key-file", certificate("alice.key")], "key")):
            group.kill(3)
            wait_until(lambda: group.up(1, without=(3,)), 20, "1 missing 3")
            own, group.own_flags[3] = group.own_flags[3], flags
            before = "".join(group.log(i) for i in group.everyone).count(why)
            group.start(3)
            wait_until(lambda: "".join(group.log(i) for i in group.everyone).count(why) > before, 20, f"a word about the {why}")
            assert group.up(1, without=(3,)), group.status(1)
            group.own_flags[3] = own
        group.kill(3)
        group.start(3)
        group.wait_all_up()
        return f"stranger: {wrong.stderr.strip()}; without TLS: {plain.stderr.strip()}"


def client_certificates(engine, *own):
    """Given an authority for clients, whoever has no certificate of it is not heard: by gRPC, by HTTP, by anything."""
    group = Group(engine, 1)
    made = subprocess.run(["bash", f"{HERE}/../rpc/certificates.sh", group.folder], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    file = lambda name: f"{group.folder}/{name}"  # noqa: E731
    group.flags += ["--tls-cert", file("server.pem"), "--tls-key", file("server.key"), "--client-ca", file("authority.pem"),
                    *[word.format(folder=group.folder) for word in own]]
    ours = ["--cacert", file("authority.pem"), "--cert", file("alice.pem"), "--key", file("alice.key")]
    group.client_flags = ours
    strangers = {"nobody": ours[:2],
                 "one of another authority": [*ours[:2], "--cert", file("mallory.pem"), "--key", file("mallory.key")]}
    url = f"https://{group.endpoint(1)}"

    def run(*command):
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, "ETCDCTL_API": "3"})
        return done.returncode, done.stdout + done.stderr

    def lock(flags):
        return run(CONCLAVE, "lock", "door", "--timeout", "3", "--endpoints", group.endpoint(1), *flags, "--", "true")

    def curl(flags):
        return run("curl", "-sS", "-m", "10", *flags, f"{url}/v3/lease/leases", "-d", "{}")

    def etcdctl(flags):
        # Without the certificate it would go on trying.
        return run("timeout", "8", "etcdctl", "--endpoints", url, "--command-timeout", "3s", *flags, "lease", "list")

    asked = {"conclave lock": lock, "curl": curl, **({"etcdctl": etcdctl} if shutil.which("etcdctl") else {})}
    with group:
        for name, ask in asked.items():
            status, said = ask(ours)
            assert status == 0, f"{name}: {said}"
            for who, flags in strangers.items():
                status, said = ask(flags)
                assert status != 0 and "header" not in said, f"{name} of {who}: {said}"
        assert run("curl", "-sS", "-m", "10", f"http://{group.endpoint(1)}/health")[0] != 0
        return f"by {', '.join(asked)}"


TESTS = {f"contention/{engine}": (lambda engine=engine: contention(engine, 3, 100)) for engine in LOCKS}
TESTS["contention/maekawa"] = lambda: contention("maekawa", 1, 100)  # alone: among three it may deadlock, as published
for size in (5, 7):
    for engine in ("ricart-agrawala", "maekawa-deadlock-free", "token-ring", "lamport", "central-server"):
        TESTS[f"contention/{engine}/{size}"] = lambda engine=engine, size=size: contention(engine, size, 40)
for engine in ("ricart-agrawala", "lamport", "maekawa-deadlock-free", "carvalho-roucairol", "bakery-messages",
               "central-server", "token-ring"):
    TESTS[f"restart/{engine}"] = lambda engine=engine: restart_under_load(engine)
# Not those that keep permissions: they may enter without asking the dead member.
for engine in ("ricart-agrawala", "lamport", "bakery-messages"):
    TESTS[f"evict/{engine}"] = lambda engine=engine: blocks_and_evict(engine)
for engine in ("token-ring", "central-token", "central-server"):
    TESTS[f"regenerate/{engine}"] = lambda engine=engine: regenerates(engine)
for engine in ("ricart-agrawala", "token-ring"):
    TESTS[f"stop/{engine}"] = lambda engine=engine: stopped_member(engine)
    TESTS[f"all-restart/{engine}"] = lambda engine=engine: everybody_restarts(engine)
for engine in ("bully", "bully-delayed", "bully-polite", "chang-roberts", "ring-list", "all-to-all"):
    TESTS[f"election/{engine}"] = lambda engine=engine: elections(engine)
for engine in LOCKS:
    waits = ["--set", "patience=1000", "--set", "rest=5"] if engine == "token-ring" else []
    TESTS[f"traces/{engine}"] = lambda engine=engine, waits=waits: traces(engine, *waits)
TESTS["started-twice"] = started_twice
TESTS["two-with-one-id"] = two_with_one_id
TESTS["lease-ends"] = lease_ends
TESTS["python-client"] = python_client
TESTS["tls"] = tls
TESTS["client-certificates"] = lambda: client_certificates("ricart-agrawala")
TESTS["client-certificates/raft"] = lambda: client_certificates("raft", "--data", "{folder}/data")


if __name__ == "__main__":
    sys.exit(run_tests(TESTS, sys.argv[3:]))

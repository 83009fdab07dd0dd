"""Members of the engine raft that come and go, under continuous writes: nothing that was acknowledged is lost.

   members.py CONCLAVE CONTENDER [WORD …]     WORDs choose tests by name
"""
import http.client
import json
import os
import subprocess
import sys
import threading
import time
import urllib.request

from base64 import b64encode

from harness import CONCLAVE, Group, Skipped, free_ports, run_tests, wait_until


def encoded(text):
    return b64encode(text.encode()).decode()


class Cluster(Group):
    """Members 1 to 3 begin it; others join as they are told to."""

    def __init__(self, size=3):
        super().__init__("raft", size)
        for i in self.everyone:
            self.own_flags[i] = ["--data", f"{self.folder}/data{i}"]

    def __enter__(self):
        super().__enter__()
        wait_until(lambda: self.leader(), 30, "an election")
        return self

    def alive(self):
        return [i for i, process in list(self.processes.items()) if process.poll() is None]

    def endpoints(self):
        return ",".join(self.endpoint(i) for i in self.alive())

    def run(self, *words, at=None, fine=True, patience=60):
        run = subprocess.run([CONCLAVE, *words, "--endpoints", at or self.endpoints()], capture_output=True, text=True,
                             timeout=patience)
        if fine:
            assert run.returncode == 0, f"conclave {' '.join(words)}: {run.returncode} {run.stdout}{run.stderr}"
            return run.stdout
        assert run.returncode != 0, f"conclave {' '.join(words)} should fail: {run.stdout}"
        return run.stdout + run.stderr

    def tries(self, *words):
        return subprocess.run([CONCLAVE, *words, "--endpoints", self.endpoints()], capture_output=True,
                              timeout=60).returncode == 0

    def ctl(self, *words, fine=True, at=None):
        try:
            run = subprocess.run(["etcdctl", f"--endpoints={at or self.endpoints()}", *words], capture_output=True,
                                 env={**os.environ, "ETCDCTL_API": "3"}, text=True, timeout=60)
        except FileNotFoundError:
            raise Skipped("etcdctl is not installed (Debian: etcd-client)")
        if fine:
            assert run.returncode == 0, f"etcdctl {' '.join(words)}: {run.stdout}{run.stderr}"
            return run.stdout
        assert run.returncode != 0, f"etcdctl {' '.join(words)} should fail: {run.stdout}"
        return run.stdout + run.stderr

    def members_now(self):
        """By id, as the cluster says."""
        return {member["id"]: member for member in json.loads(self.run("member", "list", "--json"))}

    def voters(self):
        return sorted(i for i, member in self.members_now().items() if member["votes"])

    def leader(self):
        for i in self.alive():
            status = self.status(i)
            if status and status.get("raft", {}).get("role") == "leader":
                return i
        return None

    def prepare(self):
        """Ports for a newcomer: its address for members, and for clients."""
        peer, client = free_ports(2)
        return peer, client

    def join(self, i, peer, client):
        """Starts a newcomer as `member add` says: it knows the address of one member and its own."""
        self.hosts[i], self.peer_ports[i], self.client_ports[i] = "127.0.0.1", peer, client
        self.around[i], self.own_flags[i] = [], ["--data", f"{self.folder}/data{i}", "--join"]
        with open(f"{self.folder}/member{i}.log", "ab") as log:
            self.processes[i] = subprocess.Popen(
                [CONCLAVE, "serve", "--id", str(i), "--members", f"1=127.0.0.1:{self.peer_ports[1]},{i}=127.0.0.1:{peer}",
                 "--client", self.endpoint(i), "--down-after", "0.5", "--join", "--data", f"{self.folder}/data{i}"],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def restart(self, i):
        """With the command line of old, whoever the members are by now."""
        with open(f"{self.folder}/member{i}.log", "ab") as log:
            self.processes[i] = subprocess.Popen(
                [CONCLAVE, "serve", "--id", str(i), "--members",
                 f"1=127.0.0.1:{self.peer_ports[1]}" + (f",{i}=127.0.0.1:{self.peer_ports[i]}" if i != 1 else ""),
                 "--client", self.endpoint(i), "--down-after", "0.5", "--data", f"{self.folder}/data{i}"],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def wait_for_exit(self, i, patience=15):
        wait_until(lambda: self.processes[i].poll() is not None, patience, f"the end of member {i}")
        assert self.processes[i].returncode == 3, f"member {i}: {self.processes[i].returncode}"
        log = self.log(i)
        assert "no member of the cluster any more" in log or "was removed from the cluster" in log, log[-500:]
        assert os.path.exists(f"{self.folder}/data{i}/VERSION"), "its data are kept"


class Writer(threading.Thread):
    """Puts keys one after the other, and remembers which were acknowledged."""

    def __init__(self, cluster):
        super().__init__()
        self.cluster, self.acknowledged, self.stopped = cluster, [], False
        self.start()

    def run(self):
        number = 0
        while not self.stopped:
            number += 1
            alive = self.cluster.alive()
            if not alive:
                time.sleep(0.05)
                continue
            at = self.cluster.endpoint(alive[number % len(alive)])
            body = {"key": encoded(f"n/{number:06}"), "value": encoded(str(number))}
            request = urllib.request.Request(f"http://{at}/v3/kv/put", json.dumps(body).encode())
            try:
                with urllib.request.urlopen(request, timeout=10) as answer:
                    if answer.status == 200:
                        self.acknowledged.append(number)
            except OSError:
                pass  # nobody knows whether the key is there

    def more(self, count=15):
        """The cluster serves: so many more are acknowledged."""
        before = len(self.acknowledged)
        wait_until(lambda: len(self.acknowledged) > before + count, 30, "more writes")

    def stop(self):
        self.stopped = True
        self.join()


def keys_at(cluster, i):
    body = {"key": encoded("n/"), "range_end": encoded("n0"), "keys_only": True}
    request = urllib.request.Request(f"http://{cluster.endpoint(i)}/v3/kv/range", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=20) as answer:
        return {kv["key"] for kv in json.loads(answer.read()).get("kvs", [])}


def kept(cluster, writer):
    for i in cluster.alive():
        there = keys_at(cluster, i)
        lost = [number for number in writer.acknowledged if encoded(f"n/{number:06}") not in there]
        assert not lost, f"member {i}: {len(lost)} acknowledged keys are lost: {lost[:5]}"
    return f"{len(writer.acknowledged)} writes, voters {cluster.voters()}"


def replace(cluster, old, new):
    """`conclave member replace`, with the newcomer started as it is told to be."""
    peer, client = cluster.prepare()
    process = subprocess.Popen([CONCLAVE, "member", "replace", str(old), f"127.0.0.1:{peer}", "--timeout", "40", "--json",
                                "--endpoints", cluster.endpoints()], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    told = json.loads(process.stdout.readline())
    assert told["member"] == new, told
    assert f"--id {new} " in told["command"] and f"{new}=127.0.0.1:{peer}" in told["command"], told
    cluster.join(new, peer, client)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, f"{out}{err}"
    assert json.loads(out.splitlines()[-1])["done"] is True


def grown_and_shrunk():
    """Members are added, promoted, replaced and removed, the leader too, while somebody writes."""
    with Cluster() as cluster:
        writer = Writer(cluster)
        try:
            for new in (4, 5):
                peer, client = cluster.prepare()
                assert f"--id {new} " in cluster.run("member", "add", f"127.0.0.1:{peer}")
                assert not cluster.members_now()[new]["votes"]
                assert "in sync" in cluster.run("member", "promote", str(new), fine=False)
                cluster.join(new, peer, client)
                wait_until(lambda: cluster.members_now()[new].get("behind", 1 << 30) < 100, 20, "a learner in sync")
                wait_until(lambda: cluster.tries("member", "promote", str(new)), 20, "its promotion")
                writer.more()
            assert cluster.voters() == [1, 2, 3, 4, 5]

            victim = next(i for i in (2, 3) if i != cluster.leader())
            cluster.kill(victim)
            replace(cluster, victim, 6)
            writer.more()
            assert victim not in cluster.members_now()

            heir = next(i for i in cluster.voters() if i != cluster.leader())
            cluster.run("transfer", str(heir))
            assert cluster.leader() == heir
            writer.more()

            cluster.run("member", "remove", str(heir))  # the leader itself
            writer.more()
            cluster.wait_for_exit(heir)
            assert len(cluster.voters()) == 4
            cluster.restart(heir)  # it does not know that it was removed, or has to be told
            cluster.wait_for_exit(heir)
            cluster.restart(victim)
            cluster.wait_for_exit(victim)
            writer.more()
        finally:
            writer.stop()

        assert "there is no member" in cluster.run("member", "remove", str(heir), fine=False)
        members = cluster.alive()
        for i in members:
            cluster.kill(i)
        for i in members:
            cluster.restart(i)
        wait_until(lambda: cluster.leader(), 30, "an election after the restart of all")
        assert cluster.voters() == members
        return kept(cluster, writer)


def fill(cluster, at, count):
    """So many entries of 100 kB in the log, quickly: a snapshot comes after 32 MiB or a little more, and the log keeps as much
    before one."""
    value = encoded("x" * 100_000)

    def puts(first):
        connection = http.client.HTTPConnection("127.0.0.1", cluster.client_ports[at])
        for number in range(first, count, 16):
            connection.request("POST", "/v3/kv/put", json.dumps({"key": encoded(f"f/{number % 100}"), "value": value}),
                               {"Content-Type": "application/json"})
            connection.getresponse().read()
    threads = [threading.Thread(target=puts, args=(first,)) for first in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def snapshots():
    """A newcomer gets a snapshot, with the book in it; others begin with theirs after a restart."""
    with Cluster() as cluster:
        peer, client = cluster.prepare()
        cluster.run("member", "add", f"127.0.0.1:{peer}", "--voter")
        fill(cluster, cluster.leader(), 1_200)  # two snapshots, and what was before the first is given up
        writer = Writer(cluster)
        try:
            for i in (1, 2, 3):
                cluster.kill(i)
            for i in (1, 2, 3):
                cluster.restart(i)
            wait_until(lambda: cluster.leader(), 30, "an election")
            cluster.join(4, peer, client)
            wait_until(lambda: cluster.voters() == [1, 2, 3, 4], 30, "the newcomer's vote")
            assert "event=restored" in cluster.log(4), "it got the log and no snapshot"
            writer.more()
        finally:
            writer.stop()
        return kept(cluster, writer)


def lost_data():
    """A member whose disk was emptied is told so, and does not take part under its old id."""
    with Cluster() as cluster:
        writer = Writer(cluster)
        try:
            writer.more()
            victim = next(i for i in (1, 2, 3) if i != cluster.leader())
            cluster.kill(victim)
            os.rename(f"{cluster.folder}/data{victim}", f"{cluster.folder}/gone")
            cluster.start(victim)
            wait_until(lambda: cluster.processes[victim].poll() is not None, 15, "its end")
            assert cluster.processes[victim].returncode == 3
            assert "has lost its data" in cluster.log(victim), cluster.log(victim)[-500:]
            writer.more()
            replace(cluster, victim, 4)
            writer.more()
        finally:
            writer.stop()
        return kept(cluster, writer)


def refused():
    """What would lose the quorum of those who are up is refused; strangers are too."""
    with Cluster() as cluster:
        plan = json.loads(cluster.run("member", "remove", "3", "--dry-run", "--json"))
        assert plan["before"]["quorum"] == 2 and plan["after"]["tolerates"] == 0, plan
        assert cluster.voters() == [1, 2, 3]
        others = [i for i in (1, 2, 3) if i != cluster.leader()]
        cluster.kill(others[0])
        wait_until(lambda: not cluster.members_now()[others[0]]["up"], 10, "that it is down")
        said = cluster.run("member", "remove", str(others[1]), fine=False)
        assert "--force" in said, said
        said = cluster.ctl("member", "remove", f"{others[1]:x}", fine=False)
        assert "not enough started members" in said, said
        assert cluster.voters() == [1, 2, 3]
        peer, client = cluster.prepare()
        cluster.join(9, peer, client)  # nobody has given it this id
        time.sleep(3)
        assert 9 not in cluster.members_now()
        assert cluster.processes[9].poll() is None, "it may be added yet"
        cluster.kill(9)
        cluster.run("member", "remove", str(others[0]))  # the dead one may go
        assert len(cluster.voters()) == 2
        return "refused"


def etcdctl():
    """The same by etcd's own client."""
    with Cluster() as cluster:
        writer = Writer(cluster)
        try:
            peer, client = cluster.prepare()
            said = cluster.ctl("member", "add", "four", f"--peer-urls=http://127.0.0.1:{peer}", "--learner")
            assert "Member                4 added" in said or "4 added to cluster" in said, said
            said = cluster.ctl("member", "add", "four", f"--peer-urls=http://127.0.0.1:{peer}", fine=False)
            assert "Peer URLs already exists" in said, said
            said = cluster.ctl("member", "promote", "4", fine=False)
            assert "in sync" in said, said
            cluster.join(4, peer, client)
            wait_until(lambda: subprocess.run(
                ["etcdctl", f"--endpoints={cluster.endpoints()}", "member", "promote", "4"], capture_output=True,
                env={**os.environ, "ETCDCTL_API": "3"}).returncode == 0, 20, "the promotion")
            said = cluster.ctl("member", "promote", "4", fine=False)
            assert "can only promote a learner" in said, said
            assert f"http://127.0.0.1:{peer}" in cluster.ctl("member", "list")
            wait_until(lambda: f"http://{cluster.endpoint(4)}" in cluster.ctl("member", "list"), 20, "its introduction")
            heir = next(i for i in (1, 2, 3, 4) if i != cluster.leader())
            said = cluster.ctl("move-leader", f"{heir:x}")
            assert "Leadership transferred" in said, said
            assert cluster.leader() == heir, f"{cluster.leader()} leads, not {heir}"
            cluster.ctl("member", "remove", f"{heir:x}")
            cluster.wait_for_exit(heir)
            said = cluster.ctl("member", "remove", f"{heir:x}", fine=False)
            assert "member not found" in said, said
            moved = next(i for i in cluster.alive())
            cluster.ctl("member", "update", f"{moved:x}", f"--peer-urls=http://localhost:{cluster.peer_ports[moved]}")
            assert f"http://localhost:{cluster.peer_ports[moved]}" in cluster.ctl("member", "list")
            writer.more()
        finally:
            writer.stop()
        return kept(cluster, writer)


TESTS = {
    "grown and shrunk": grown_and_shrunk,
    "snapshots": snapshots,
    "lost data": lost_data,
    "refused": refused,
    "etcdctl": etcdctl,
}

if __name__ == "__main__":
    sys.exit(run_tests(TESTS, sys.argv[3:], at_once=2))

"""Stores that are saved, and clusters that begin with what was saved.

   snapshot.py CONCLAVE CONTENDER [WORD …]     WORDs choose tests by name
"""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from harness import CONCLAVE, Skipped, free_ports, run_tests, wait_until
from raft import Cluster, encoded, post

BUMP = 1_000_000_000


def snapshot(*arguments):
    return subprocess.run([CONCLAVE, "snapshot", *arguments], capture_output=True, text=True, timeout=120)


def fine(*arguments):
    run = snapshot(*arguments, "--json")
    assert run.returncode == 0, f"snapshot {' '.join(arguments)}: {run.stdout}{run.stderr}"
    return json.loads(run.stdout)


def refused(because, *arguments):
    run = snapshot(*arguments)
    assert run.returncode in (1, 2), f"snapshot {' '.join(arguments)} should fail: {run.returncode} {run.stdout}"
    assert because in run.stderr and run.stderr.startswith("conclave: "), run.stderr
    assert not run.stdout, run.stdout
    return run.stderr


def lock(cluster, name, lease, at=1):
    """The fence."""
    code, answer = post(cluster.endpoint(at), "/v3/lock/lock", {"name": encoded(name), "lease": lease})
    assert code == 200, answer
    return int(answer["header"]["revision"])


def grant(cluster, ttl):
    return int(cluster.ctl("lease", "grant", str(ttl)).split()[1], 16)


def revision(cluster):
    return json.loads(cluster.ctl("get", "kept/1", "-w", "json"))["header"]["revision"]


class Saved:
    """A cluster that was saved, went on a little, and died."""

    def __init__(self, size, with_etcdctl):
        self.cluster = Cluster(size)
        self.file = f"{self.cluster.folder}/saved"
        self.with_etcdctl = with_etcdctl

    def __enter__(self):
        cluster = self.cluster.__enter__()
        for number in range(50):
            cluster.ctl("put", f"kept/{number}", str(number))
        cluster.ctl("del", "kept/0")
        cluster.ctl("compaction", "20")
        self.holder, self.second, self.brief = grant(cluster, 60), grant(cluster, 60), grant(cluster, 4)
        cluster.ctl("put", "leased", "x", f"--lease={self.brief:x}")
        fence = lock(cluster, "door", self.holder)
        subprocess.run([CONCLAVE, "status", "--endpoints", cluster.endpoint(1)], check=True, capture_output=True)
        waiting = subprocess.Popen(["curl", "-s", f"http://{cluster.endpoint(1)}/v3/lock/lock", "-d", json.dumps(
            {"name": encoded("door"), "lease": self.second})], stdout=subprocess.DEVNULL)
        wait_until(lambda: len(cluster.ctl("get", "--prefix", "door/", "--keys-only").split()) == 2, 20, "a line")
        at = cluster.leader()
        self.revision = revision(cluster)
        if self.with_etcdctl:
            cluster.ctl("snapshot", "save", self.file, at=[at])
        else:
            saved = fine("save", self.file, "--endpoints", f"127.0.0.1:1,{cluster.endpoint(at)}")
            assert saved["revision"] == self.revision and saved["kind"] == "conclave", saved
            assert os.path.getsize(self.file) == saved["bytes"], saved
        # What nobody will know of: another key, another value, and greater fences for the same lock.
        cluster.ctl("put", "later", "1")
        cluster.ctl("put", "kept/1", "later")
        waiting.kill()
        waiting.wait()
        cluster.ctl("del", "--prefix", "door/")
        self.fences = [fence, lock(cluster, "door", self.second), revision(cluster)]
        for i in cluster.everyone:
            cluster.kill(i)
        return self

    def __exit__(self, *why):
        self.cluster.__exit__(*why)

    def restore(self, i, *more):
        return fine("restore", self.file, "--data", f"{self.cluster.folder}/new{i}", "--id", str(i), "--members",
                    self.cluster.members, *more)

    def start(self, i, data="new"):
        flags = self.cluster.own_flags[i]
        flags[flags.index("--data") + 1] = f"{self.cluster.folder}/{data}{i}"
        self.cluster.start(i)


def check_contents(saved):
    cluster = saved.cluster
    there = cluster.ctl("get", "--prefix", "kept/", "--keys-only").split()
    assert len(there) == 49 and "kept/0" not in there, there
    assert cluster.ctl("get", "kept/1").split() == ["kept/1", "1"]
    assert cluster.ctl("get", "later") == ""
    now = revision(cluster)
    assert now >= saved.revision + BUMP, now
    for old in (2, saved.revision, saved.fences[-1] + 1):
        late = cluster.ctl("watch", "kept/1", f"--rev={old}", fine=False)
        assert "has been compacted" in late, late
    cluster.ctl("put", "new", "1")
    assert revision(cluster) - now in (1, 2)  # the short lease may end here
    # Who held the lock when it was saved still holds it, by its lease, and whoever is told a fence gets a greater one.
    fence = lock(cluster, "door", saved.holder)
    assert fence > max(saved.fences) + BUMP // 2, (fence, saved.fences)
    line = cluster.status(1)["names"]
    assert [(name["name"], name["queue_length"], name["fence"]) for name in line] == [("door", 1, fence)], line
    cluster.ctl("lease", "revoke", f"{saved.holder:x}")
    assert lock(cluster, "door", saved.second) > fence
    # Nobody keeps this one alive, and it goes: but not before those who might had time to come back.
    wait_until(lambda: cluster.ctl("get", "leased") == "", 20, "the end of a lease")
    cluster.ctl("lease", "revoke", f"{saved.second:x}")


def nearly_empty():
    """All there is fits into the first page of the file."""
    with Cluster(1) as cluster:
        cluster.ctl("put", "kept/1", "1")
        file = f"{cluster.folder}/saved"
        saved = fine("save", file, "--endpoints", cluster.endpoint(1))
        assert saved["bytes"] < 1000, saved
        assert saved["revision"] == fine("status", file)["revision"] == revision(cluster), saved
        return f"revision {saved['revision']}"


def one_member():
    with Saved(1, with_etcdctl=False) as saved:
        told = saved.restore(1)
        assert told["revision_saved"] == saved.revision and told["places"] == 2 and told["leases"] == 3, told
        saved.start(1)
        wait_until(saved.cluster.leader, 30, "an election")
        assert saved.cluster.ctl("get", "leased").split() == ["leased", "x"]
        check_contents(saved)
        saved.cluster.kill(1)
        saved.cluster.start(1)  # from its own log now
        wait_until(saved.cluster.leader, 30, "an election")
        assert saved.cluster.ctl("get", "new").split() == ["new", "1"]
        # Saved again, and restored from that.
        again = fine("save", saved.file, "--endpoints", saved.cluster.endpoint(1))
        assert again["revision"] > BUMP, again
        saved.cluster.kill(1)
        shutil.rmtree(f"{saved.cluster.folder}/new1")
        assert saved.restore(1)["revision"] > 2 * BUMP
        saved.start(1)
        wait_until(saved.cluster.leader, 30, "an election")
        assert saved.cluster.ctl("get", "new").split() == ["new", "1"]
        return f"revision {saved.revision}, then {again['revision']}"


def three_members():
    with Saved(3, with_etcdctl=True) as saved:
        cluster = saved.cluster
        told = [saved.restore(i) for i in cluster.everyone]
        assert len({(one["digest"], one["group"], one["revision"]) for one in told}) == 1, told
        # A member of the former cluster that somebody forgot is a stranger to the others.
        saved.start(3, data="data")
        for i in (1, 2):
            saved.start(i)
        wait_until(cluster.leader, 30, "an election")
        time.sleep(3)
        assert cluster.leader() in (1, 2)
        stranger = cluster.status(3)
        assert stranger["raft"]["leader"] == 0 and stranger["raft"]["revision"] < BUMP, stranger
        assert "this is group 'conclave" in cluster.log(1) + cluster.log(2) + cluster.log(3)
        cluster.kill(3)
        saved.start(3)
        cluster.wait_all_up()
        check_contents(saved)
        wait_until(lambda: len(set(cluster.digests().values())) == 1, 20, "equal stores")
        # Whoever comes later is told under which name.
        added = subprocess.run([CONCLAVE, "member", "add", f"127.0.0.1:{free_ports(1)[0]}", "--json", "--endpoints",
                                cluster.endpoint(cluster.leader())], capture_output=True, text=True, timeout=60)
        assert told[0]["group"] in json.loads(added.stdout)["command"], added
        return f"all with digest {told[0]['digest']}"


def bad_files():
    with Cluster(1) as cluster:
        cluster.ctl("put", "a", "x" * 2000)
        file, folder, bad = f"{cluster.folder}/saved", f"{cluster.folder}/new", f"{cluster.folder}/bad"
        fine("save", file, "--endpoints", cluster.endpoint(1))
        status = fine("status", file)
        assert status["keys"] == 1 and status["revision"] == 2, status
        whole = open(file, "rb").read()

        def write(contents):
            with open(bad, "wb") as out:
                out.write(contents)

        def refused_everywhere(because):
            refused(because, "status", bad)
            refused(because, "restore", bad, "--data", folder)
            assert not os.path.exists(folder)

        for at in (600, len(whole) - 40, len(whole) - 1):
            write(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
            refused_everywhere("is damaged")
        write(whole[:-100])
        refused_everywhere("is cut off")
        write(whole[:-512])
        refused_everywhere("is damaged")
        write(b"")
        refused_everywhere("is empty")
        write(b"hello" * 500)
        refused_everywhere("not a saved state")
        other = whole[:-32].replace(b"conclave-kv-1", b"conclave-kv-9")
        write(other + hashlib.sha256(other).digest())
        refused_everywhere("in format conclave-kv-9")
        wrong = whole[:-32].replace(b"x" * 2000, b"y" + b"x" * 1999)
        write(wrong + hashlib.sha256(wrong).digest())
        refused_everywhere("do not have its digest")
        refused("No such file", "status", f"{cluster.folder}/none")
        refused("directory", "status", cluster.folder)

        os.mkdir(folder)
        open(f"{folder}/somebody's", "w").close()
        refused("is not empty", "restore", file, "--data", folder)
        os.unlink(f"{folder}/somebody's")
        fine("restore", file, "--data", folder)
        refused("is not empty", "restore", file, "--data", folder)
        refused("is not empty", "restore", file, "--data", f"{cluster.folder}/data1")
        # A restore that was not finished is not begun with.
        version = open(f"{folder}/VERSION").read()
        assert "stamp group conclave member 1" in version, version
        other = subprocess.run([CONCLAVE, "serve", "--id", "2", "--members", "2=127.0.0.1:1", "--data", folder],
                               capture_output=True, text=True, timeout=30)
        assert other.returncode == 2 and "belongs to" in other.stderr, other

        refused("127.0.0.1:1", "save", bad, "--endpoints", "127.0.0.1:1")
        refused("No such file", "save", f"{cluster.folder}/none/there", "--endpoints", cluster.endpoint(1))
        refused("is a directory", "save", folder, "--endpoints", cluster.endpoint(1))
        assert not [name for name in os.listdir(cluster.folder) if name.endswith(".part")]
        return "all refused"


def etcds_own():
    """A real etcd gives its database; that is said, and not taken for a state of conclave's."""
    if not shutil.which("etcd"):
        raise Skipped("etcd is not installed (Debian: etcd-server)")
    folder = tempfile.mkdtemp(prefix="conclave-etcd-")
    client, peer = (f"http://127.0.0.1:{port}" for port in free_ports(2))
    etcd = subprocess.Popen(["etcd", "--data-dir", f"{folder}/data", "--listen-client-urls", client,
                             "--advertise-client-urls", client, "--listen-peer-urls", peer,
                             "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        file = f"{folder}/saved"
        wait_until(lambda: snapshot("save", file, "--endpoints", client).returncode == 0, 30, "a snapshot of etcd's")
        assert fine("save", file, "--endpoints", client)["kind"] == "etcd"
        assert fine("status", file)["kind"] == "etcd"
        assert "etcd's (bbolt)" in snapshot("status", file).stdout
        refused("etcd's (bbolt)", "restore", file, "--data", f"{folder}/new")
        assert not os.path.exists(f"{folder}/new")
        checked = subprocess.run(["etcdctl", "snapshot", "status", file], env={**os.environ, "ETCDCTL_API": "3"},
                                 capture_output=True, text=True)
        assert checked.returncode == 0, checked  # etcd takes it for its own
        return "told apart"
    finally:
        etcd.kill()
        etcd.wait()
        shutil.rmtree(folder)


TESTS = {
    "nearly empty": nearly_empty,
    "one member": one_member,
    "three members": three_members,
    "bad files": bad_files,
    "etcd's own": etcds_own,
}

if __name__ == "__main__":
    sys.exit(run_tests(TESTS, sys.argv[3:]))

"""The engine raft as etcd's own client sees it: etcdctl at one member and at three, with members killed in between.

   raft.py CONCLAVE CONTENDER [--kills N] [WORD …]     WORDs choose tests by name; --kills: of leaders under readers
"""
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

from harness import CONCLAVE, Group, Skipped, run_tests, wait_until

WORDS = sys.argv[3:]
KILLS = 5
if "--kills" in WORDS:
    at = WORDS.index("--kills")
    KILLS, WORDS = int(WORDS[at + 1]), WORDS[:at] + WORDS[at + 2:]


class Cluster(Group):
    def __init__(self, size, *flags):
        super().__init__("raft", size)
        clients = ",".join(f"{i}={self.endpoint(i)}" for i in self.everyone)
        for i in self.everyone:
            self.own_flags[i] += ["--data", f"{self.folder}/data{i}", "--clients", clients, "--client-host", "store.example",
                                  "--client-memory", "128M", *flags]

    def __enter__(self):
        try:
            subprocess.run(["etcdctl", "version"], capture_output=True, check=True)
        except FileNotFoundError:
            raise Skipped("etcdctl is not installed (Debian: etcd-client)")
        super().__enter__()
        wait_until(lambda: self.leader(), 30, "an election")
        return self

    def command(self, *arguments, at=None):
        endpoints = ",".join(self.endpoint(i) for i in (at or self.everyone))
        return ["etcdctl", f"--endpoints={endpoints}", *arguments]

    def ctl(self, *arguments, at=None, stdin=None, fine=True):
        run = subprocess.run(self.command(*arguments, at=at), env={**os.environ, "ETCDCTL_API": "3"}, input=stdin,
                             capture_output=True, text=True, timeout=60)
        if fine:
            assert run.returncode == 0, f"etcdctl {' '.join(arguments)}: {run.stdout}{run.stderr}"
            return run.stdout
        assert run.returncode != 0, f"etcdctl {' '.join(arguments)} should fail: {run.stdout}"
        return run.stdout + run.stderr

    def background(self, *arguments, at=None):
        return subprocess.Popen(self.command(*arguments, at=at), env={**os.environ, "ETCDCTL_API": "3"}, text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def leader(self):
        """Who leads, by its own word."""
        for i, process in self.processes.items():
            if process.poll() is None:
                status = self.status(i)
                if status and status.get("raft", {}).get("role") == "leader":
                    return i
        return None

    def metric(self, i, name):
        with urllib.request.urlopen(f"http://{self.endpoint(i)}/metrics", timeout=20) as page:
            return next(int(line.split()[1]) for line in page.read().decode().splitlines()
                        if line.startswith(f"conclave_{name} "))

    def digests(self):
        return {i: (self.status(i) or {}).get("raft", {}).get("digest") for i in self.everyone}


def post(endpoint, path, body):
    request = urllib.request.Request(f"http://{endpoint}{path}", json.dumps(body).encode())
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


# ---- what etcdctl can do

def keys(cluster):
    assert cluster.ctl("put", "a", "1").strip() == "OK"
    assert cluster.ctl("put", "b", "2", "--prev-kv").strip() == "OK"
    assert cluster.ctl("get", "a").split() == ["a", "1"]
    assert cluster.ctl("get", "--prefix", "", "--keys-only").split() == ["a", "b"]
    assert '"Count" : 2' in cluster.ctl("get", "a", "c", "--limit=1", "-w", "fields")
    assert cluster.ctl("put", "a", "3", "--prev-kv").split() == ["OK", "a", "1"]
    assert cluster.ctl("del", "b", "--prev-kv").split() == ["1", "b", "2"]
    assert cluster.ctl("del", "b").strip() == "0"
    assert cluster.ctl("get", "b") == ""
    assert cluster.ctl("get", "a", "--consistency=s").split() == ["a", "3"]
    taken = cluster.ctl("txn", stdin='value("a") = "3"\n\nput a 4\nget a\n\nput a 5\n\n')
    assert taken.split() == ["SUCCESS", "OK", "a", "4"], taken
    not_taken = cluster.ctl("txn", stdin='mod("a") = "1"\n\nput a 6\n\nget a\n\n')
    assert not_taken.split() == ["FAILURE", "a", "4"], not_taken
    assert "key is not provided" in cluster.ctl("put", "", "x", fine=False)
    assert "requested lease not found" in cluster.ctl("put", "a", "x", "--lease=123", fine=False)
    revision = json.loads(cluster.ctl("get", "a", "-w", "json"))["header"]["revision"]
    assert cluster.ctl("get", "a", f"--rev={revision - 1}").split() == ["a", "3"]
    cluster.ctl("compaction", str(revision))
    assert "has been compacted" in cluster.ctl("get", "a", f"--rev={revision - 1}", fine=False)
    assert "has been compacted" in cluster.ctl("compaction", str(revision), fine=False)
    assert "future revision" in cluster.ctl("compaction", str(revision + 100), fine=False)
    assert "request is too large" in cluster.ctl("put", "big", stdin="x" * 1_600_000, fine=False)
    cluster.ctl("put", "big", stdin="x" * 1_400_000)
    assert len(cluster.ctl("get", "big", "--print-value-only").strip()) == 1_400_000
    cluster.ctl("del", "big")


def leases(cluster):
    granted = cluster.ctl("lease", "grant", "60")
    lease = granted.split()[1]
    assert "granted with TTL(60s)" in granted
    cluster.ctl("put", "leased", "x", f"--lease={lease}")
    left = cluster.ctl("lease", "timetolive", lease, "--keys")
    assert "granted with TTL(60s)" in left and "attached keys([leased])" in left, left
    assert lease in cluster.ctl("lease", "list")
    assert f"lease {lease} keepalived with TTL(60)" in cluster.ctl("lease", "keep-alive", "--once", lease)
    assert f"lease {lease} revoked" in cluster.ctl("lease", "revoke", lease)
    assert cluster.ctl("get", "leased") == ""
    assert "already expired" in cluster.ctl("lease", "timetolive", lease)
    assert "requested lease not found" in cluster.ctl("lease", "revoke", lease, fine=False)
    short = cluster.ctl("lease", "grant", "2").split()[1]
    cluster.ctl("put", "short", "x", f"--lease={short}")
    began = time.monotonic()
    wait_until(lambda: cluster.ctl("get", "short") == "", 20, "the end of a lease")
    assert time.monotonic() - began > 1.0, "a lease ended early"


def watches(cluster):
    cluster.ctl("put", "w/1", "before")
    revision = json.loads(cluster.ctl("get", "w/1", "-w", "json"))["header"]["revision"]
    now = cluster.background("watch", "--prefix", "w/")
    since = cluster.background("watch", "--prefix", "w/", f"--rev={revision}", "--prev-kv")
    time.sleep(1.0)
    cluster.ctl("put", "w/1", "after")
    cluster.ctl("put", "x", "no")
    cluster.ctl("del", "w/1")
    time.sleep(1.0)
    for watcher in (now, since):
        watcher.send_signal(signal.SIGINT)
    assert now.communicate(timeout=20)[0].split() == ["PUT", "w/1", "after", "DELETE", "w/1"]
    assert since.communicate(timeout=20)[0].split() == ["PUT", "w/1", "before", "PUT", "w/1", "before", "w/1", "after",
                                                        "DELETE", "w/1", "after", "w/1"]
    old = cluster.background("watch", "w/1", "--rev=1")
    cluster.ctl("compaction", str(json.loads(cluster.ctl("get", "x", "-w", "json"))["header"]["revision"]))
    late = cluster.ctl("watch", "w/1", "--rev=1", fine=False)
    assert "has been compacted" in late, late
    old.kill()
    old.communicate()


def locks(cluster):
    held = cluster.background("lock", "door")
    key = held.stdout.readline().strip()
    assert key.startswith("door/"), key
    waiting = cluster.background("lock", "door", "echo", "entered")
    time.sleep(1.0)
    assert waiting.poll() is None
    fence = json.loads(cluster.ctl("get", key, "-w", "json"))["kvs"][0]["create_revision"]
    for i in cluster.everyone:
        door = next(name for name in cluster.status(i)["names"] if name["name"] == "door")
        assert (door["kind"], door["fence"], door["queue_length"]) == ("lock", fence, 1), door
        assert f"door/{door['holder']['lease']:x}" == key and door["holder"]["since_ms"] >= 900, door
    table = subprocess.run([CONCLAVE, "status", "--endpoints", cluster.endpoint(1)], capture_output=True, text=True).stdout
    row = next(line for line in table.splitlines() if line.startswith("lock"))
    assert row.split()[1] == "door" and row.split()[-2:] == [str(fence), "1"], table
    held.send_signal(signal.SIGINT)
    held.communicate(timeout=20)
    assert "entered" in waiting.communicate(timeout=20)[0]
    leads = cluster.background("elect", "crown", "one")
    assert leads.stdout.readline().startswith("crown/")
    assert leads.stdout.readline().strip() == "one"
    observer = cluster.background("elect", "-l", "crown")
    assert observer.stdout.readline().startswith("crown/")
    assert observer.stdout.readline().strip() == "one"
    for process in (observer, leads):
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)


def operators(cluster):
    listed = cluster.ctl("member", "list")
    for i in cluster.everyone:
        assert f"http://{cluster.endpoint(i)}" in listed, listed
    status = json.loads(cluster.ctl("endpoint", "status", "-w", "json"))
    assert len(status) == cluster.size
    leader = cluster.leader()
    assert all(one["Status"]["leader"] == leader for one in status), status
    assert cluster.ctl("endpoint", "health", fine=True).count("is healthy") in (0, cluster.size)
    wait_until(lambda: len({one["HashKV"]["hash"]
                            for one in json.loads(cluster.ctl("endpoint", "hashkv", "-w", "json"))}) == 1,
               10, "equal hashes")
    cluster.ctl("snapshot", "save", f"{cluster.folder}/saved", at=[1])  # checks the digest
    cluster.ctl("alarm", "list")
    cluster.ctl("defrag")
    with urllib.request.urlopen(f"http://{cluster.endpoint(1)}/health") as answer:
        assert json.loads(answer.read()) == {"health": "true"}
    with urllib.request.urlopen(f"http://{cluster.endpoint(1)}/metrics") as answer:
        metrics = answer.read()
        assert b"conclave_revision" in metrics and b"\nconclave_client_memory_limit_bytes 134217728\n" in metrics, metrics


def gateway(cluster):
    at = cluster.endpoint(1)
    code, put = post(at, "/v3/kv/put", {"key": "Zm9v", "value": "YmFy"})
    assert code == 200 and int(put["header"]["revision"]) > 1, put
    code, got = post(at, "/v3/kv/range", {"key": "Zm9v"})
    assert got["kvs"][0]["value"] == "YmFy" and got["count"] == "1", got
    code, error = post(at, "/v3/kv/put", {"value": "YmFy"})
    assert code == 400 and error["code"] == 3 and "key is not provided" in error["error"], error
    code, txn = post(at, "/v3/kv/txn", {
        "compare": [{"key": "Zm9v", "target": "CREATE", "result": "EQUAL", "create_revision": 0}],
        "success": [{"request_put": {"key": "Zm9v", "value": "YQ=="}}],
        "failure": [{"request_range": {"key": "Zm9v"}}]})
    assert not txn.get("succeeded") and txn["responses"][0]["response_range"]["kvs"][0]["value"] == "YmFy", txn
    code, lease = post(at, "/v3/lease/grant", {"TTL": 30})
    code, renewed = post(at, "/v3/lease/keepalive", {"ID": lease["ID"]})
    assert renewed["result"]["TTL"] == "30", renewed
    code, locked = post(at, "/v3/lock/lock", {"name": "bG9jaw==", "lease": lease["ID"]})
    assert code == 200 and locked["key"], locked
    code, _ = post(at, "/v3/lock/unlock", {"key": locked["key"]})
    assert code == 200
    code, _ = post(at, "/v3/election/leader", {"name": "bm9ib2R5"})
    assert code == 500


def asked(endpoint, path, body, **headers):
    """The status and headers of what comes back, whatever is sent."""
    connection = http.client.HTTPConnection(endpoint, timeout=20)
    connection.request("POST" if body is not None else "OPTIONS", path, body,
                       {name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status, {name.lower() for name, _ in answer.getheaders()}


def browsers(cluster):
    """What a web page of somebody else may do: nothing. docs/decisions/0024."""
    at = cluster.endpoint(1)
    put = ("/v3/kv/put", json.dumps({"key": encoded("page"), "value": encoded("evil")}))
    json_type, form = "application/json", "application/x-www-form-urlencoded"
    for wrong, status in (({"Origin": "http://evil.example", "Content_Type": json_type}, 403),
                          ({"Origin": "null", "Content_Type": "text/plain"}, 403),
                          ({"Sec_Fetch_Site": "cross-site", "Content_Type": json_type}, 403),
                          ({"Host": "evil.example:2379", "Content_Type": json_type}, 403),
                          ({"Host": "evil.example", "Origin": "http://evil.example", "Content_Type": json_type}, 403),
                          ({"Content_Type": "text/plain"}, 415), ({"Content_Type": "multipart/form-data"}, 415), ({}, 415),
                          ({"Origin": f"http://{at}", "Content_Type": form}, 415)):
        assert asked(at, *put, **wrong)[0] == status, (wrong, asked(at, *put, **wrong))
        assert asked(at, "/v3/kv/deleterange", put[1], **wrong)[0] == status, wrong
    assert not cluster.ctl("get", "page").split(), "a page has written"
    for path in ("cluster/member/add", "cluster/member/remove", "maintenance/defragment", "maintenance/alarm",
                 "maintenance/transfer-leadership", "maintenance/snapshot"):
        assert asked(at, f"/v3/{path}", "{}", Origin=f"http://{at}", Content_Type=json_type)[0] == 403, path
        assert asked(at, f"/v3/{path}", "{}", Sec_Fetch_Site="same-origin", Content_Type=json_type)[0] == 403, path
    # A page asks beforehand whether it may send what no form can: gRPC among that.
    for path in ("/v3/kv/put", "/etcdserverpb.KV/Put", "/health"):
        _, headers = asked(at, path, None, Origin="http://evil.example", Access_Control_Request_Method="POST",
                           Access_Control_Request_Headers="content-type")
        assert not [name for name in headers if name.startswith("access-control")], (path, headers)
    # As etcd's documents have it, and as Patroni and etcd3gw do.
    done = subprocess.run(["curl", "-sS", "-L", f"http://{at}/v3/kv/put", "-X", "POST", "-d", put[1]], capture_output=True,
                          text=True, timeout=30)
    assert '"revision"' in done.stdout, done.stdout + done.stderr
    assert asked(at, *put, Content_Type=json_type, Host="localhost")[0] == 200
    assert asked(at, *put, Content_Type="application/json; charset=utf-8", Origin=f"http://{at}")[0] == 200
    assert asked(at, *put, Content_Type=json_type, Host="store.example:1")[0] == 200, "--client-host"
    for page in ("/health", "/metrics", "/version"):
        with urllib.request.urlopen(urllib.request.Request(f"http://{at}{page}", headers={"Host": "probe.example"})) as answer:
            assert answer.status == 200


def everything(size):
    with Cluster(size) as cluster:
        for part in (keys, leases, watches, locks, operators, gateway, browsers):
            part(cluster)
        return f"etcdctl at {size}"


# ---- what must survive

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
            at = self.cluster.endpoint(number % self.cluster.size + 1)
            try:
                code, _ = post(at, "/v3/kv/put", {"key": encoded(f"n/{number:06}"), "value": encoded(str(number))})
                if code == 200:
                    self.acknowledged.append(number)
            except (OSError, http.client.HTTPException):
                pass  # that member is down; nobody knows whether the key is there

    def stop(self):
        self.stopped = True
        self.join()


def encoded(text):
    import base64
    return base64.b64encode(text.encode()).decode()


def kept(cluster, writer):
    there = set(cluster.ctl("get", "--prefix", "n/", "--keys-only").split())
    lost = [number for number in writer.acknowledged if f"n/{number:06}" not in there]
    assert not lost, f"{len(lost)} acknowledged keys are lost: {lost[:5]}"
    return len(writer.acknowledged)


def killed_leaders():
    """The leader is killed again and again; nothing that was acknowledged is lost, and locks stay held."""
    with Cluster(3) as cluster:
        lease = cluster.ctl("lease", "grant", "60").split()[1]
        code, _ = post(cluster.endpoint(1), "/v3/lock/lock", {"name": encoded("door"), "lease": int(lease, 16)})
        assert code == 200
        writer = Writer(cluster)
        try:
            for _ in range(3):
                wait_until(lambda: len(writer.acknowledged) > 20, 30, "some writes")
                victim = cluster.leader()
                cluster.kill(victim)
                before = len(writer.acknowledged)
                wait_until(lambda: len(writer.acknowledged) > before + 20, 30, "writes without the victim")
                cluster.start(victim)
                wait_until(lambda: cluster.up(victim), 30, "the victim's return")
        finally:
            writer.stop()
        count = kept(cluster, writer)
        assert f"door/{int(lease, 16):x}" in cluster.ctl("get", "--prefix", "door/", "--keys-only")
        cluster.ctl("lease", "revoke", lease)  # without leases the cluster's clock stands still
        wait_until(lambda: len(set(cluster.digests().values())) == 1, 20, "equal stores")
        return f"{count} writes"


class Asker(threading.Thread):
    """Reads, or writes, one after the other over a connection of its own to one member, and notes what was slow."""

    def __init__(self, cluster, member, path, body):
        super().__init__(daemon=True)
        self.cluster, self.member, self.path, self.body = cluster, member, path, json.dumps(body)
        self.done, self.slow, self.failed, self.stopped = 0, [], [], False
        self.start()

    def run(self):
        connection = None
        while not self.stopped:
            began = time.monotonic()
            try:
                connection = connection or http.client.HTTPConnection(self.cluster.endpoint(self.member), timeout=20)
                connection.request("POST", self.path, self.body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                text = answer.read()
            except (OSError, http.client.HTTPException):  # that member is down
                connection = None
                time.sleep(0.1)
                continue
            took = time.monotonic() - began
            self.done += 1
            if took > 0.2:
                self.slow.append((began, took))
            if answer.status != 200:
                self.failed.append((began, took, text))
            time.sleep(0.05)


READERS = 15
# Between the end of an election and that of a read. Reads need two round trips; a machine that is busy with other tests
# takes its time.
AFTER_ELECTION = 2.0 if KILLS < 200 else 0.3


def readers_through_leaders():
    """Leaders are killed under readers and writers at every member, while a lease makes the leader propose something five
    times a second. No read waits longer than for the election and a little more, and nobody who asks is forgotten."""
    with Cluster(3) as cluster:
        cluster.ctl("lease", "grant", "3600")
        cluster.ctl("put", "k", "v")
        get, put = {"key": encoded("k")}, {"key": encoded("k"), "value": encoded("w")}
        readers = [Asker(cluster, i, "/v3/kv/range", get) for i in cluster.everyone for _ in range(READERS)]
        writers = [Asker(cluster, i, "/v3/kv/put", put) for i in cluster.everyone]

        def all_go_on(members):
            before = {asker: asker.done for asker in readers + writers if asker.member in members}
            wait_until(lambda: all(asker.done > done + 2 for asker, done in before.items()), 20,
                       f"reads and writes of everybody at {sorted(members)}")

        longest, elections = 0, []
        try:
            for _ in range(KILLS):
                all_go_on(set(cluster.everyone))
                victim = cluster.leader()
                killed = time.monotonic()
                cluster.kill(victim)
                survivors = set(cluster.everyone) - {victim}
                wait_until(lambda: cluster.leader() in survivors, 20, "an election")
                elected = time.monotonic()
                elections.append(elected - killed)
                all_go_on(survivors)
                for asker in readers:
                    if asker.member not in survivors:
                        continue
                    assert not [one for one in asker.failed if one[0] > killed - 1], \
                        f"a read at {asker.member} failed: {asker.failed[-1][2]}"
                    late = [began + took - elected for began, took in asker.slow if began + took > killed and began < elected]
                    late += [took for began, took in asker.slow if began >= elected]
                    longest = max([longest, *late])
                    assert longest <= AFTER_ELECTION, f"a read at {asker.member} took {longest:.2f} s after the election"
                    asker.slow.clear()
                cluster.start(victim)
                wait_until(lambda: cluster.up(victim), 30, "the victim's return")
        finally:
            for asker in readers + writers:
                asker.stopped = True
        return (f"{KILLS} kills, elections of {sum(elections) / KILLS:.2f} s, {sum(one.done for one in readers)} reads, none "
                f"later than {max(longest, 0):.2f} s after the election")


def killed_all():
    """All members are killed at once, and start again with what their disks have."""
    with Cluster(3) as cluster:
        writer = Writer(cluster)
        try:
            wait_until(lambda: len(writer.acknowledged) > 100, 30, "some writes")
            for i in cluster.everyone:
                cluster.kill(i)
        finally:
            writer.stop()
        for i in cluster.everyone:
            cluster.start(i)
        cluster.wait_all_up()
        wait_until(lambda: cluster.leader(), 30, "an election")
        return f"{kept(cluster, writer)} writes"


def contention():
    """Many want one lock while leaders are killed: never two inside, and fences that grow."""
    with Cluster(3) as cluster:
        contenders = cluster.contend(10_000, ttl=10)
        for _ in range(2):
            cluster.wait_for_entries(len(cluster.fences()) + 20, 60)
            victim = cluster.leader()
            cluster.kill(victim)
            cluster.wait_for_entries(len(cluster.fences()) + 20, 60)
            cluster.start(victim)
            wait_until(lambda: cluster.up(victim), 30, "the victim's return")
        cluster.enough()
        cluster.finish(contenders, may_fail=cluster.everyone)  # each knows one member only, and that may have died
        return f"{cluster.check_fences(80)} entries"


def lock_held_through_leaders():
    """`conclave lock` goes on while leaders are killed; who waits gets the lock when it is given back, and not before."""
    with Cluster(3) as cluster:
        everywhere = ",".join(cluster.endpoint(i) for i in cluster.everyone)

        def lock(script):
            return subprocess.Popen([CONCLAVE, "lock", "door", "--ttl", "3", "--endpoints", everywhere, "--", "sh", "-c",
                                     script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        done = f"{cluster.folder}/done"
        holder = lock(f"echo $CONCLAVE_FENCE; while [ ! -e {done} ]; do sleep 0.05; done; echo kept")
        fence = int(holder.stdout.readline())
        waiter = lock("echo $CONCLAVE_FENCE")
        began = time.monotonic()
        for kills in range(3):
            wait_until(cluster.leader, 20, "an election")
            victim = cluster.leader()
            cluster.kill(victim)
            time.sleep(1.5)  # all three take longer than the lease lasts without being renewed
            cluster.start(victim)
            wait_until(lambda: cluster.up(victim), 30, "the victim's return")
        held = time.monotonic() - began
        assert held > 4, f"leaders were killed for {held:.1f} s only"
        assert holder.poll() is None, f"the lock was lost: {holder.communicate()}"
        assert waiter.poll() is None, "two have the lock"
        open(done, "w").close()
        out, err = holder.communicate(timeout=20)
        assert holder.returncode == 0 and "kept" in out, (holder.returncode, out, err)
        out, err = waiter.communicate(timeout=20)
        assert waiter.returncode == 0 and int(out) > fence, (waiter.returncode, out, err, fence)
        return f"held for {held:.1f} s under {kills + 1} dead leaders; fences {fence}, {int(out)}"


def failover():
    """Writes go on without a leader that was killed or is silent; how fast exactly is for a quiet machine to say."""
    run = subprocess.run([CONCLAVE, "bench", "failover", "--trials", "2", "--json"], capture_output=True, text=True,
                         timeout=200)
    assert run.returncode == 0, run.stderr
    rows = {row["fault"]: row for row in json.loads(run.stdout)["rows"]}
    assert set(rows) == {"kill", "silence"} and all(len(row["trials"]) == 2 for row in rows.values()), run.stdout
    for row in rows.values():
        for trial in row["trials"]:
            assert 0 < trial["all"] <= trial["client"], trial
    # Nobody suspects who merely says nothing before a follower's patience ends.
    assert min(trial["all"] for trial in rows["silence"]["trials"]) > 200, run.stdout
    assert max(trial["all"] for trial in rows["kill"]["trials"]) < 5000, run.stdout
    return ", ".join(f"{fault} {row['all_ms']['worst']:.0f} ms" for fault, row in rows.items())


def traced():
    """What the members wrote of a run whose leader is killed and comes back is judged, drawn, and repeated in the simulator
    to the last state."""
    cluster = Cluster(3)
    for i in cluster.everyone:
        cluster.own_flags[i] += ["--trace", f"{cluster.folder}/{i}.jsonl"]
    with cluster:
        writer = Writer(cluster)
        try:
            wait_until(lambda: len(writer.acknowledged) > 20, 30, "some writes")
            victim = cluster.leader()
            cluster.kill(victim)
            before = len(writer.acknowledged)
            wait_until(lambda: len(writer.acknowledged) > before + 20, 30, "writes without the victim")
            cluster.start(victim)
            wait_until(lambda: cluster.up(victim), 30, "the victim's return")
        finally:
            writer.stop()
        kept(cluster, writer)
        for process in cluster.processes.values():
            process.terminate()
        for process in cluster.processes.values():
            process.wait(timeout=20)
        merged, again = f"{cluster.folder}/merged.jsonl", f"{cluster.folder}/again.jsonl"
        for command in (["trace", "merge", *(f"{cluster.folder}/{i}.jsonl" for i in cluster.everyone), "-o", merged],
                        ["trace", merged, "--svg", f"{cluster.folder}/picture.svg"],
                        ["sim", "raft", "--script", merged, "--trace", again]):
            run = subprocess.run([CONCLAVE, *command], capture_output=True, text=True, timeout=120)
            assert run.returncode == 0, f"{' '.join(command)}: {run.stdout}{run.stderr}"
        with open(merged) as one, open(again) as other:
            steps = [json.loads(line) for line in one]
            assert steps == [json.loads(line) for line in other], "the replay is another trace"
        kinds = [(step.get("kind"), step.get("node")) for step in steps]
        for kind in ("crash", "recover", "synced", "timer", "deliver"):
            assert (kind, victim) in kinds, f"no {kind} of member {victim}"
        assert sum(event["type"] == "Leading" for step in steps for event in step.get("events", ())) >= 2
        return f"{len(steps)} steps, {len(writer.acknowledged)} writes, repeated"


def resident(process):
    """MiB that a process has in memory."""
    with open(f"/proc/{process.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) / 1024


def slow_follower():
    """A member that reads nothing costs the others a bounded amount of memory, and catches up afterwards. The values are
    300 MiB in all, of which four keys hold a few at a time; a member that forwards has more of them open than it may
    have on the way."""
    value, rounds, writers = "x" * 200_000, 100, 16
    with Cluster(3) as cluster:
        leader = cluster.leader()
        slow, other = [i for i in cluster.everyone if i != leader]
        cluster.processes[slow].send_signal(signal.SIGSTOP)

        def write(n):
            for turn in range(rounds):
                at = cluster.endpoint(other if n % 2 else leader)
                code, answer = post(at, "/v3/kv/put", {"key": encoded(f"k{n % 4}"), "value": encoded(value)})
                assert code == 200, answer
                if n == 0 and turn % 10 == 9:
                    post(at, "/v3/kv/compaction", {"revision": answer["header"]["revision"]})

        failed, most = [], 0

        def guarded(n):
            try:
                write(n)
            except Exception as error:  # pylint: disable=broad-except
                failed.append(error)
        threads = [threading.Thread(target=guarded, args=(n,)) for n in range(writers)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            most = max(most, *(resident(cluster.processes[i]) for i in (leader, other)))
            time.sleep(0.05)
        assert not failed, failed[0]
        cluster.processes[slow].send_signal(signal.SIGCONT)
        wait_until(lambda: len(set(cluster.digests().values())) == 1, 60, "equal stores")
        assert most < 400, f"a member had {most:.0f} MiB in memory"
        return f"{most:.0f} MiB at most, for {len(value) * rounds * writers >> 20} MiB of values"


def store_of(cluster, i):
    """What fills the store of a member, by its own word."""
    return (cluster.status(i) or {}).get("raft", {}).get("store")


def overwrite(cluster, seconds, value, keys=8, writers=8, pause=0.0):
    """So many clients replace values for some seconds. How many MiB were acknowledged; what was refused is raised."""
    end, done, wrong = time.monotonic() + seconds, [0] * writers, []

    def write(n):
        turn = 0
        while time.monotonic() < end and not wrong:
            turn += 1
            at = cluster.endpoint(n % cluster.size + 1)
            try:
                code, answer = post(at, "/v3/kv/put", {"key": encoded(f"k{turn % keys}"), "value": encoded(value)})
            except (OSError, http.client.HTTPException):
                time.sleep(0.1)  # that member is down
                continue
            if code == 200:
                done[n] += len(value)
            elif code not in (503, 504):
                wrong.append(answer)
            time.sleep(pause)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, f"a put was refused: {wrong[0]}"
    return sum(done) >> 20


def history_ends():
    """Values are replaced, several times what the quota is of, and nobody compacts: nothing is refused, the stores stay flat,
    and an idle cluster frees what is left of it."""
    with Cluster(3, "--quota-backend-bytes", "48M", "--auto-compaction-retention", "3s") as cluster:
        wanted, written, most, resident_then = 240, 0, 0, 0
        for _ in range(60):
            written += overwrite(cluster, 1, "x" * 50_000)
            stores = [store_of(cluster, i) for i in cluster.everyone]
            most = max([most, *(one["live_bytes"] + one["history_bytes"] for one in stores)])
            resident_now = max(resident(cluster.processes[i]) for i in cluster.everyone)
            if written < wanted // 2:
                resident_then = max(resident_then, resident_now)  # of the log, members keep what came since the last snapshot
            if written > wanted:
                break
        assert written > wanted, f"only {written} MiB were written: this machine is too busy"
        assert most < 50 << 20, f"a store had {most >> 20} MiB"
        assert resident_now < resident_then + 40, f"{resident_then:.0f} MiB in memory, and then {resident_now:.0f}"
        status = json.loads(cluster.ctl("endpoint", "status", "-w", "json"))
        assert all(one["Status"]["dbSize"] < 50 << 20 for one in status), status
        wait_until(lambda: all(store_of(cluster, i)["history_records"] == 0 for i in cluster.everyone), 30, "the end of history")
        store = store_of(cluster, 1)
        assert store["keys"] == 8 and store["live_bytes"] < 1 << 20 and store["retention"] == "3s", store
        status = json.loads(cluster.ctl("endpoint", "status", "-w", "json"))
        assert all(one["Status"]["dbSize"] == one["Status"]["dbSizeInUse"] for one in status), status
        wait_until(lambda: len(set(cluster.digests().values())) == 1, 20, "equal stores")
        before = cluster.status(1)["raft"]["committed"]
        time.sleep(3)
        assert cluster.status(1)["raft"]["committed"] == before, "an idle cluster writes"
        table = subprocess.run([CONCLAVE, "status", "--endpoints", cluster.endpoint(1)], capture_output=True, text=True).stdout
        assert "reaches back" in table and "3s, up to" in table, table
        with urllib.request.urlopen(f"http://{cluster.endpoint(1)}/metrics") as answer:
            metrics = answer.read().decode()
        assert "\nconclave_history_records 0\n" in metrics and f"\nconclave_quota_bytes {48 << 20}\n" in metrics, metrics
        return f"{written} MiB, stores of {most >> 20} MiB at most, {resident_now:.0f} MiB in memory"


def no_space_ends():
    """Keys fill the quota: puts are refused and deletes are not, and when there is room the cluster goes on by itself."""
    with Cluster(3, "--quota-backend-bytes", "16M") as cluster:
        at, value = cluster.endpoint(1), encoded("x" * 100_000)

        def put(name):
            return post(at, "/v3/kv/put", {"key": encoded(name), "value": value})
        count = 0
        while count < 1000 and put(f"k{count:04}")[0] == 200:
            count += 1
        assert 150 < count < 300, f"{count} keys of 100 KB"
        assert "database space exceeded" in cluster.ctl("put", "more", "x", fine=False)
        assert "NOSPACE" in cluster.ctl("alarm", "list")
        lease = next(line for line in cluster.log(cluster.leader()).splitlines() if "event=no_space" in line)
        assert lease
        deletes = {"success": [{"request_delete_range": {"key": encoded("k0000")}}]}
        assert post(at, "/v3/kv/txn", deletes)[0] == 200, "a transaction that only deletes"
        time.sleep(2)
        assert put("more")[0] != 200, "there is hardly more room than before"
        cluster.ctl("del", "--prefix", "k")  # all at once: no later revision comes
        wait_until(lambda: put("more")[0] == 200, 20, "room")
        assert "NOSPACE" not in cluster.ctl("alarm", "list")
        wait_until(lambda: store_of(cluster, 1)["live_bytes"] < 1 << 20, 20, "one key")
        return f"{count} keys of 100 KB in 16 MiB, and room again"


class SlowReader(threading.Thread):
    """Watches over one connection to a member, takes little at a time, with pauses in which it falls behind, and goes on at
    another member when its own is gone. What it was told, by revision."""

    def __init__(self, cluster, first, pause):
        super().__init__(daemon=True)
        self.cluster, self.member, self.pause = cluster, first, pause
        self.seen, self.wrong, self.stopped, self.lost = [], [], False, 0
        self.start()

    def lines(self):
        with socket.socket() as door:
            door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)  # before it connects, or it grows
            door.settimeout(30)
            door.connect((self.cluster.hosts[self.member], self.cluster.client_ports[self.member]))
            body = json.dumps({"create_request": {"key": encoded("k"), "range_end": encoded("l"),
                                                  "start_revision": self.seen[-1] + 1 if self.seen else 0}})
            door.sendall(f"POST /v3/watch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                         f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
            answer = http.client.HTTPResponse(door)
            answer.begin()
            while line := answer.readline():
                yield json.loads(line)

    def run(self):
        taken = 0
        while not self.stopped:
            try:
                for line in self.lines():
                    told = line.get("result", {})
                    if told.get("canceled") or "error" in line:
                        if "compact_revision" in told:
                            self.wrong.append(told)
                            return
                        break
                    self.seen += [int(event["kv"]["mod_revision"]) for event in told.get("events", ())]
                    taken += 1
                    if taken % 20 == 0 and not self.stopped:
                        time.sleep(self.pause)
            except (OSError, http.client.HTTPException, ValueError):
                pass
            self.lost += 1
            self.member = self.member % self.cluster.size + 1
            time.sleep(0.1)


def slow_reader():
    """History of two seconds is kept, and who watches is behind by more most of the time: nobody who reads is overtaken, also
    if the leader dies in between. Who reads nothing at all does not keep the quota from being met."""
    with Cluster(3, "--quota-backend-bytes", "200M", "--auto-compaction-retention", "2s") as cluster:
        readers = [SlowReader(cluster, i, pause) for i in cluster.everyone for pause in (0, 1.5)]
        wait_until(lambda: sum(cluster.metric(i, "watchers") for i in cluster.everyone) == len(readers), 20, "the watchers")
        compacted = []
        for turn in range(6):
            overwrite(cluster, 4, "x" * 20_000, writers=4, pause=0.05)
            if turn == 3:
                victim = cluster.leader()
                cluster.kill(victim)
                overwrite(cluster, 4, "x" * 20_000, writers=4, pause=0.05)
                cluster.start(victim)
                wait_until(lambda: cluster.up(victim), 30, "the victim's return")
            compacted.append(store_of(cluster, cluster.leader())["compacted"])
        needs = sum(cluster.metric(i, "watcher_needs_total") for i in cluster.everyone)
        last = json.loads(cluster.ctl("get", "k0", "-w", "json"))["header"]["revision"]
        for reader in readers:
            reader.pause = 0
        wait_until(lambda: all(reader.wrong or (reader.seen and reader.seen[-1] == last) for reader in readers), 60,
                   f"everybody knowing revision {last}: {[reader.seen[-1:] for reader in readers]}")
        for reader in readers:
            reader.stopped = True
            assert not reader.wrong, f"a reader was overtaken: {reader.wrong[0]}"
            assert reader.seen == list(range(reader.seen[0], last + 1)), "a reader was told something twice, or not at all"
        assert compacted[-1] > last // 4, f"compacted {compacted} of {last}"
        assert needs > 0, "nobody was behind"
        return f"{last} revisions, {compacted[-1]} compacted, {needs} times somebody said what is needed"


def waiter_gone():
    """Who stops waiting leaves the line; who vanishes without a lease gives up what it held."""
    with Cluster(1) as cluster:
        leases_of = [cluster.ctl("lease", "grant", "60").split()[1] for _ in range(2)]
        at = cluster.endpoint(1)
        post(at, "/v3/lock/lock", {"name": encoded("door"), "lease": int(leases_of[0], 16)})
        waiting = subprocess.Popen(["curl", "-s", f"http://{at}/v3/lock/lock", "-d", json.dumps(
            {"name": encoded("door"), "lease": int(leases_of[1], 16)})])
        wait_until(lambda: len(cluster.ctl("get", "--prefix", "door/", "--keys-only").split()) == 2, 20, "a line")
        waiting.kill()
        waiting.wait()
        wait_until(lambda: len(cluster.ctl("get", "--prefix", "door/", "--keys-only").split()) == 1, 20, "its end")
        assert post(at, "/v3/lock/lock", {"name": encoded("brief")})[0] == 200
        wait_until(lambda: cluster.ctl("get", "--prefix", "brief/") == "", 20, "the end of a connection")
        return "left"


def leased(cluster, at, ttl, name):
    """A key that goes with a new lease; the lease."""
    lease = int(post(cluster.endpoint(at), "/v3/lease/grant", {"TTL": ttl})[1]["ID"])
    assert post(cluster.endpoint(at), "/v3/kv/put", {"key": encoded(name), "value": "", "lease": lease})[0] == 200
    return lease


def is_there(cluster, at, name):
    try:
        code, answer = post(cluster.endpoint(at), "/v3/kv/range", {"key": encoded(name)})
        return code != 200 or int(answer.get("count", 0)) == 1  # who cannot tell does not say that it is gone
    except OSError:
        return True


def lease_of_a_stopped_member():
    """A member alone that stood still heard no renewals: the time does not count, and then the lease ends."""
    with Cluster(1) as cluster:
        leased(cluster, 1, 4, "leased")
        time.sleep(0.5)  # it runs
        cluster.processes[1].send_signal(signal.SIGSTOP)
        time.sleep(6)
        cluster.processes[1].send_signal(signal.SIGCONT)
        time.sleep(0.5)
        assert is_there(cluster, 1, "leased"), "the lease ended for the time in which nobody could renew it"
        began = time.monotonic()
        wait_until(lambda: not is_there(cluster, 1, "leased"), 20, "the end of the lease")
        return f"ended {time.monotonic() - began:.1f} s after the member went on"


def lease_under_a_stopped_leader():
    """While the leader stands still, others count: who renews keeps the lease, who does not loses it, and the leader
    of old ends nothing when it goes on."""
    with Cluster(3) as cluster:
        old = cluster.leader()
        other = next(i for i in cluster.everyone if i != old)
        kept, short = leased(cluster, other, 4, "kept"), leased(cluster, other, 4, "short")
        assert kept != short
        cluster.processes[old].send_signal(signal.SIGSTOP)
        began = time.monotonic()
        gone = None
        while time.monotonic() < began + 9:
            post(cluster.endpoint(other), "/v3/lease/keepalive", {"ID": kept})
            assert is_there(cluster, other, "kept"), "a lease that was renewed ended"
            if not gone and not is_there(cluster, other, "short"):
                gone = time.monotonic() - began
            time.sleep(0.3)
        assert gone and gone > 2.5, f"a lease of 4 s that nobody renewed ended after {gone} s"
        cluster.processes[old].send_signal(signal.SIGCONT)
        end = time.monotonic() + 3
        while time.monotonic() < end:
            assert is_there(cluster, other, "kept"), "the former leader's time was counted"
            time.sleep(0.1)
        wait_until(lambda: not is_there(cluster, old, "kept"), 20, "the end of the lease")
        return f"ended after {gone:.1f} s"


TESTS = {
    "lease of a stopped member": lease_of_a_stopped_member,
    "lease under a stopped leader": lease_under_a_stopped_leader,
    "etcdctl one member": lambda: everything(1),
    "etcdctl three members": lambda: everything(3),
    "killed leaders": killed_leaders,
    "readers through leaders": readers_through_leaders,
    "killed all": killed_all,
    "contention": contention,
    "lock held through leaders": lock_held_through_leaders,
    "failover": failover,
    "traced": traced,
    "slow follower": slow_follower,
    "history ends": history_ends,
    "no space ends": no_space_ends,
    "slow reader": slow_reader,
    "waiter gone": waiter_gone,
}

if __name__ == "__main__":
    sys.exit(run_tests(TESTS, WORDS))

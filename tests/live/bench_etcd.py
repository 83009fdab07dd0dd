"""`conclave bench etcd`: every workload, briefly, on three of our members and on one of etcd's. No figure is judged.

   bench_etcd.py CONCLAVE
"""
import json
import shutil
import subprocess
import sys
import tempfile

from harness import CONCLAVE, Skipped, free_ports, run_tests, wait_until
from raft import Cluster

SMALL = ["--keys", "500", "--size", "64", "--leases", "5", "--watchers", "9", "--page", "100", "--prefix", "test/"]
WORKLOADS = ["put", "age", "get", "get-serializable", "txn", "range", "fill", "lock", "lock-contended", "lock-recipe",
             "lock-recipe-contended", "campaign", "campaign-contended", "campaign-recipe", "campaign-recipe-contended",
             "keep-alive", "watch"]


def bench(endpoints, *flags):
    return subprocess.run([CONCLAVE, "bench", "etcd", "--endpoints", ",".join(endpoints), *flags], capture_output=True,
                          text=True, timeout=120)


def load(endpoints, workload, *flags):
    run = bench(endpoints, "--workload", workload, *SMALL, *flags, "--json")
    assert run.returncode == 0, f"{workload}: {run.stdout}{run.stderr}"
    return json.loads(run.stdout)


def every_workload(endpoints, version):
    operations = 0
    for workload in WORKLOADS:
        # As many operations as wanted, whatever the machine is doing; a walk ends where it ends.
        wanted = [] if workload == "fill" else ["--clients", "6", "--count", "60"]
        said = load(endpoints, workload, *wanted)
        assert said["failed"] == 0, f"{workload}: {said['errors']}"
        assert said["operations"] == (5 if workload == "fill" else 60), said
        assert 0 < said["latency_us"]["p50"] <= said["latency_us"]["p99"] <= said["latency_us"]["most"], said
        assert said["per_second"] > 0 and said["load"]["cpu_us"] > 0, said
        assert [member["endpoint"] for member in said["members"]] == endpoints, said
        assert sum(member["leads"] for member in said["members"]) == 1, said
        assert all(member["version"].startswith(version) for member in said["members"]), said
        if workload == "watch":
            assert said["counts"]["deliveries"]["count"] == 60 * 9, said
            assert said["parts_us"]["delivered"]["count"] == 60 * 9 and said["parts_us"]["acknowledged"]["count"] == 60, said
        if workload == "range":
            assert said["counts"]["keys"]["count"] == 60 * 100, said
        if workload == "fill":
            assert said["counts"]["keys"]["count"] == 500, said
        if "lock" in workload or "campaign" in workload:
            assert said["parts_us"]["entered"]["count"] == 60, said
        if "contended" in workload:
            assert said["parts_us"]["handed over"]["count"] > 0, said
        operations += said["operations"]
    return f"{operations} operations"


def ours():
    with Cluster(3) as cluster:
        endpoints = [cluster.endpoint(i) for i in cluster.everyone]
        told = every_workload(endpoints, "3.")
        left = cluster.ctl("get", "--prefix", "test/", "--keys-only").split()
        assert not [key for key in left if "lock" in key or "election" in key], left
        assert cluster.ctl("lease", "list").split()[1] == "0", "leases are left"
        return told


def etcds():
    folder = tempfile.mkdtemp(prefix="conclave-bench-")
    client, peer = (f"127.0.0.1:{port}" for port in free_ports(2))
    try:
        etcd = subprocess.Popen(["etcd", "--data-dir", folder, "--listen-client-urls", f"http://{client}",
                                 "--advertise-client-urls", f"http://{client}", "--listen-peer-urls", f"http://{peer}",
                                 "--initial-advertise-peer-urls", f"http://{peer}", "--initial-cluster",
                                 f"default=http://{peer}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except FileNotFoundError as missing:
        raise Skipped("etcd is not installed (Debian: etcd-server)") from missing
    try:
        wait_until(lambda: bench([client], "--workload", "put", "--count", "1").returncode == 0, 30, "a put")
        return every_workload([client], "3.")
    finally:
        etcd.kill()
        etcd.wait()
        shutil.rmtree(folder)


def a_member_dies():
    """Its clients go to the others; what failed is counted, and done again."""
    with Cluster(3) as cluster:
        endpoints = [cluster.endpoint(i) for i in cluster.everyone]
        process = subprocess.Popen([CONCLAVE, "bench", "etcd", "--endpoints", ",".join(endpoints), "--workload", "put",
                                    "--clients", "6", "--seconds", "4", *SMALL, "--json"], stdout=subprocess.PIPE, text=True)
        wait_until(lambda: cluster.ctl("get", "--prefix", "test/", "--limit=1"), 20, "a put")
        cluster.kill(cluster.leader())
        said = json.loads(process.communicate(timeout=60)[0])
        assert process.returncode == 0 and said["failed"] > 0 and said["operations"] > 0, said
        assert sum(said["errors"].values()) == said["failed"], said
        return f"{said['failed']} of {said['operations']} failed"


def for_people():
    with Cluster(1) as cluster:
        endpoints = [cluster.endpoint(1)]
        run = bench(endpoints, "--workload", "put", "--count", "2000", "--slice", "1000")
        assert run.returncode == 0, run.stderr
        for word in ("put: a put of one of the keys", "2,000 operations, 0 failed", "p99.9 ms", "until 1,000", "until 2,000",
                     "The load itself took"):
            assert word in run.stdout, f"{word}: {run.stdout}"
        return "tables"


def refused():
    help_ = bench([], "--help").stdout
    for workload in WORKLOADS:
        assert f"\n  {workload} " in help_, workload
    for flags, status in ((["--workload", "nonsense"], 2), (["--workload", "put", "--clients", "0"], 2), ([], 2),
                          (["--workload", "put", "--seconds", "1", "--count", "1"], 2),
                          (["--workload", "put", "--count", "100000", "--slice", "1"], 2), (["--workload", "put"], 125)):
        run = bench(["127.0.0.1:1"], *flags)
        assert run.returncode == status and run.stderr and not run.stdout, (flags, run)
    return "with a reason"


TESTS = {"refused": refused, "for people": for_people, "ours": ours, "etcd's": etcds, "a member dies": a_member_dies}

if __name__ == "__main__":
    sys.exit(run_tests(TESTS, sys.argv[2:]))

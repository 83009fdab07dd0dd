#!/usr/bin/env python3
"""What the Python client of etcd can do at a member without a key-value store: leases, members, status.

   etcd3_client.py HOST:PORT

Exit status 77: the client is not installed (Debian: python3-etcd3).
"""
import sys
import time

try:
    import etcd3
    import grpc
except ImportError as error:
    print(error)
    sys.exit(77)


def lease_of(client, lease):
    info = client.get_lease_info(lease.id)
    return info.TTL, info.grantedTTL


def leases(client):
    lease = client.lease(30)
    left, granted = lease_of(client, lease)
    assert granted == 30 and 0 <= left <= 30, (left, granted)
    renewed = list(lease.refresh())
    assert [answer.TTL for answer in renewed] == [30] and renewed[0].ID == lease.id, renewed
    assert lease.remaining_ttl <= 30 and lease.granted_ttl == 30 and list(lease.keys) == []
    lease.revoke()
    assert lease_of(client, lease)[0] == -1, "it was revoked"
    assert [answer.TTL for answer in lease.refresh()] == [0], "who renews a lease that is gone is told so"
    try:
        lease.revoke()
        raise AssertionError("what is gone was revoked")
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.NOT_FOUND, error
    chosen = client.lease(20, lease_id=4711)
    assert chosen.id == 4711
    try:
        client.lease(20, lease_id=4711)
        raise AssertionError("one id was given twice")
    except etcd3.exceptions.PreconditionFailedError:
        pass


def a_lease_ends(client):
    lease = client.lease(1)
    end = time.monotonic() + 20
    while lease_of(client, lease)[0] != -1:
        assert time.monotonic() < end, "a lease of one second is there after twenty"
        time.sleep(0.1)


def members(client):
    names = sorted(member.name for member in client.members)
    assert len(names) == 3, names
    assert client.status().version


def no_store(client):
    for call in (lambda: client.put("a", "b"), lambda: client.get("a")):
        try:
            call()
            raise AssertionError("there is no store")
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.UNIMPLEMENTED and "key-value" in error.details(), error


if __name__ == "__main__":
    host, port = sys.argv[1].split(":")
    with etcd3.client(host=host, port=int(port), timeout=20) as one:
        for test in (leases, a_lease_ends, members, no_store):
            test(one)
    print(f"etcd3 {etcd3.__version__}: leases, members, no store")

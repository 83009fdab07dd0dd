"""A Raft cluster of real processes on machines that tests can break: links go through a proxy, the disk and the wall
clock of every member are what a file says, one member's disk is small, and members may be replaced by newcomers.

   SCRIPT CONCLAVE CONTENDER LINK_PROXY CHAOS_LOAD CHAOS_KEEPERS BAD_DISK CLOCK_STEP […]
"""
import hashlib
import itertools
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
from harness import CONCLAVE, free_ports, new_key, wait_until  # noqa: E402
from raft import Cluster  # noqa: E402

PROXY, LOAD, KEEPERS, BAD_DISK, CLOCK_STEP = (sys.argv[3:8] + [""] * 5)[:5]
NO_SPACE = "o space left"  # in a log
LOST = "has lost its data"
REPLACED = 60.0  # seconds until a newcomer has taken a member's place, whatever else happens
EXPELLED = 3  # exit status of a member that was told that it is none any more


class Void(Exception):
    """Too little happened."""


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def write_at_once(path, text):
    """Whoever reads it meets the old text or the new one."""
    with open(path + ".new", "w") as file:
        file.write(text)
    os.rename(path + ".new", path)


def text_of(path):
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


class Arena(Cluster):
    """A cluster whose links go through a proxy, those of members to come as well: route 1-2 is where 1 dials 2. One
    member's disk is small, if this machine allows that. Members' disks and wall clocks are what files say."""

    def __init__(self, size, newcomers=0):
        super().__init__(size)
        self.troubles = []  # when something was done, to whom, and whose readers may wait meanwhile
        self.expected = {}  # members that may end by themselves, and what their logs say then
        founders = list(self.everyone)
        self.everyone = founders  # who is a member; those who are replaced go
        self.ever = list(range(1, size + newcomers + 1))  # who is, was or may become one; ids are given in order
        self.next_id = size + 1
        self.gone = set()
        self.replacement = None
        self.on_change = lambda: None
        ports = iter(free_ports(2 * newcomers))
        for i in self.ever[size:]:
            self.hosts[i], self.peer_ports[i], self.client_ports[i] = "127.0.0.1", next(ports), next(ports)
            self.around[i], self.own_flags[i] = [], ["--data", f"{self.folder}/data{i}", "--join"]
        self.known = {i: self.members for i in founders}  # on its command line, which stays what it was
        self.heard = {i: 0 for i in self.ever}  # of their logs
        self.open_proxy()
        self.mounted = []
        self.small = size if self.shrink(size) else None

    def open_proxy(self):
        pairs = list(itertools.permutations(self.ever, 2))
        ports = dict(zip(pairs, free_ports(len(pairs))))
        key = new_key(self.folder)
        for i in self.ever:
            via = ",".join(f"{j}=127.0.0.1:{ports[i, j]}" for j in self.ever if j != i)
            self.own_flags[i] += ["--via", via, "--key-file", key]
        routes = [f"{i}-{j}={ports[i, j]}:{self.peer_ports[j]}" for i, j in pairs]
        self.proxy = subprocess.Popen([PROXY, *routes], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, command):
        self.proxy.stdin.write(command + "\n")
        self.proxy.stdin.flush()
        return int(self.proxy.stdout.readline())

    def shrink(self, i):
        """Gives a member that has not started a small disk."""
        place = f"{self.folder}/data{i}"
        os.mkdir(place)
        mounted = os.geteuid() == 0 and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=192m", "tmpfs", place], capture_output=True).returncode == 0
        self.mounted += [place] if mounted else []
        return mounted

    def __exit__(self, kind, *rest):
        if self.replacement:
            self.replacement.give_up = True
            self.replacement.join()
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()
        for place in self.mounted:
            if kind is not None:
                subprocess.run(["cp", "-r", place, f"{place}-copy"], check=False)
            subprocess.run(["umount", "-l", place], check=False)
        self.proxy.kill()
        self.proxy.wait()
        super().__exit__(kind, *rest)

    def start(self, i):
        """After a crash: what was written is there, flushed or not. Unless the power failed, which start_after_power_cut
        is for."""
        for name in (f"{self.folder}/disk{i}.undo",):
            if os.path.exists(name):
                os.unlink(name)
        self.start_after_power_cut(i)

    def start_after_power_cut(self, i):
        machine = {"LD_PRELOAD": f"{BAD_DISK}:{CLOCK_STEP}", "BAD_DISK": f"{self.folder}/disk{i}",
                   "BAD_DISK_FOLDER": self.data(i), "CLOCK_STEP": f"{self.folder}/clock{i}",
                   "ASAN_OPTIONS": "verify_asan_link_order=0"}  # what is preloaded comes before the sanitizer
        with open(f"{self.folder}/member{i}.log", "ab") as log:
            self.processes[i] = subprocess.Popen(
                [CONCLAVE, "serve", "--engine", "raft", "--id", str(i), "--members", self.known[i], "--client",
                 self.endpoint(i), "--down-after", "0.5", *self.own_flags[i]],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env={**os.environ, **machine})

    # ---- machines

    def data(self, i):
        return f"{self.folder}/data{i}"

    def set_disk(self, i, *rules):
        """How bad it is from now on; bad_disk.cpp has what there is to say."""
        write_at_once(f"{self.folder}/disk{i}", "".join(f"{rule}\n" for rule in rules))

    def disk_fired(self, i):
        """Which faults of the disk have struck so far."""
        return text_of(f"{self.folder}/disk{i}.fired").splitlines()

    def set_clock(self, i, text="0"):
        write_at_once(f"{self.folder}/clock{i}", f"{text}\n")

    def clock_fired(self, i):
        """What the process of now has seen of its wall clock's steps."""
        seen = [line.split(" ", 1) for line in text_of(f"{self.folder}/clock{i}.fired").splitlines()]
        return [text.strip() for process, text in seen if process == str(self.processes[i].pid)]

    def descriptors(self, i):
        return len(os.listdir(f"/proc/{self.processes[i].pid}/fd"))

    def limit_descriptors(self, i, soft=None):
        """None: as many as it may have."""
        _, hard = resource.prlimit(self.processes[i].pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self.processes[i].pid, resource.RLIMIT_NOFILE, (soft or hard, hard))

    def ended(self, i, patience=10.0):
        """Its exit status; none: it lives."""
        try:
            return self.processes[i].wait(patience)
        except subprocess.TimeoutExpired:
            return None

    def serves(self, i):
        """It says so; whether it can do anything is another question."""
        return self.post(i, "/v3/maintenance/status", {}) is not None

    def hear(self, i):
        """What its log says that nobody has read yet."""
        words = self.log(i)[self.heard[i]:]
        self.heard[i] += len(words)
        return words

    def alive(self):
        return [i for i in self.everyone if self.processes[i].poll() is None]

    def after(self, i):
        """The next member."""
        return self.everyone[(self.everyone.index(i) + 1) % len(self.everyone)] if i in self.everyone else self.everyone[0]

    def post(self, i, path, body, patience=0.5):
        """What a member says; none: it does not answer in time, or refuses."""
        request = urllib.request.Request(f"http://{self.endpoint(i)}{path}", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=patience) as answer:
                return json.loads(answer.read())
        except OSError:
            return None

    def leader(self):
        """Who leads in the newest term, by its own word."""
        leaders = {}
        for i in self.alive():
            status = self.post(i, "/v3/maintenance/status", {})
            if status and status.get("leader") and int(status["leader"]) == i:
                leaders[int(status["raftTerm"])] = i
        return leaders[max(leaders)] if leaders else None

    def cut(self, sender, receiver):
        """What one sends no longer reaches the other; it arrives late, if at all."""
        self.tell(f"cut {sender}-{receiver} forth")
        self.tell(f"cut {receiver}-{sender} back")

    def cut_both(self, one, other):
        self.tell(f"cut {one}-{other} both")
        self.tell(f"cut {other}-{one} both")

    def wait_for_all(self):
        """Until everybody is there and one leads."""
        wait_until(lambda: self.leader() and all(self.serves(i) for i in self.everyone), 30, "everybody serving")

    def revive(self):
        """Starts again whoever ended by itself. A full disk is a reason to, having been replaced, and what is
        expected."""
        for i, process in list(self.processes.items()):
            status = process.poll()
            if status is None or i in self.gone or (self.replacement and i == self.replacement.old):
                continue
            last_words = self.hear(i)
            reasons = [NO_SPACE, self.expected.get(i, NO_SPACE)]
            assert status in (1, 2) and any(reason in last_words for reason in reasons), \
                f"member {i} ended with {status}: {last_words[-600:]}"
            say(f"member {i} had ended for a good reason, and is started again")
            self.start(i)

    def replace(self, old):
        self.replacement = Replacement(self, old, self.next_id)
        self.next_id += 1

    def settle(self):
        """Waits until a newcomer has taken the place of the member that is being replaced, if one is. The old one is told
        so and ends."""
        replacement = self.replacement
        if not replacement:
            return
        while replacement.is_alive():
            self.revive()
            replacement.join(0.2)
        self.replacement = None
        assert not replacement.trouble, f"{replacement.old} was not replaced by {replacement.new}: {replacement.trouble}"
        old, new = replacement.old, replacement.new
        self.gone.add(old)
        self.everyone = [i for i in self.everyone if i != old] + [new]
        self.small = new if old == self.small else self.small
        self.on_change()
        left = self.processes[old]
        wait_until(lambda: left.poll() is not None, 20, f"the end of member {old}, which was replaced")
        for_want_of_disk = NO_SPACE in self.log(old)[self.heard[old]:]
        assert left.returncode in (EXPELLED, -signal.SIGKILL) or for_want_of_disk, \
            f"member {old}, which was replaced, ended with {left.returncode}"
        say(f"member {new} has taken the place of {old}, after {replacement.took:.1f} s")

    def heal(self):
        self.tell("heal all")
        self.tell("delay all 0")
        self.revive()
        self.settle()


class Replacement(threading.Thread):
    """A newcomer takes a member's place, by the verbs that an operator has. While others are down or cut off these may
    fail; whoever gets no answer looks what came of it, and asks again."""

    def __init__(self, arena, old, new):
        super().__init__()
        self.arena, self.old, self.new = arena, old, new
        self.address = f"127.0.0.1:{arena.peer_ports[new]}"
        self.trouble, self.took, self.give_up, self.said = None, 0.0, False, ""
        self.start()

    def run(self):
        began = time.monotonic()
        try:
            self.until(self.told, began + REPLACED)
            if self.arena.small == self.old:
                self.arena.shrink(self.new)
            members = [*self.arena.everyone, self.new]
            self.arena.known[self.new] = ",".join(f"{i}=127.0.0.1:{self.arena.peer_ports[i]}" for i in members)
            self.arena.start(self.new)
            self.until(self.done, began + REPLACED)
        except Exception as error:  # the thread that waits for this one will say it
            self.trouble = f"{type(error).__name__}: {error}"
        self.took = time.monotonic() - began

    def until(self, condition, end):
        while not condition():
            assert time.monotonic() < end and not self.give_up, f"{condition.__name__}? {self.said}"
            time.sleep(0.2)

    def ask(self, *words):
        """The lines of JSON that a verb printed."""
        members = self.arena.alive() + [i for i in (self.new,) if i in self.arena.processes]
        run = subprocess.run([CONCLAVE, "member", *words, "--json", "--endpoints",
                              ",".join(self.arena.endpoint(i) for i in members) or "127.0.0.1:1"],
                             capture_output=True, text=True, timeout=60)
        self.said = run.stdout + run.stderr
        return run.stdout

    def listed(self):
        try:
            return {member["id"]: member for member in json.loads(self.ask("list"))}
        except json.JSONDecodeError:
            return {}

    def told(self):
        """The cluster has given the newcomer its id."""
        if any(member["address"] == self.address for member in self.listed().values()):
            return True  # the answer was lost
        for line in self.ask("replace", str(self.old), self.address, "--timeout", "0").splitlines():
            given = json.loads(line).get("member")
            assert given in (None, self.new), f"the id is {given}"
            if given:
                return True
        return False

    def done(self):
        members = self.listed()
        return self.new in members and members[self.new]["votes"] and self.old not in members



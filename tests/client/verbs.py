#!/usr/bin/env python3
"""conclave lock, elect and leader as their users run them, against a real etcd or against three members of ours.

Usage: CONCLAVE=path/to/conclave [ENGINE=ricart-agrawala] verbs.py [unittest arguments]
With ENGINE, `conclave serve` runs that algorithm, and every command asks another member first. The classes that
kill the server or speak to it with etcdctl are for etcd alone.
"""
import json
import os
import pty
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

CONCLAVE = os.environ["CONCLAVE"]
ENGINE = os.environ.get("ENGINE")
TTL = 2


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Etcd:
    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="verbs_etcd_")
        self.endpoint = f"127.0.0.1:{free_port()}"
        peer = f"http://127.0.0.1:{free_port()}"
        client = f"http://{self.endpoint}"
        self.log = open(f"{self.directory}/log", "wb")
        self.process = subprocess.Popen(
            ["etcd", "--data-dir", f"{self.directory}/data", "--listen-client-urls", client,
             "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
             "--initial-cluster", f"default={peer}"], stdout=self.log, stderr=self.log)
        end = time.monotonic() + 60
        while run(self, "lock", "start", "--", "true").returncode != 0:
            assert time.monotonic() < end, "etcd does not start"

    def endpoints(self):
        return self.endpoint

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)


class Members:
    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="verbs_members_")
        self.clients = [f"127.0.0.1:{free_port()}" for _ in range(3)]
        self.turn = 0
        members = ",".join(f"{one}=127.0.0.1:{free_port()}" for one in (1, 2, 3))
        self.log = open(f"{self.directory}/log", "ab")
        self.processes = [
            subprocess.Popen([CONCLAVE, "serve", "--engine", ENGINE, "--id", str(one + 1), "--members", members,
                              "--client", client], stdout=self.log, stderr=self.log)
            for one, client in enumerate(self.clients)]
        end = time.monotonic() + 60
        while run(self, "lock", "start", "--", "true").returncode != 0:
            assert time.monotonic() < end, "the members do not start"

    def endpoints(self):
        self.turn = (self.turn + 1) % 3
        return ",".join(self.clients[self.turn:] + self.clients[:self.turn])

    def stop(self):
        for one in self.processes:
            one.kill()
            one.wait()
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)


def words(servers, verb, name, *rest):
    """The command line, with the endpoint and a short ttl where the verb has one."""
    before, after = list(rest), []
    if "--" in before:
        at = before.index("--")
        before, after = before[:at], before[at:]
    if verb != "leader" and "--ttl" not in before:
        before += ["--ttl", str(TTL)]
    return [CONCLAVE, verb, name, *before, "--endpoints", servers.endpoints(), *after]


def run(servers, verb, name, *rest, **options):
    return subprocess.run(words(servers, verb, name, *rest), capture_output=True, text=True, timeout=60, **options)


def start(servers, verb, name, *rest, **options):
    return subprocess.Popen(words(servers, verb, name, *rest), text=True, **options)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(seen, patience=20.0):
    end = time.monotonic() + patience
    while not seen():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(one) for one in file.read().split()]


class WithServers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.servers = Members() if ENGINE else Etcd()

    @classmethod
    def tearDownClass(cls):
        cls.servers.stop()

    def setUp(self):
        def too_late(*_):
            raise TimeoutError("waited in vain")
        signal.signal(signal.SIGALRM, too_late)
        signal.alarm(60)
        self.addCleanup(signal.alarm, 0)
        self.directory = tempfile.mkdtemp(prefix="verbs_")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.directory, name)

    def read(self, name):
        try:
            with open(self.path(name)) as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def start(self, *words, **options):
        process = start(self.servers, *words, **options)

        def end():
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    stream.close()
        self.addCleanup(end)
        return process

    def start_ticking(self, name, trap="", verb=("lock",)):
        """A holder whose command appends the time to a file, over and over. Gives the process and the command's id."""
        program = (f"import os,signal,time\n{trap}\n"
                   f"f=open({self.path('ticks')!r},'a',buffering=1)\n"
                   "f.write(f'pid {os.getpid()}\\n')\n"
                   "while True:\n f.write(f'{time.clock_gettime(time.CLOCK_BOOTTIME)}\\n'); time.sleep(0.005)\n")
        process = self.start(verb[0], name, *verb[1:], "--", sys.executable, "-c", program, stderr=subprocess.PIPE)
        self.assertTrue(wait_until(lambda: self.read("ticks").count("\n") > 2))
        return process, int(self.read("ticks").split()[1])

    def last_tick(self):
        return float([line for line in self.read("ticks").split("\n")[:-1] if line[:1].isdigit()][-1])

    def start_waiting(self, name, verb=("lock",)):
        """Somebody who waits for the same, and notes when it was had."""
        program = f"import time;open({self.path('got')!r},'w').write(f'{{time.clock_gettime(time.CLOCK_BOOTTIME)}}\\n')"
        return self.start(verb[0], name, *verb[1:], "--", sys.executable, "-c", program)


class Statuses(WithServers):
    def test_the_commands_status_is_passed_on(self):
        self.assertEqual(run(self.servers, "lock", "x", "--", "true").returncode, 0)
        self.assertEqual(run(self.servers, "lock", "x", "--", "sh", "-c", "exit 7").returncode, 7)
        self.assertEqual(run(self.servers, "lock", "x", "--", "sh", "-c", "kill -9 $$").returncode, 128 + 9)
        self.assertEqual(run(self.servers, "elect", "x", "me", "--", "sh", "-c", "exit 7").returncode, 7)

    def test_what_cannot_be_run(self):
        missing = run(self.servers, "lock", "x", "--", "no-such-command-at-all")
        self.assertEqual(missing.returncode, 127)
        self.assertIn("no-such-command-at-all", missing.stderr)
        self.assertEqual(run(self.servers, "lock", "x", "--", "/etc/passwd").returncode, 126)
        # and the lock is free again
        self.assertEqual(run(self.servers, "lock", "x", "--timeout", "1", "--", "true").returncode, 0)

    def test_wrong_usage(self):
        for wrong in (["lock"], ["lock", "x", "--ttl", "0"], ["lock", "x", "--ttl", "soon"], ["elect", "x"],
                      ["lock", ""], ["lock", "x", "--endpoints", "nowhere"], ["lock", "x", "--cacert", "/nonexistent"],
                      ["lock", "x", "--timeout", "-1"], ["leader"], ["lock", "x", "--"]):
            ended = subprocess.run([CONCLAVE, *wrong], capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL)
            self.assertEqual(ended.returncode, 2, f"{wrong}: {ended.stderr}")
            self.assertTrue(ended.stderr.startswith("conclave: "), ended.stderr)

    def test_no_server(self):
        nobody = f"127.0.0.1:{free_port()}"
        ended = subprocess.run([CONCLAVE, "lock", "x", "--", "true"], capture_output=True, text=True, timeout=30,
                               env={**os.environ, "CONCLAVE_ENDPOINTS": nobody})
        self.assertEqual(ended.returncode, 125)
        self.assertIn(nobody, ended.stderr)

    def test_a_time_out(self):
        holder = self.start("lock", "busy", stdout=subprocess.PIPE)
        self.assertGreater(int(holder.stdout.readline()), 0)
        for timeout in ("0", "0.3"):
            began = time.monotonic()
            late = run(self.servers, "lock", "busy", "--timeout", timeout, "--", "touch", self.path("ran"))
            self.assertEqual(late.returncode, 124, late.stderr)
            self.assertIn("busy", late.stderr)
            self.assertLess(time.monotonic() - began, 5)
        self.assertFalse(os.path.exists(self.path("ran")))
        self.assertEqual(run(self.servers, "lock", "free", "--timeout", "0", "--", "true").returncode, 0)

    def test_words_and_variables_arrive_as_they_are(self):
        ended = run(self.servers, "lock", "a name", "--", "sh", "-c",
                    'printf "%s|" "$CONCLAVE_FENCE" "$CONCLAVE_LOCK" "$@"', "sh", "", "{}", "[a,b]", "--ttl", "--", "%%")
        fence, *rest = ended.stdout.split("|")
        self.assertGreater(int(fence), 0)
        self.assertEqual(rest, ["a name", "", "{}", "[a,b]", "--ttl", "--", "%%", ""])

    def test_input_reaches_the_command(self):
        self.assertEqual(run(self.servers, "lock", "x", "--", "cat", input="abc\n").stdout, "abc\n")

    def test_without_a_command_it_holds_until_a_signal(self):
        holder = self.start("lock", "held", stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        first = int(holder.stdout.readline())
        self.assertEqual(run(self.servers, "lock", "held", "--timeout", "0.2", "--", "true").returncode, 124)
        time.sleep(TTL + 0.5)
        self.assertEqual(run(self.servers, "lock", "held", "--timeout", "0.2", "--", "true").returncode, 124)
        holder.send_signal(signal.SIGTERM)
        self.assertEqual(holder.wait(10), 128 + 15)
        after = run(self.servers, "lock", "held", "--timeout", "1", "--", "sh", "-c", "echo $CONCLAVE_FENCE")
        self.assertEqual(after.returncode, 0)
        self.assertGreater(int(after.stdout), first)

    def test_without_a_command_it_holds_until_its_input_ends(self):
        holder = self.start("lock", "coprocess", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertGreater(int(holder.stdout.readline()), 0)
        holder.stdin.close()
        self.assertEqual(holder.wait(10), 0)
        self.assertEqual(run(self.servers, "lock", "coprocess", "--timeout", "1", "--", "true").returncode, 0)

    def test_a_signal_ends_the_wait(self):
        holder = self.start("lock", "queue", stdout=subprocess.PIPE)
        self.assertTrue(holder.stdout.readline())
        waiting = self.start("lock", "queue", "--", "touch", self.path("ran"))
        time.sleep(0.4)
        waiting.send_signal(signal.SIGINT)
        self.assertEqual(waiting.wait(10), 128 + 2)
        self.assertFalse(os.path.exists(self.path("ran")))


class Elections(WithServers):
    def test_who_leads(self):
        nobody = run(self.servers, "leader", "boss")
        self.assertEqual(nobody.returncode, 1)
        self.assertIn("nobody leads", nobody.stderr)
        watch = self.start("leader", "boss", "--watch", stdout=subprocess.PIPE)
        first = self.start("elect", "boss", "one", "--", "sh", "-c", "echo $CONCLAVE_ELECTION $CONCLAVE_FENCE; exec sleep 60",
                           stdout=subprocess.PIPE)
        name, fence = first.stdout.readline().split()
        self.assertEqual(name, "boss")
        self.assertEqual(run(self.servers, "leader", "boss").stdout, "one\n")
        leader = json.loads(run(self.servers, "leader", "boss", "--json").stdout)
        self.assertEqual((leader["election"], leader["value"], leader["fence"]), ("boss", "one", int(fence)))
        self.assertEqual(watch.stdout.readline(), "one\n")
        self.assertEqual(run(self.servers, "elect", "boss", "three", "--timeout", "0.2", "--", "true").returncode, 124)
        second = self.start("elect", "boss", "two", stdout=subprocess.PIPE, stdin=subprocess.PIPE)
        first.send_signal(signal.SIGTERM)
        self.assertEqual(first.wait(10), 128 + 15)
        self.assertGreater(int(second.stdout.readline()), int(fence))
        self.assertEqual(watch.stdout.readline(), "two\n")
        second.stdin.close()
        self.assertEqual(second.wait(10), 0)
        self.assertEqual(run(self.servers, "leader", "boss").returncode, 1)

    def test_a_stopped_leaders_command_is_dead_before_the_next_leads(self):
        leader, command = self.start_ticking("throne", verb=("elect", "old"))
        waiting = self.start_waiting("throne", verb=("elect", "new"))
        time.sleep(0.3)
        leader.send_signal(signal.SIGSTOP)
        self.assertEqual(waiting.wait(20), 0)
        self.assertLess(self.last_tick(), float(self.read("got")))
        self.assertFalse(alive(command))
        leader.send_signal(signal.SIGCONT)
        self.assertEqual(leader.wait(10), 1)


class Contention(WithServers):
    def test_many_processes_on_one_lock(self):
        # Each run appends a line when it begins and one when it ends; nobody else's may come between.
        work = 'echo "$CONCLAVE_FENCE begin $$" >>"$0"; sleep 0.01; echo "$CONCLAVE_FENCE end $$" >>"$0"'
        rounds, workers = 8, 5

        def loop():
            line = " ".join(f"'{word}'" for word in words(self.servers, "lock", "log", "--ttl", "10", "--", "sh", "-c"))
            return f'for i in $(seq {rounds}); do {line} "$1" "$2" || exit 1; done'
        all_of_them = [subprocess.Popen(["sh", "-c", loop(), "sh", work, self.path("log")]) for _ in range(workers)]
        for one in all_of_them:
            self.assertEqual(one.wait(90), 0)
        lines = [line.split() for line in self.read("log").splitlines()]
        self.assertEqual(len(lines), 2 * rounds * workers)
        fences = []
        for begin, end in zip(lines[::2], lines[1::2]):
            self.assertEqual((begin[1], end[1]), ("begin", "end"))
            self.assertEqual((begin[0], begin[2]), (end[0], end[2]))
            fences.append(int(begin[0]))
        self.assertEqual(fences, sorted(set(fences)), "fences grow from holder to holder")


class Safety(WithServers):
    def test_a_stopped_holders_command_is_dead_before_the_next_has_the_lock(self):
        for trap in ("", "signal.signal(signal.SIGTERM, signal.SIG_IGN)"):
            with self.subTest(trap=trap):
                shutil.rmtree(self.directory)
                os.mkdir(self.directory)
                holder, command = self.start_ticking("stopped", trap)
                waiting = self.start_waiting("stopped")
                time.sleep(0.3)
                holder.send_signal(signal.SIGSTOP)
                stopped = time.clock_gettime(time.CLOCK_BOOTTIME)
                self.assertEqual(waiting.wait(20), 0)
                got, last = float(self.read("got")), self.last_tick()
                print(f"stopped for good: last step of the command {last - stopped:.2f} s later, "
                      f"next holder {got - stopped:.2f} s later", file=sys.stderr)
                self.assertLess(last, got)
                self.assertLess(last - stopped, 0.95 * TTL)
                self.assertFalse(alive(command))
                holder.send_signal(signal.SIGCONT)
                self.assertEqual(holder.wait(10), 1)
                self.assertIn("lost", holder.stderr.read())

    def test_a_short_stop_does_no_harm(self):
        holder, command = self.start_ticking("short stop")
        for _ in range(3):
            holder.send_signal(signal.SIGSTOP)
            time.sleep(0.3)
            holder.send_signal(signal.SIGCONT)
            time.sleep(0.8)
        self.assertTrue(alive(command))
        holder.send_signal(signal.SIGTERM)
        self.assertEqual(holder.wait(10), 128 + 15)

    def test_a_killed_holders_command_dies_at_once_and_the_lock_is_free_after_the_ttl(self):
        holder, command = self.start_ticking("killed")
        waiting = self.start_waiting("killed")
        time.sleep(0.5)
        holder.kill()
        killed = time.clock_gettime(time.CLOCK_BOOTTIME)
        self.assertTrue(wait_until(lambda: not alive(command), 1.0))
        self.assertEqual(waiting.wait(20), 0)
        got = float(self.read("got"))
        print(f"killed: command gone {self.last_tick() - killed:.3f} s later, next holder {got - killed:.2f} s later",
              file=sys.stderr)
        self.assertGreater(got - killed, TTL * 2 / 3 - 0.1, "the last renewal is at most a third of the ttl old")
        self.assertLess(got - killed, TTL + 3)

    def test_nothing_is_left_of_a_killed_holder(self):
        # One that left the session and one whose parent ended.
        script = ('setsid sleep 1000 & (sleep 1001 & echo $! >"$0/b"; setsid sh -c "sleep 1002 & wait" & echo $! >"$0/c") '
                  '& echo $! >"$0/a"; wait')
        holder = self.start("lock", "orphans", "--", "sh", "-c", script, self.directory)
        self.assertTrue(wait_until(lambda: self.read("c").strip()))
        guard = children_of(holder.pid)[0]
        time.sleep(0.2)

        def descendants(pid):
            below = [one for child in children_of(pid) for one in [child, *descendants(child)]]
            return below
        everybody = descendants(guard)
        self.assertGreaterEqual(len(everybody), 5)
        holder.kill()
        self.assertTrue(wait_until(lambda: not any(alive(pid) for pid in [guard, *everybody]), 3.0),
                        [pid for pid in everybody if alive(pid)])

    def test_nothing_is_left_of_a_command_that_ended(self):
        holder = self.start("lock", "leftovers", "--", "sh", "-c",
                            'setsid sleep 1003 & echo $! >"$0/a"; sleep 1004 & echo $! >"$0/b"; exit 5', self.directory)
        self.assertEqual(holder.wait(10), 5)
        for name in ("a", "b"):
            self.assertFalse(alive(int(self.read(name))))

    def test_a_killed_guard_takes_the_command_with_it(self):
        holder, command = self.start_ticking("guard")
        os.kill(children_of(holder.pid)[0], signal.SIGKILL)
        self.assertEqual(holder.wait(10), 125)
        self.assertFalse(alive(command))
        self.assertEqual(run(self.servers, "lock", "guard", "--timeout", "1", "--", "true").returncode, 0)

    def test_signals_are_passed_on(self):
        program = ("import os,signal,sys,time\n"
                   "def seen(n,_):\n print(n,flush=True)\n"
                   "for n in (1,2,3,10,12,15): signal.signal(n,seen)\n"
                   "print('ready',flush=True)\n"
                   "while True: time.sleep(0.05)\n")
        holder = self.start("lock", "signals", "--", sys.executable, "-c", program, stdout=subprocess.PIPE)
        self.assertEqual(holder.stdout.readline(), "ready\n")
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM):
            holder.send_signal(number)
            self.assertEqual(holder.stdout.readline(), f"{int(number)}\n")
        self.assertIsNone(holder.poll())


class DeadServers(WithServers):
    def test_the_command_is_stopped_in_time_when_the_server_dies(self):
        holder, command = self.start_ticking("server")
        time.sleep(1.2)
        self.servers.process.kill()
        died = time.clock_gettime(time.CLOCK_BOOTTIME)
        self.assertEqual(holder.wait(20), 1)
        print(f"server killed: last step of the command {self.last_tick() - died:.2f} s later", file=sys.stderr)
        self.assertLess(self.last_tick() - died, 0.95 * TTL)
        self.assertGreater(self.last_tick() - died, TTL / 4)
        self.assertFalse(alive(command))
        self.assertIn("could not be renewed", holder.stderr.read())


class StoppedGuard(WithServers):
    def test_a_guard_that_is_stopped_does_not_save_the_command(self):
        holder, command = self.start_ticking("stopped guard")
        os.kill(children_of(holder.pid)[0], signal.SIGSTOP)
        self.servers.process.kill()
        died = time.clock_gettime(time.CLOCK_BOOTTIME)
        self.assertEqual(holder.wait(20), 1)
        self.assertLess(self.last_tick() - died, TTL)
        self.assertFalse(alive(command))


class Revoked(WithServers):
    def test_the_command_is_killed_when_the_server_says_that_the_lease_is_gone(self):
        holder, command = self.start_ticking("revoked", verb=("lock", "--ttl", "9"))
        etcdctl = f"ETCDCTL_API=3 etcdctl --endpoints={self.servers.endpoint}"
        subprocess.run(f"{etcdctl} get --prefix revoked/ --keys-only | grep revoked/ | cut -d/ -f2 | "
                       f"xargs env {etcdctl} lease revoke", shell=True, check=True, capture_output=True, timeout=30)
        revoked = time.clock_gettime(time.CLOCK_BOOTTIME)
        self.assertEqual(holder.wait(20), 1)
        self.assertLess(self.last_tick() - revoked, 9 / 3 + 1, "told at the next renewal")
        self.assertIn("lease is gone", holder.stderr.read())


class Terminals(WithServers):
    """A shell's view: the holder in the foreground of a terminal of its own."""

    def start_on_terminal(self, *rest):
        ours, theirs = pty.openpty()
        arguments = words(self.servers, *rest)
        pid = os.fork()
        if pid == 0:
            os.setsid()
            # Opened anew, it becomes the terminal of this session.
            name = os.ttyname(theirs)
            os.close(ours)
            os.close(theirs)
            terminal = os.open(name, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(terminal, number)
            os.execv(arguments[0], arguments)

        def end():
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass
            os.close(ours)
            os.close(theirs)
        self.addCleanup(end)
        return pid, ours

    def read_until(self, terminal, text):
        seen, end = "", time.monotonic() + 15
        while text not in seen and time.monotonic() < end:
            if select.select([terminal], [], [], 0.1)[0]:
                try:
                    seen += os.read(terminal, 4096).decode()
                except OSError:
                    break
        self.assertIn(text, seen)

    def test_the_command_has_the_terminal(self):
        pid, terminal = self.start_on_terminal("lock", "typing", "--", "sh", "-c", "echo ready; read x; echo got $x")
        self.read_until(terminal, "ready")
        os.write(terminal, b"hello\n")
        self.read_until(terminal, "got hello")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)

    def test_control_c_is_the_commands(self):
        pid, terminal = self.start_on_terminal("lock", "control c", "--", "sh", "-c", "echo ready; exec sleep 100")
        self.read_until(terminal, "ready")
        os.write(terminal, b"\x03")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 128 + 2)

    def test_control_z_stops_both_and_the_lock_is_lost_in_time(self):
        pid, terminal = self.start_on_terminal("lock", "control z", "--", "sh", "-c", "echo ready; exec sleep 100")
        self.read_until(terminal, "ready")
        command = children_of(children_of(pid)[0])[0]
        os.write(terminal, b"\x1a")
        self.assertTrue(os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1]))
        waiting = self.start_waiting("control z")
        self.assertEqual(waiting.wait(20), 0)
        self.assertFalse(alive(command))
        os.kill(pid, signal.SIGCONT)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)

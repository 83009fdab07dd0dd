"""HTTP/2 and gRPC by hand, for clients that no library would let us be: frames, headers without compression, messages
of protobuf by their numbers. Good clients are made of it as well."""
import select
import socket
import struct
import time

DATA, HEADERS, RST_STREAM, SETTINGS, PUSH, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 5, 6, 7, 8
END_STREAM = ACK = 1
END_HEADERS = 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
WIDE = 1 << 30  # a window that nobody fills

PUT, RANGE, DELETE, TXN = (f"/etcdserverpb.KV/{name}" for name in ("Put", "Range", "DeleteRange", "Txn"))
WATCH, SNAPSHOT = "/etcdserverpb.Watch/Watch", "/etcdserverpb.Maintenance/Snapshot"
GRANT, KEEP_ALIVE = "/etcdserverpb.Lease/LeaseGrant", "/etcdserverpb.Lease/LeaseKeepAlive"
LOCK, UNLOCK = "/v3lockpb.Lock/Lock", "/v3lockpb.Lock/Unlock"
CAMPAIGN, PROCLAIM, OBSERVE = (f"/v3electionpb.Election/{name}" for name in ("Campaign", "Proclaim", "Observe"))
EXHAUSTED = 8  # gRPC's RESOURCE_EXHAUSTED


# ---- messages

def varint(value):
    out = bytearray()
    value &= (1 << 64) - 1
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def message(*fields):
    """message((1, b"key"), (3, 7)): bytes, text and numbers, by the number of the field."""
    out = []
    for number, value in fields:
        if isinstance(value, int):
            out.append(varint(number << 3) + varint(value))
        else:
            value = value.encode() if isinstance(value, str) else value
            out.append(varint(number << 3 | 2) + varint(len(value)) + value)
    return b"".join(out)


def fields(data):
    """The fields of a message: a list for each number."""
    found, at = {}, 0

    def number():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = number()
        if tag & 7 == 0:
            value = number()
        else:
            assert tag & 7 == 2, f"a field of kind {tag & 7}"
            size = number()
            value = bytes(data[at:at + size])
            at += size
        found.setdefault(tag >> 3, []).append(value)
    return found


def put(key, value, lease=0):
    return message((1, key), (2, value), *([(3, lease)] if lease else []))


def get(key, end=b""):
    return message((1, key), *([(2, end)] if end else []))


def watch(key, end=b"", since=0):
    return message((1, message((1, key), *([(2, end)] if end else []), *([(3, since)] if since else []))))


def grpc(body):
    return b"\0" + struct.pack(">I", len(body)) + body


# ---- frames

def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


def settings(*pairs):
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", *pair) for pair in pairs))


def window_update(stream, by):
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", by))


def _literal(name, value, indexed=False):
    prefix = 0x40 if indexed else 0
    if isinstance(name, int):
        head = bytes((prefix | name,)) if name < 15 or indexed else bytes((prefix | 15, name - 15))
    else:
        head = bytes((prefix, len(name))) + name
    return head + bytes((len(value),)) + value


def header_block(path, indexed=False):
    """Of a call. With `indexed` the peer keeps it, and `same_again` says it from then on."""
    return (b"\x83\x86" + _literal(4, path.encode(), indexed) + _literal(1, b"h", indexed)
            + _literal(31, b"application/grpc", indexed) + _literal(b"te", b"trailers", indexed))


same_again = b"\x83\x86\xc1\xc0\xbf\xbe"


def _packed(text):
    """As HPACK's Huffman code has it; the letters that we look for."""
    codes = {"-": "010110", "a": "00011", "c": "00100", "g": "100110", "p": "101011", "r": "101100", "s": "01000",
             "t": "01001", "u": "101101"}
    bits = "".join(codes[letter] for letter in text)
    bits += "1" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big")


_STATUS_NAMES = (b"grpc-status", _packed("grpc-status"))


def _integer(data, at, bits):
    value = data[at] & ((1 << bits) - 1)
    at += 1
    if value < (1 << bits) - 1:
        return value, at
    shift = 0
    while True:
        value += (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def status_in(block):
    """grpc-status in a header block of a peer that we forbade to index anything."""
    at, status = 0, None

    def text():
        nonlocal at
        size, at = _integer(block, at, 7)
        at += size
        return bytes(block[at - size:at])

    while at < len(block):
        if block[at] & 0x80:
            _, at = _integer(block, at, 7)
            continue
        if block[at] & 0xe0 == 0x20:
            _, at = _integer(block, at, 5)
            continue
        index, at = _integer(block, at, 6 if block[at] & 0x40 else 4)
        name = text() if index == 0 else b""
        value = text()
        if name in _STATUS_NAMES:
            status = int(value)
    return status


# ---- connections

class Closed(Exception):
    """The peer has ended the connection, or the call."""


class Stream:
    def __init__(self, window):
        self.window = window  # what we may send
        self.buffer = bytearray()
        self.messages = []
        self.bytes = 0
        self.ended, self.status, self.reset = False, None, None


class Connection:
    """One that keeps the rules, unless told otherwise: `window` is what we are ready to take on a stream, `keep`
    whether messages are kept or only counted. Nothing is read but in pump(), which others call while they wait."""

    def __init__(self, port, host="127.0.0.1", source=None, window=WIDE, keep=True, polite=True, patience=30):
        self.socket = socket.socket()
        self.socket.settimeout(patience)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if source:
            self.socket.bind((source, 0))
        self.socket.connect((host, port))
        self.keep, self.polite = keep, polite
        self.streams, self.next_stream = {}, 1
        self.window, self.peer_window, self.most_streams = 65535, 65535, 1 << 31
        self.input, self.closed, self.goaway, self.pongs = bytearray(), False, None, 0
        hello = PREFACE + settings((1, 0), (4, window))
        self.write(hello + (window_update(0, WIDE) if window else b""))

    def write(self, data):
        try:
            self.socket.sendall(data)
        except OSError as error:
            self.closed = True
            raise Closed(str(error)) from error

    def close(self):
        self.closed = True
        self.socket.close()

    # -- what comes in

    def pump(self, patience=0.0):
        """Handles what is there, or comes within that time. False: nothing came."""
        if self.closed:
            return False
        poll = select.poll()  # select() cannot have more than 1,024
        poll.register(self.socket, select.POLLIN)
        if not poll.poll(patience * 1000):
            return False
        try:
            got = self.socket.recv(1 << 18)
        except OSError:
            got = b""
        if not got:
            self.closed = True
            return False
        self.input += got
        answers, at = [], 0
        while len(self.input) - at >= 9:
            size = int.from_bytes(self.input[at:at + 3], "big")
            if len(self.input) - at < 9 + size:
                break
            kind, flags = self.input[at + 3], self.input[at + 4]
            stream = int.from_bytes(self.input[at + 5:at + 9], "big") & 0x7fffffff
            answers.append(self.take(kind, flags, stream, self.input[at + 9:at + 9 + size]))
            at += 9 + size
        del self.input[:at]
        answer = b"".join(answers)
        if answer:
            try:
                self.write(answer)
            except Closed:
                pass
        return True

    def take(self, kind, flags, number, payload):
        stream = self.streams.get(number)
        if kind == DATA:
            if stream:
                self.take_data(stream, payload)
                if flags & END_STREAM:
                    stream.ended = True
            if not payload:
                return b""
            return window_update(0, len(payload)) + (window_update(number, len(payload)) if not flags & END_STREAM else b"")
        if kind == HEADERS and stream:
            status = status_in(payload)
            stream.status = stream.status if status is None else status
            stream.ended = stream.ended or bool(flags & END_STREAM)
        elif kind == RST_STREAM and stream:
            stream.ended, stream.reset = True, int.from_bytes(payload, "big")
        elif kind == SETTINGS and not flags & ACK:
            for at in range(0, len(payload), 6):
                name, value = struct.unpack(">HI", payload[at:at + 6])
                if name == 4:
                    for other in self.streams.values():
                        other.window += value - self.peer_window
                    self.peer_window = value
                if name == 3:
                    self.most_streams = value
            return frame(SETTINGS, ACK, 0)
        elif kind == PING and not flags & ACK:
            return frame(PING, ACK, 0, bytes(payload))
        elif kind == PING:
            self.pongs += 1
        elif kind == GOAWAY:
            self.goaway = int.from_bytes(payload[4:8], "big")
        elif kind == WINDOW_UPDATE:
            if number == 0:
                self.window += int.from_bytes(payload, "big")
            elif stream:
                stream.window += int.from_bytes(payload, "big")
        return b""

    def take_data(self, stream, payload):
        stream.bytes += len(payload)
        if not self.keep:
            return
        stream.buffer += payload
        at = 0
        while len(stream.buffer) - at >= 5:
            size = int.from_bytes(stream.buffer[at + 1:at + 5], "big")
            if len(stream.buffer) - at < 5 + size:
                break
            stream.messages.append(bytes(stream.buffer[at + 5:at + 5 + size]))
            at += 5 + size
        del stream.buffer[:at]

    def wait(self, condition, patience=10.0, what="an answer"):
        end = time.monotonic() + patience
        while not condition():
            left = end - time.monotonic()
            if self.closed:
                raise Closed(f"{what}: the connection has ended, GOAWAY {self.goaway}")
            if left <= 0:
                raise TimeoutError(f"{what} did not come within {patience} s")
            self.pump(min(left, 0.2))

    # -- what goes out

    def open(self, path, body=None, end=False):
        """A call. Its number."""
        number, self.next_stream = self.next_stream, self.next_stream + 2
        self.streams[number] = Stream(self.peer_window)
        self.write(frame(HEADERS, END_HEADERS, number, header_block(path)))
        if body is not None:
            self.send(number, grpc(body), end)
        return number

    def send(self, number, data, end=False, patience=30.0):
        """As far as the peer's windows allow; raises TimeoutError with what is left unsent if they do not."""
        stream, view = self.streams[number], memoryview(data)
        until = time.monotonic() + patience
        while True:
            most = min(len(view), stream.window, self.window, 16384)
            if most > 0 or not view:
                last = most == len(view)
                self.write(frame(DATA, END_STREAM if end and last else 0, number, bytes(view[:most])))
                stream.window -= most
                self.window -= most
                view = view[most:]
                if not view:
                    return
                self.pump()
            elif stream.ended or self.closed:
                raise Closed(f"status {stream.status}, reset {stream.reset}, GOAWAY {self.goaway}")
            elif time.monotonic() > until:
                raise TimeoutError(f"{len(view)} bytes may not be sent")
            else:
                self.pump(0.1)

    def ask(self, path, body):
        return self.open(path, body, end=True)

    def answer(self, number, patience=10.0):
        """Status and message of a call that was asked; none is what a reset leaves."""
        stream = self.streams[number]
        self.wait(lambda: stream.ended, patience)
        del self.streams[number]
        return stream.status, stream.messages[0] if stream.messages else b""

    def call(self, path, body, patience=10.0):
        return self.answer(self.ask(path, body), patience)

    def must(self, path, body, patience=10.0):
        status, got = self.call(path, body, patience)
        assert status == 0, f"{path}: status {status}"
        return got

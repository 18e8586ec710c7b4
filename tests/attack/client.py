"""A client of raw sockets on 127.0.0.1, and what the kernel says about the server's process."""
import socket
import time


def head(method, path, n_bytes=None, extra=""):
    length = "" if n_bytes is None else f"Content-Length: {n_bytes}\r\n"
    kind = "" if n_bytes is None else "Content-Type: application/json\r\n"
    return f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{kind}{length}{extra}\r\n".encode()


def connect(port, timeout=60):
    return socket.create_connection(("127.0.0.1", port), timeout=timeout)


def read_answer(connection, seen=b""):
    """(status, body, what came behind it); status 0 when the connection ended before."""
    def more():
        nonlocal seen
        try:
            data = connection.recv(1 << 20)
        except ConnectionError:
            data = b""
        seen += data
        return bool(data)

    while b"\r\n\r\n" not in seen:
        if not more():
            return 0, b"", seen
    headers, seen = seen.split(b"\r\n\r\n", 1)
    status = int(headers.split(b" ", 2)[1])
    lower = headers.lower()
    if b"transfer-encoding: chunked" in lower:
        parts = [seen]
        tail = seen[-8:]
        while not tail.endswith(b"0\r\n\r\n"):  # nothing follows in these tests
            data = connection.recv(1 << 20)
            if not data:
                return 0, b"", b""
            parts.append(data)
            tail = (tail + data)[-8:]
        return status, b"".join(parts), b""
    length = int(lower.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
    parts, n = [seen], len(seen)
    while n < length:
        data = connection.recv(1 << 20)
        if not data:
            return 0, b"", b""
        parts.append(data)
        n += len(data)
    whole = b"".join(parts)
    return status, whole[:length], whole[length:]


def ask(port, method, path, body=None, extra="", timeout=120):
    """(status, body, seconds from the last byte sent to the first received)."""
    with connect(port, timeout) as connection:
        try:
            connection.sendall(head(method, path, None if body is None else len(body), extra))
            if body is not None:
                connection.sendall(body)
        except ConnectionError:
            pass  # refused before its end: the answer is there all the same
        started = time.monotonic()
        try:
            first = connection.recv(1 << 20)
        except ConnectionError:
            first = b""
        seconds = time.monotonic() - started
        status, answer, _ = read_answer(connection, first)
        return status, answer, seconds


def status_bytes(pid, name):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    return 0


def resident_bytes(pid):
    return status_bytes(pid, "VmRSS")


def peak_bytes(pid):
    """The most that was resident since the start or forget_peak."""
    return status_bytes(pid, "VmHWM")


def forget_peak(pid):
    with open(f"/proc/{pid}/clear_refs", "w", encoding="ascii") as refs:
        refs.write("5")


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

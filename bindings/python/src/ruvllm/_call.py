"""A request that runs."""
from __future__ import annotations

import ctypes
import json
import threading
from collections.abc import Iterator
from ctypes import byref, c_size_t, c_void_p
from typing import Any

from . import _library as library

# How long a thread waits at a time: a KeyboardInterrupt is raised between two waits.
_WAIT_MS = 50


class Call:
    """One thread takes what comes; any other may cancel. The handle is freed once, by close()."""

    def __init__(self, made: c_void_p) -> None:
        self._handle: c_void_p | None = made
        self._lock = threading.Lock()
        self._in_use = False

    def next(self) -> bytes | None:
        """The next part of the answer; None: it was complete."""
        with self._lock:
            if self._handle is None or self._in_use:
                raise RuntimeError("the answer is closed, or another thread takes from it")
            made, self._in_use = self._handle, True
        data, size = c_void_p(), c_size_t()
        try:
            while True:
                status = library.checked("call_next", made, _WAIT_MS, byref(data), byref(size))
                if status == library.OK:
                    return ctypes.string_at(data.value or 0, size.value)
                if status == library.END:
                    return None
        finally:
            self._leave()

    def take_vectors(self) -> c_void_p:
        """After the end of a call for vectors."""
        with self._lock:
            if self._handle is None:
                raise RuntimeError("the call is closed")
            return library.handle("call_take_vectors", self._handle)

    def cancel(self) -> None:
        """From any thread."""
        with self._lock:
            if self._handle is not None:
                library.call("call_cancel", self._handle)

    def close(self) -> None:
        """Cancels what has not ended; a thread that waits frees the handle when it is back."""
        with self._lock:
            made, self._handle = self._handle, None
            if made is None:
                return
            if self._in_use:
                library.call("call_cancel", made)
                self._left = made
                return
        library.call("call_free", made)

    _left: c_void_p | None = None

    def _leave(self) -> None:
        with self._lock:
            self._in_use = False
            left, self._left = self._left, None
        if left is not None:
            library.call("call_free", left)

    def __enter__(self) -> Call:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def events(self) -> Iterator[dict[str, Any]]:
        """All parts as JSON; closed at the end."""
        with self:
            while (part := self.next()) is not None:
                yield json.loads(part)

    def whole(self) -> dict[str, Any]:
        """The answer that is not streamed; closed then."""
        with self:
            part = self.next()
            answer: dict[str, Any] = json.loads(part or b"{}")
            return answer

    def vectors(self) -> c_void_p:
        """The vectors of a call that has them; closed then."""
        with self:
            while self.next() is not None:
                pass
            return self.take_vectors()

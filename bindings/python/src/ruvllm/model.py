"""A loaded model and a server of it."""
from __future__ import annotations

import asyncio
import atexit
import contextlib
import ctypes
import json
import os
import threading
import weakref
from collections.abc import AsyncIterator, Iterator, Sequence
from ctypes import c_int32, c_void_p
from typing import TYPE_CHECKING, Any, Union
from urllib.parse import quote

from . import _library as library
from ._call import Call
from .answer import Answer, Piece
from .errors import CancelledError, Error, InvalidError

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Vectors = NDArray[numpy.float32]

Texts = Union[str, Sequence[str]]
Message = dict[str, Any]

_open_models: weakref.WeakSet[Model] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Engines must not compute while the process takes apart what they use."""
    for model in list(_open_models):
        model.close()


def _json(value: Any) -> bytes:
    """A lone surrogate, which is no text, is refused as the library refuses bytes."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise InvalidError(f"not JSON: {error}", "invalid_body") from error


def load(path: str | os.PathLike[str] | None = None, **options: Any) -> Model:
    """Loads a GGUF file or a folder with safetensors; None: the built-in model. Options are those of
    ruvllm_model_load: n_ctx, n_threads, kv_type, max_sequences, cache_dir, draft_model, …"""
    return Model(path, **options)


class _Handle:
    """A model's handle: the last user frees it after close()."""

    def __init__(self, made: c_void_p) -> None:
        self._made: c_void_p | None = made
        self._lock = threading.Lock()
        self._n_users = 0
        self._closed = False
        self._pid = os.getpid()

    @contextlib.contextmanager
    def use(self) -> Iterator[c_void_p]:
        with self._lock:
            if self._closed or self._made is None:
                raise CancelledError("the model is closed", "cancelled")
            if os.getpid() != self._pid:
                raise InvalidError("a model cannot be used after fork(): load it in the child",
                                   "forked")
            self._n_users += 1
            made = self._made
        try:
            yield made
        finally:
            self._leave(1)

    def close(self) -> None:
        self._closed = True
        self._leave(0)

    def _leave(self, n: int) -> None:
        with self._lock:
            self._n_users -= n
            if not self._closed or self._n_users > 0 or self._made is None:
                return
            made, self._made = self._made, None
        if os.getpid() == self._pid:
            library.call("model_free", made)


class Model:
    """A loaded model. Any number of threads may use one. close(), or leave a `with` block."""

    def __init__(self, path: str | os.PathLike[str] | None = None, **options: Any) -> None:
        file = None if path is None else os.fsencode(path)
        self._handle = _Handle(library.handle("model_load", file, _json(options), None, None))
        _open_models.add(self)

    def close(self) -> None:
        """Answers that are being generated end with CancelledError where this is the last use."""
        self._handle.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_handle"):
            self.close()

    @property
    def info(self) -> dict[str, Any]:
        """What ruvllm_model_info says."""
        with self._handle.use() as made:
            info: dict[str, Any] = json.loads(library.text("model_info", made))
            return info

    def _begin(self, method: str, path: str, body: Any = None) -> Call:
        text = None if body is None else _json(body)
        with self._handle.use() as made:
            return Call(library.handle("call_begin", made, method.encode(), path.encode(), text))

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """The answer of the HTTP API's path, which need not be served."""
        return self._begin(method, path, body).whole()

    # Texts.

    def generate(self, prompt: Texts, **options: Any) -> Answer:
        """Continues a prompt. Options are the fields of POST /v1/completions."""
        return Answer.of(self._begin(*_completion(prompt, options)).whole())

    def stream(self, prompt: Texts, **options: Any) -> Iterator[Piece]:
        """The same as it comes. Leaving the loop ends the answer."""
        return _pieces(self._begin(*_completion(prompt, {**options, "stream": True})))

    def chat(self, messages: Sequence[Message], **options: Any) -> Answer:
        """Answers a conversation. Options are the fields of POST /v1/chat/completions: tools,
        response_format, temperature, session, …"""
        return Answer.of(self._begin(*_chat(messages, options)).whole())

    def chat_stream(self, messages: Sequence[Message], **options: Any) -> Iterator[Piece]:
        """The same as it comes, also reasoning and calls of tools."""
        return _pieces(self._begin(*_chat(messages, {**options, "stream": True})))

    async def agenerate(self, prompt: Texts, **options: Any) -> Answer:
        return Answer.of(await _awaited(self._begin(*_completion(prompt, options))))

    async def achat(self, messages: Sequence[Message], **options: Any) -> Answer:
        return Answer.of(await _awaited(self._begin(*_chat(messages, options))))

    def astream(self, prompt: Texts, **options: Any) -> AsyncIterator[Piece]:
        return _async_pieces(self._begin(*_completion(prompt, {**options, "stream": True})))

    def achat_stream(self, messages: Sequence[Message], **options: Any) -> AsyncIterator[Piece]:
        return _async_pieces(self._begin(*_chat(messages, {**options, "stream": True})))

    # Vectors.

    def _begin_embed(self, texts: Texts, options: dict[str, Any]) -> Call:
        listed = texts if isinstance(texts, str) else list(texts)
        with self._handle.use() as made:
            return Call(library.handle("embed_begin", made, _json({**options, "input": listed})))

    def embed(self, texts: Texts, **options: Any) -> Vectors:
        """A row of float32 for each text, in memory of the library that is freed with the array.
        Options are the fields of POST /v1/embeddings. Needs numpy."""
        _need_numpy()
        return _as_array(self._begin_embed(texts, options).vectors())

    def embed_lists(self, texts: Texts, **options: Any) -> list[list[float]]:
        """The same without numpy."""
        block, n_rows, n_columns = _block(self._begin_embed(texts, options).vectors())
        return [list(block[i * n_columns:(i + 1) * n_columns]) for i in range(n_rows)]

    async def aembed(self, texts: Texts, **options: Any) -> Vectors:
        _need_numpy()
        call = self._begin_embed(texts, options)
        return _as_array(await _in_thread(call, call.vectors))

    # Tokens.

    def tokenize(self, text: str | bytes, *, add_special: bool = False,
                 parse_special: bool = False) -> list[int]:
        """The ids of a text. parse_special is not for users' texts."""
        data = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
        flags = library.ADD_SPECIAL * add_special | library.PARSE_SPECIAL * parse_special
        with self._handle.use() as made:
            tokens = library.handle("tokenize", made, data, len(data), flags)
        try:
            n = library.call("tokens_size", tokens)
            return list((c_int32 * n).from_address(library.call("tokens_data", tokens))) if n else []
        finally:
            library.call("tokens_free", tokens)

    def detokenize(self, ids: Sequence[int], *, with_special: bool = False) -> str:
        """The text of ids."""
        if any(not 0 <= one < 1 << 31 for one in ids):
            raise InvalidError("an id is outside the vocabulary", "invalid_value", "ids")
        flags = library.WITH_SPECIAL if with_special else 0
        with self._handle.use() as made:
            return library.text("detokenize", made, (c_int32 * len(ids))(*ids), len(ids), flags)

    # Sessions: kept conversations, where the model was loaded with cache_dir.

    def sessions(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = self.request("GET", "/v1/sessions")["data"]
        return listed

    def session(self, name: str) -> dict[str, Any]:
        """One with its messages. `chat(…, session=name)` continues or begins it."""
        kept: dict[str, Any] = self.request("GET", f"/v1/sessions/{quote(name, safe='')}")
        return kept

    def save_session(self, name: str, messages: Sequence[Message]) -> None:
        self.request("PUT", f"/v1/sessions/{quote(name, safe='')}", {"messages": list(messages)})

    def delete_session(self, name: str) -> None:
        self.request("DELETE", f"/v1/sessions/{quote(name, safe='')}")


class Server:
    """The HTTP server in threads of this process, until close() or the end of a `with` block.
    Options are those of ruvllm_server_start: host, port, api_key, …"""

    def __init__(self, model: Model | str | os.PathLike[str] | None = None, **options: Any) -> None:
        self._own = None if isinstance(model, Model) else Model(model)
        served = model if isinstance(model, Model) else self._own
        assert served is not None
        try:
            with served._handle.use() as made:
                self._made: c_void_p | None = library.handle("server_start", made, _json(options))
        except Error:
            if self._own is not None:
                self._own.close()
            raise
        self.host: str = options.get("host", "127.0.0.1")
        self.port: int = library.call("server_port", self._made)
        self._closed_at_exit = atexit.register(self.close)

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def close(self) -> None:
        made, self._made = self._made, None
        if made is None:
            return
        atexit.unregister(self.close)
        library.call("server_stop", made)
        if self._own is not None:
            self._own.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _completion(prompt: Texts, options: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
    listed = prompt if isinstance(prompt, str) else list(prompt)
    return "POST", "/v1/completions", {**options, "prompt": listed}


def _chat(messages: Sequence[Message], options: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
    return "POST", "/v1/chat/completions", {**options, "messages": list(messages)}


def _pieces(call: Call) -> Iterator[Piece]:
    """Those that say something."""
    for event in call.events():
        piece = Piece.of(event)
        if not piece.says_nothing() or event.get("usage"):
            yield piece


async def _in_thread(call: Call, work: Any, *arguments: Any) -> Any:
    """Waits for the call off the event loop; where the task is cancelled the call is, too."""
    try:
        return await asyncio.to_thread(work, *arguments)
    except asyncio.CancelledError:
        call.cancel()
        raise


async def _awaited(call: Call) -> dict[str, Any]:
    answer: dict[str, Any] = await _in_thread(call, call.whole)
    return answer


async def _async_pieces(call: Call) -> AsyncIterator[Piece]:
    try:
        while (part := await _in_thread(call, call.next)) is not None:
            event = json.loads(part)
            piece = Piece.of(event)
            if not piece.says_nothing() or event.get("usage"):
                yield piece
    finally:
        call.close()


def _need_numpy() -> None:
    try:
        import numpy  # noqa: F401
    except ImportError as error:
        raise Error("embed needs numpy: pip install 'ruvllm[numpy]', or use embed_lists",
                    "numpy_missing") from error


class _Owner:
    """Frees the vectors when the last view of them is gone."""

    def __init__(self, made: c_void_p) -> None:
        self._made = made

    def __del__(self) -> None:
        library.call("vectors_free", self._made)


def _block(made: c_void_p) -> tuple[Any, int, int]:
    """Their numbers as a ctypes array that keeps them."""
    n_rows: int = library.call("vectors_rows", made)
    n_columns: int = library.call("vectors_columns", made)
    block = (ctypes.c_float * (n_rows * n_columns)).from_address(library.call("vectors_data", made))
    setattr(block, "_owner", _Owner(made))
    return block, n_rows, n_columns


def _as_array(made: c_void_p) -> Vectors:
    import numpy

    block, n_rows, n_columns = _block(made)
    return numpy.frombuffer(block, dtype=numpy.float32).reshape(n_rows, n_columns)

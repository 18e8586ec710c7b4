"""The functions of ruvllm.h, by ctypes: a module of plain Python needs no compiler, gives one wheel
for all versions of Python, and releases the lock of the interpreter in every call."""
from __future__ import annotations

import ctypes
import os
import pathlib
from ctypes import POINTER, byref, c_char_p, c_int32, c_int64, c_size_t, c_uint16, c_uint32, c_void_p
from typing import Any

from .errors import BY_STATUS, InternalError

ABI = 1
OK, END, PENDING = 0, 1, 2
ADD_SPECIAL, PARSE_SPECIAL, WITH_SPECIAL = 1, 2, 4

_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "abi_version": (c_uint32, []),
    "version": (c_char_p, []),
    "error_code": (c_char_p, [c_void_p]),
    "error_field": (c_char_p, [c_void_p]),
    "error_message": (c_char_p, [c_void_p]),
    "error_free": (None, [c_void_p]),
    "text_data": (c_void_p, [c_void_p]),
    "text_size": (c_size_t, [c_void_p]),
    "text_free": (None, [c_void_p]),
    "model_load": (c_int32, [c_char_p, c_char_p, c_void_p, c_void_p, POINTER(c_void_p),
                             POINTER(c_void_p)]),
    "model_free": (None, [c_void_p]),
    "model_info": (c_int32, [c_void_p, POINTER(c_void_p), POINTER(c_void_p)]),
    "tokenize": (c_int32, [c_void_p, c_char_p, c_size_t, c_uint32, POINTER(c_void_p),
                           POINTER(c_void_p)]),
    "detokenize": (c_int32, [c_void_p, POINTER(c_int32), c_size_t, c_uint32, POINTER(c_void_p),
                             POINTER(c_void_p)]),
    "tokens_data": (c_void_p, [c_void_p]),
    "tokens_size": (c_size_t, [c_void_p]),
    "tokens_free": (None, [c_void_p]),
    "call_begin": (c_int32, [c_void_p, c_char_p, c_char_p, c_char_p, POINTER(c_void_p),
                             POINTER(c_void_p)]),
    "embed_begin": (c_int32, [c_void_p, c_char_p, POINTER(c_void_p), POINTER(c_void_p)]),
    "call_next": (c_int32, [c_void_p, c_int64, POINTER(c_void_p), POINTER(c_size_t),
                            POINTER(c_void_p)]),
    "call_take_vectors": (c_int32, [c_void_p, POINTER(c_void_p), POINTER(c_void_p)]),
    "call_cancel": (None, [c_void_p]),
    "call_free": (None, [c_void_p]),
    "vectors_data": (c_void_p, [c_void_p]),
    "vectors_rows": (c_size_t, [c_void_p]),
    "vectors_columns": (c_size_t, [c_void_p]),
    "vectors_free": (None, [c_void_p]),
    "server_start": (c_int32, [c_void_p, c_char_p, POINTER(c_void_p), POINTER(c_void_p)]),
    "server_port": (c_uint16, [c_void_p]),
    "server_stop": (None, [c_void_p]),
}


def _open() -> ctypes.CDLL:
    """The library of the package, or the one that RUVLLM_LIBRARY names."""
    inside = pathlib.Path(__file__).parent / "lib" / f"libruvllm.so.{ABI}"
    library = ctypes.CDLL(os.environ.get("RUVLLM_LIBRARY") or str(inside))
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, f"ruvllm_{name}")
        function.restype, function.argtypes = result, arguments
    if library.ruvllm_abi_version() != ABI:
        raise ImportError(f"the library has ABI {library.ruvllm_abi_version()}, not {ABI}")
    return library


_library = _open()


def call(name: str, *arguments: Any) -> Any:
    """A function that cannot fail."""
    return getattr(_library, f"ruvllm_{name}")(*arguments)


def checked(name: str, *arguments: Any) -> int:
    """A function with a place for an error, which is raised; gives the status."""
    error = c_void_p()
    status: int = getattr(_library, f"ruvllm_{name}")(*arguments, byref(error))
    if status < min(BY_STATUS):
        return status
    try:
        said = [call(f"error_{part}", error).decode("utf-8", "replace")
                for part in ("message", "code", "field")]
    finally:
        call("error_free", error)
    raise BY_STATUS.get(status, InternalError)(*said)


def handle(name: str, *arguments: Any) -> c_void_p:
    """A function that gives a handle."""
    made = c_void_p()
    checked(name, *arguments, byref(made))
    return made


def text(name: str, *arguments: Any) -> str:
    """A function that gives a text."""
    made = handle(name, *arguments)
    try:
        return ctypes.string_at(call("text_data", made), call("text_size", made)).decode()
    finally:
        call("text_free", made)

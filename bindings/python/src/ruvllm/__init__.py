"""RuvLLM: runs large language models on your own processor.

    import ruvllm

    model = ruvllm.load()
    print(model.chat([{"role": "user", "content": "What is the capital of France?"}]))
"""
from . import _library
from .answer import Answer, Piece
from .errors import (CancelledError, CorruptError, DeadlineError, Error, InternalError, InvalidError,
                     NotFoundError, OutOfMemoryError, UnavailableError, UnsupportedError)
from .model import Model, Server, load

__version__: str = _library.call("version").decode()
__all__ = ["Answer", "CancelledError", "CorruptError", "DeadlineError", "Error", "InternalError",
           "InvalidError", "Model", "NotFoundError", "OutOfMemoryError", "Piece", "Server",
           "UnavailableError", "UnsupportedError", "load"]

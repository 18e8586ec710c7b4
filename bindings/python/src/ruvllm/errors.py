"""What calls raise: one tree, by what a caller can do about it."""
from __future__ import annotations


class Error(Exception):
    """A call failed. `code` is for programs ("unknown_field"), `field` names what is wrong or is ""."""

    def __init__(self, message: str, code: str = "", field: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.field = field


class InvalidError(Error, ValueError):
    """An argument or a field is wrong."""


class NotFoundError(Error, LookupError):
    """A file, model, session or path does not exist."""


class UnsupportedError(Error, NotImplementedError):
    """Understood, but this build cannot do it."""


class CorruptError(Error):
    """A file breaks its own format."""


class OutOfMemoryError(Error, MemoryError):
    """A budget or the machine's memory is used up."""


class UnavailableError(Error):
    """Try again later."""


class CancelledError(Error):
    """The call was cancelled, or its model was closed."""


class DeadlineError(Error, TimeoutError):
    """The request's own timeout_ms has passed."""


class InternalError(Error):
    """A mistake of the library."""


# The statuses of ruvllm.h.
BY_STATUS: dict[int, type[Error]] = {
    16: InvalidError, 17: NotFoundError, 18: UnsupportedError, 19: CorruptError,
    20: OutOfMemoryError, 21: UnavailableError, 22: CancelledError, 23: DeadlineError,
    24: InternalError}

// What calls throw: one tree, by what a caller can do about it.

export class RuvllmError extends Error {
  /** For programs: "unknown_field", "context_length_exceeded". */
  readonly code: string;
  /** What is wrong, "messages[0].role"; "" where it is not a field. */
  readonly field: string;

  constructor(message: string, code = "", field = "") {
    super(message);
    this.name = new.target.name;
    this.code = code;
    this.field = field;
  }
}

/** An argument or a field is wrong. */
export class InvalidError extends RuvllmError {}
/** A file, model, session or path does not exist. */
export class NotFoundError extends RuvllmError {}
/** Understood, but this build cannot do it. */
export class UnsupportedError extends RuvllmError {}
/** A file breaks its own format. */
export class CorruptError extends RuvllmError {}
/** A budget or the machine's memory is used up. */
export class OutOfMemoryError extends RuvllmError {}
/** Try again later. */
export class UnavailableError extends RuvllmError {}
/** The call was cancelled, or its model was closed. */
export class CancelledError extends RuvllmError {}
/** The request's own timeout_ms has passed. */
export class DeadlineError extends RuvllmError {}
/** A mistake of the library. */
export class InternalError extends RuvllmError {}

/** The statuses of ruvllm.h from RUVLLM_INVALID on. */
const CLASSES = [InvalidError, NotFoundError, UnsupportedError, CorruptError, OutOfMemoryError,
                 UnavailableError, CancelledError, DeadlineError, InternalError];

export function errorOf(status: number, message: string, code: string, field: string): RuvllmError {
  return new (CLASSES[status - 16] ?? InternalError)(message, code, field);
}

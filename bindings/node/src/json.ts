// Requests as the texts that the library reads.
import { InvalidError } from "./errors.js";

/** JSON.stringify writes null, or nothing, for values that JSON does not have; they are refused. */
function checked(this: unknown, key: string, value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new InvalidError(`not JSON: '${key}' is ${value}`, "invalid_body", key);
  }
  if (typeof value === "function" || typeof value === "symbol" || typeof value === "bigint" ||
      (value === undefined && Array.isArray(this))) {
    throw new InvalidError(`not JSON: '${key}' is of type ${typeof value}`, "invalid_body", key);
  }
  return value;
}

/** Members that are undefined are left out. */
export function toJson(value: unknown): string {
  try {
    return JSON.stringify(value, checked);
  } catch (error) {
    if (error instanceof InvalidError) throw error;
    throw new InvalidError(`not JSON: ${String(error)}`, "invalid_body");
  }
}

// Names and values of a part of an entry, in its order; members of members as "name.member", deeper ones
// as JSON.
import { isObject } from "../core/read.ts";

const shown = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

export function rowsOf(part: unknown): [string, string][] {
  if (Array.isArray(part)) return part.flatMap((one, i) => rowsOf({ [String(i + 1)]: one }));
  if (!isObject(part)) return [];
  return Object.entries(part).flatMap(([name, value]): [string, string][] =>
    isObject(value) ? Object.entries(value).map(([inner, one]) => [`${name}.${inner}`, shown(one)]) : [[name, shown(value)]],
  );
}

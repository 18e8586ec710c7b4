// Which entries are shown.
import { Cell } from "../core/cell.ts";

export const kRanges = { hour: "last hour", day: "last 24 hours", week: "last 7 days", month: "last 30 days", all: "all", own: "from … until" } as const;
export type Range = keyof typeof kRanges;

const kHourMs = 3_600_000;
const kRangeMs: Partial<Record<Range, number>> = { hour: kHourMs, day: 24 * kHourMs, week: 7 * 24 * kHourMs, month: 30 * 24 * kHourMs };

export interface Filter {
  range: Range;
  from: string; // of the range "own", as inputs of a date and time have them; "": open
  until: string;
  model: string; // here and below "": any
  tenant: string;
  finish: string;
  requestId: string;
  slowerMs: string;
}

export const kNoFilter: Filter = { range: "day", from: "", until: "", model: "", tenant: "", finish: "", requestId: "", slowerMs: "" };

// It stays when another view is shown.
export const filter = new Cell<Filter>(kNoFilter);

export interface Span {
  since: number | undefined; // milliseconds
  until: number | undefined; // not in it
}

const instant = (input: string): number | undefined => {
  const ms = input === "" ? NaN : new Date(input).getTime();
  return Number.isFinite(ms) && ms >= 0 ? ms : undefined;
};

export function spanOf(of: Filter, nowMs: number): Span {
  if (of.range === "own") return { since: instant(of.from), until: instant(of.until) };
  const length = kRangeMs[of.range];
  return { since: length && nowMs - length, until: undefined };
}

// The parameters of /v1/audit/entries and /v1/audit/stats. The server reads no "+" as a space.
export function queryOf(of: Filter, { since, until }: Span): string {
  const query = new URLSearchParams();
  const put = (name: string, value: string | number | undefined) => value !== undefined && value !== "" && query.set(name, String(value));
  put("since_ms", since);
  put("until_ms", until);
  put("model", of.model);
  put("tenant", of.tenant);
  put("finish", of.finish);
  put("request_id", of.requestId);
  const slower = Number(of.slowerMs);
  if (of.slowerMs !== "" && Number.isSafeInteger(slower) && slower > 0) put("slower_than_ms", slower);
  return query.toString().replaceAll("+", "%20");
}

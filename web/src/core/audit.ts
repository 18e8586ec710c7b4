// /v1/audit, as far as the page uses it.
import { ask, json } from "./api.ts";
import { finite, isObject, list, member, text } from "./read.ts";
import type { Loose } from "./read.ts";

export interface AuditState {
  publicKey: string;
  head: { digest: string; batch: number; entries: number; timeMs: number } | null; // null: nothing is written yet
  nWritten: number;
  nWaiting: number;
  nLost: number;
  failure: string;
}

export interface Entry {
  number: number;
  timeMs: number;
  id: string;
  tenant: string;
  model: string;
  finish: string;
  errorCode: string; // "": it did not fail
  errorMessage: string;
  nPrompt: number;
  nCached: number;
  nAnswer: number;
  totalMs: number;
  body: Loose; // all of it
}

// Milliseconds that a share of answers did not exceed.
export interface Times {
  p50: number;
  p90: number;
  p99: number;
  most: number;
}

export interface ModelFigures {
  name: string;
  nAnswers: number;
  finishes: Map<string, number>;
  nPrompt: number;
  nCached: number;
  nAnswer: number;
  total: Times;
}

export interface AuditFigures {
  models: ModelFigures[]; // the busiest first
  errors: { code: string; message: string; n: number; last: number }[];
  slow: { number: number; ms: number; timesMedian: number }[];
}

const number = (value: unknown, name: string): number => finite(member(value, name)) ?? 0;
const word = (value: unknown, name: string): string => text(member(value, name)) ?? "";

export async function auditState(signal: AbortSignal): Promise<AuditState> {
  const found = await json("/v1/audit", { signal });
  const head = member(found, "head");
  return {
    publicKey: word(found, "public_key"),
    head: isObject(head)
      ? { digest: word(head, "digest"), batch: number(head, "batch"), entries: number(head, "entries"), timeMs: number(head, "time_ms") }
      : null,
    nWritten: number(found, "written"),
    nWaiting: number(found, "waiting"),
    nLost: number(found, "lost"),
    failure: word(found, "failure"),
  };
}

export function entryOf(value: unknown): Entry {
  const body = isObject(value) ? value : {};
  const tokens = body.tokens;
  return {
    number: number(body, "number"),
    timeMs: number(body, "time_ms"),
    id: word(body, "id"),
    tenant: word(body, "tenant"),
    model: word(body, "model"),
    finish: word(body, "finish"),
    errorCode: word(body.error, "code"),
    errorMessage: word(body.error, "message"),
    nPrompt: number(tokens, "prompt"),
    nCached: number(tokens, "cached"),
    nAnswer: number(tokens, "answer"),
    totalMs: number(body.times, "total_ms"),
    body,
  };
}

// `query`: the parameters of a filter, as filter.ts makes them. `before`: the number above those wanted.
export async function entries(
  query: string,
  limit: number,
  before: number | undefined,
  signal: AbortSignal,
): Promise<{ items: Entry[]; hasMore: boolean }> {
  const place = before === undefined ? "" : `&before=${before}`;
  const found = await json(`/v1/audit/entries?limit=${limit}${place}${query && `&${query}`}`, { signal });
  return { items: list(member(found, "data")).map(entryOf), hasMore: member(found, "has_more") === true };
}

export async function entry(number: number, signal: AbortSignal): Promise<Entry> {
  return entryOf(await json(`/v1/audit/entries/${number}`, { signal }));
}

// As the server wrote it: a proof is checked by its bytes.
export async function proof(number: number): Promise<string> {
  return (await ask(`/v1/audit/proofs/${number}`)).text();
}

const timesOf = (value: unknown): Times => ({
  p50: number(value, "p50"),
  p90: number(value, "p90"),
  p99: number(value, "p99"),
  most: number(value, "max"),
});

function modelOf([name, value]: [string, unknown]): ModelFigures {
  const finishes = member(value, "finishes");
  return {
    name,
    nAnswers: number(value, "answers"),
    finishes: new Map(Object.keys(isObject(finishes) ? finishes : {}).map((finish) => [finish, number(finishes, finish)])),
    nPrompt: number(value, "prompt_tokens"),
    nCached: number(value, "cached_tokens"),
    nAnswer: number(value, "answer_tokens"),
    total: timesOf(member(value, "total_ms")),
  };
}

export async function auditFigures(query: string, signal: AbortSignal): Promise<AuditFigures> {
  const found = await json(`/v1/audit/stats${query && `?${query}`}`, { signal });
  const models = member(found, "models");
  return {
    models: Object.entries(isObject(models) ? models : {})
      .map(modelOf)
      .sort((a, b) => b.nAnswers - a.nAnswers),
    errors: list(member(found, "errors")).map((one) => ({
      code: word(one, "code"),
      message: word(one, "message"),
      n: number(one, "n"),
      last: number(one, "last"),
    })),
    slow: list(member(found, "slow")).map((one) => ({
      number: number(one, "number"),
      ms: number(one, "ms"),
      timesMedian: number(one, "times_median"),
    })),
  };
}

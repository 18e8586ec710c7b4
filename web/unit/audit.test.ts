import assert from "node:assert/strict";
import { test } from "vitest";
import { keptOf } from "../src/audit/entry.tsx";
import { linesOf, tableOf } from "../src/audit/export.ts";
import { kNoFilter, queryOf, spanOf } from "../src/audit/filter.ts";
import { rowsOf } from "../src/audit/rows.ts";
import { answerSeries, eachSlot, kSlots, slotsOf, timeSeries } from "../src/audit/slots.ts";
import { entryOf } from "../src/core/audit.ts";
import type { AuditFigures, ModelFigures } from "../src/core/audit.ts";
import { length } from "../src/ui/format.ts";

const kHour = 3_600_000;

test("a filter becomes the parameters of a request", () => {
  assert.equal(queryOf(kNoFilter, spanOf({ ...kNoFilter, range: "all" }, 5)), "");
  assert.equal(queryOf(kNoFilter, spanOf({ ...kNoFilter, range: "hour" }, kHour + 5)), "since_ms=5");
  const full = { ...kNoFilter, model: "a&b", tenant: "x y", finish: "stop", requestId: "+1", slowerMs: "20" };
  assert.equal(queryOf(full, { since: 1, until: 2 }), "since_ms=1&until_ms=2&model=a%26b&tenant=x%20y&finish=stop&request_id=%2B1&slower_than_ms=20");
  // What is no number of milliseconds is no condition.
  for (const slowerMs of ["0", "-1", "1.5", "x"]) assert.equal(queryOf({ ...kNoFilter, slowerMs }, { since: undefined, until: undefined }), "", slowerMs);
});

test("the ends of a span may be open", () => {
  const own = (from: string, until: string) => spanOf({ ...kNoFilter, range: "own", from, until }, 0);
  assert.deepEqual(own("", ""), { since: undefined, until: undefined });
  assert.deepEqual(own("2026-01-01T10:00:00Z", "nonsense"), { since: Date.UTC(2026, 0, 1, 10), until: undefined });
  assert.deepEqual(own("1960-01-01T00:00", ""), { since: undefined, until: undefined });
});

test("slots follow each other and are the span", () => {
  for (const span of [{ since: 1000, until: 1000 + 24 * kHour }, { since: 7, until: 1003 }, { since: 5, until: 5 }, { since: undefined, until: undefined }, { since: 9, until: 3 }]) {
    const slots = slotsOf(span, 40 * 24 * kHour);
    assert.equal(slots.length, kSlots);
    slots.forEach((slot, i) => {
      assert.ok(slot.since < slot.until, JSON.stringify([span, slot]));
      assert.equal(slot.since, i === 0 ? slot.since : slots[i - 1]!.until);
    });
    assert.equal(slots[kSlots - 1]!.until, span.until ?? 40 * 24 * kHour + 1);
  }
  assert.equal(slotsOf({ since: 1000, until: 1000 + 24 * kHour }, 0)[0]!.until, 1000 + kHour);
});

test("slots are asked a few at a time, and come in their order", async () => {
  let nNow = 0;
  let most = 0;
  const slots = slotsOf({ since: 0, until: 2400 }, 0);
  const found = await eachSlot(slots, async ({ since }) => {
    most = Math.max(most, ++nNow);
    for (let i = (since / 100) % 5; i >= 0; --i) await Promise.resolve();
    --nNow;
    return since;
  });
  assert.deepEqual(found, slots.map((slot) => slot.since));
  assert.equal(most, 3);
  await assert.rejects(eachSlot(slots, () => Promise.reject(new Error("refused"))), /refused/);
});

const model = (name: string, finishes: Record<string, number>, p50: number): ModelFigures => ({
  name,
  nAnswers: 0,
  finishes: new Map(Object.entries(finishes)),
  nPrompt: 0,
  nCached: 0,
  nAnswer: 0,
  total: { p50, p90: 2 * p50, p99: 3 * p50, most: 4 * p50 },
});
const figures = (...models: ModelFigures[]): AuditFigures => ({ models, errors: [], slow: [] });

test("answers are drawn by how they ended, and times of one model", () => {
  const slots = [{ since: 0, until: 10 }, { since: 10, until: 20 }];
  const each = [figures(model("a", { stop: 2, error: 1 }, 5), model("b", { length: 3, other: 1 }, 7)), figures()];
  const whole = figures(model("a", { stop: 2, error: 1, cancelled: 4 }, 6));
  const values = (series: { name: string; points: { value: number | undefined }[]; whole?: number }[]) => series.map((s) => [s.name, s.points.map((p) => p.value), s.whole]);
  assert.deepEqual(values(answerSeries(slots, each, whole)), [["complete", [3, 0], 2], ["cut off", [3, 0], 4], ["failed", [1, 0], 1]]);
  assert.deepEqual(values(timeSeries(slots, each, whole.models[0]!)), [["p50", [5, undefined], 6], ["p90", [10, undefined], 12], ["p99", [15, undefined], 18]]);
});

test("entries are written as lines and as a table", () => {
  const found = [entryOf({ number: 3, time_ms: 9, id: '=x"', tenant: "a,b", model: "m", finish: "stop", times: { total_ms: 1.5 }, tokens: { prompt: 7 } }), entryOf(null)];
  assert.equal(linesOf(found).split("\n")[1], "{}");
  assert.deepEqual(tableOf(found).split("\n").slice(1), ['3,9,"\'=x""","a,b",m,stop,1.5,,,,7,0,0,', "0,0,,,,,,,,,0,0,0,", ""]);
});

test("what the log has of prompt and answer is said", () => {
  const digests = { prompt: "aa" };
  assert.match(keptOf(entryOf({ digests, text: "" })), /^The log keeps the prompt and the answer:/);
  assert.match(keptOf(entryOf({ digests, sealed: "bb" })), /sealed/);
  assert.match(keptOf(entryOf({ digests })), /digests of the prompt and the answer, not the texts/);
  assert.match(keptOf(entryOf({})), /nothing/);
});

test("parts of entries become rows", () => {
  assert.deepEqual(rowsOf({ a: 1, b: "<i>", c: { d: [1], e: { f: null } } }), [["a", "1"], ["b", "<i>"], ["c.d", "[1]"], ["c.e", '{"f":null}']]);
  assert.deepEqual(rowsOf([{ path: "x" }]), [["1.path", "x"]]);
  for (const none of [undefined, null, 3, "x"]) assert.deepEqual(rowsOf(none), []);
});

test("lengths of time are said in the largest unit that fits", () => {
  assert.deepEqual([1500, 150_000, kHour, 7 * kHour, 72 * kHour].map(length), ["1.5 s", "2.5 min", "1 h", "7 h", "3 d"]);
});

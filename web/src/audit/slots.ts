// Figures over time. The server gives figures of a span, so that the span is divided into slots of one
// length, and each is asked for.
import type { AuditFigures, ModelFigures } from "../core/audit.ts";
import type { Point, Series } from "../metrics/series.ts";
import type { Span } from "./filter.ts";

export const kSlots = 24;
const kLongestMs = 30 * 24 * 3_600_000; // of a span that has no beginning

export interface Slot {
  since: number;
  until: number;
}

// Their ends are whole milliseconds, and together they are the span, but for one without a beginning.
export function slotsOf({ since, until }: Span, nowMs: number): Slot[] {
  const end = until ?? nowMs + 1;
  const begin = Math.min(since ?? end - kLongestMs, end - kSlots);
  const at = (i: number) => Math.round(begin + ((end - begin) * i) / kSlots);
  return Array.from({ length: kSlots }, (_, i) => ({ since: at(i), until: at(i + 1) }));
}

// What `read` gives for each, asked a few at a time.
export async function eachSlot<T>(slots: Slot[], read: (slot: Slot) => Promise<T>, nAtOnce = 3): Promise<T[]> {
  const found: T[] = new Array(slots.length);
  let next = 0;
  const work = async () => {
    for (let i = next++; i < slots.length; i = next++) found[i] = await read(slots[i]!);
  };
  await Promise.all(Array.from({ length: nAtOnce }, work));
  return found;
}

const kKinds = { complete: (finish: string) => finish !== "error" && !isCut(finish), "cut off": isCut, failed: (finish: string) => finish === "error" };

function isCut(finish: string): boolean {
  return finish === "length" || finish === "cancelled";
}

function nOf(models: ModelFigures[], isKind: (finish: string) => boolean): number {
  return models.reduce((sum, model) => [...model.finishes].reduce((n, [finish, k]) => n + (isKind(finish) ? k : 0), sum), 0);
}

const middle = ({ since, until }: Slot): number => (since + until) / 2;

// Numbers of answers by how they ended.
export function answerSeries(slots: Slot[], figures: AuditFigures[], whole: AuditFigures): Series[] {
  return Object.entries(kKinds).map(([name, isKind]) => ({
    name,
    points: slots.map((slot, i) => ({ at: middle(slot), value: nOf(figures[i]!.models, isKind) })),
    whole: nOf(whole.models, isKind),
  }));
}

// Percentiles of a model's whole times, in milliseconds.
export function timeSeries(slots: Slot[], figures: AuditFigures[], whole: ModelFigures): Series[] {
  return (["p50", "p90", "p99"] as const).map((name) => ({
    name,
    points: slots.map((slot, i): Point => {
      const model = figures[i]!.models.find((one) => one.name === whole.name);
      return { at: middle(slot), value: model?.total[name] };
    }),
    whole: whole.total[name],
  }));
}

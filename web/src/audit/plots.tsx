// Answers and their times, over the time that the filter names.
import { auditFigures } from "../core/audit.ts";
import type { AuditFigures } from "../core/audit.ts";
import { Plot } from "../metrics/plot.tsx";
import { useAnswer } from "../ui/answer.ts";
import { Fault } from "../ui/fault.tsx";
import { length, time } from "../ui/format.ts";
import { queryOf } from "./filter.ts";
import type { Filter, Span } from "./filter.ts";
import { answerSeries, eachSlot, slotsOf, timeSeries } from "./slots.ts";

export function Plots({ filter, span, now, whole }: { filter: Filter; span: Span; now: number; whole: AuditFigures }) {
  const slots = slotsOf(span, now);
  const read = (signal: AbortSignal) => eachSlot(slots, (slot) => auditFigures(queryOf(filter, slot), signal));
  const figures = useAnswer(async (signal) => ({ slots, each: await read(signal) }), [queryOf(filter, span), now]);
  if (figures.fault) return <Fault fault={figures.fault} again={figures.again} />;
  // What is there is shown until the next has come, with its own times.
  if (!figures.value) return <p class="hint plots-wait">Reading figures over time …</p>;
  const { slots: of, each } = figures.value;
  const busiest = whole.models[0]!;
  const first = of[0]!.since;
  const last = of[of.length - 1]!.until;
  const axis = { from: time(first), to: time(last), said: `from ${time(first)} until ${time(last)}` };
  return (
    <div class="plots">
      <Plot title="Answers" unit={`in each ${length(of[0]!.until - first)}`} isStacked axis={axis} series={answerSeries(of, each, whole)} />
      <Plot title={`Times of ${busiest.name}`} unit="ms, whole requests" axis={axis} series={timeSeries(of, each, busiest)} />
    </div>
  );
}

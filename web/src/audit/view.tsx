// The signed log of finished requests, where the server was started with --audit.
import { useState } from "preact/hooks";
import { auditFigures, auditState } from "../core/audit.ts";
import { useCell } from "../core/cell.ts";
import { useAnswer } from "../ui/answer.ts";
import { Fault, Missing } from "../ui/fault.tsx";
import type { Feature } from "../ui/fault.tsx";
import { go } from "../ui/place.ts";
import { EntryDialog } from "./entry.tsx";
import { Entries } from "./entries.tsx";
import { Figures } from "./figures.tsx";
import { filter, queryOf, spanOf } from "./filter.ts";
import { Filters } from "./filters.tsx";
import { Head } from "./head.tsx";
import { Plots } from "./plots.tsx";

const kFeature: Feature = {
  offCode: "unsupported",
  off: "This server keeps no audit log",
  option: "--audit FOLDER",
  scope: "manage",
};

// `now`: when it was last read; what comes later is left out until it is read again.
function Log({ now, onRefresh }: { now: number; onRefresh: () => void }) {
  const of = useCell(filter);
  const span = spanOf(of, now);
  const query = queryOf(of, span);
  const figures = useAnswer((signal) => auditFigures(query, signal), [query, now]);
  const nAnswers = figures.value?.models.reduce((sum, model) => sum + model.nAnswers, 0) ?? 0;
  return (
    <>
      <Filters models={figures.value?.models.map((model) => model.name) ?? []} onRefresh={onRefresh} />
      {figures.fault && <Fault fault={figures.fault} again={figures.again} />}
      {figures.value && nAnswers > 0 && <Plots filter={of} span={span} now={now} whole={figures.value} />}
      {figures.value && <Figures of={figures.value} />}
      <Entries query={query} now={now} />
    </>
  );
}

// `entry`: the one that is open; 0: none.
export function AuditView({ entry }: { entry: number }) {
  const [now, setNow] = useState(Date.now);
  const state = useAnswer(auditState, [now]);
  return (
    <div class="metrics" tabIndex={0} role="region" aria-label="Audit">
      <div class="wide">
        {state.fault && <Missing feature={kFeature} fault={state.fault} again={state.again} />}
        {state.value && (
          <>
            <Head state={state.value} />
            <Log now={now} onRefresh={() => setNow(Date.now())} />
          </>
        )}
      </div>
      {state.value && entry > 0 && <EntryDialog key={entry} number={entry} onClose={() => go("/audit")} />}
    </div>
  );
}

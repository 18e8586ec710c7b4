// Counts and times of the entries that the filter leaves.
import type { AuditFigures } from "../core/audit.ts";
import { count, duration } from "../ui/format.ts";

function Models({ of }: { of: AuditFigures }) {
  return (
    <div class="table" tabIndex={0} role="group" aria-label="Answers by model">
      <table>
        <thead>
          <tr>
            <th>Model</th>
            <th class="side-right">Answers</th>
            <th class="ends">Ended by</th>
            <th class="side-right">Prompt tokens</th>
            <th class="side-right">Reused</th>
            <th class="side-right">Generated</th>
            <th class="side-right">p50</th>
            <th class="side-right">p90</th>
            <th class="side-right">p99</th>
            <th class="side-right">Longest</th>
          </tr>
        </thead>
        <tbody>
          {of.models.map((model) => (
            <tr key={model.name}>
              <td class="no-break">
                <bdi>{model.name}</bdi>
              </td>
              <td class="side-right">{count(model.nAnswers)}</td>
              <td>{[...model.finishes].map(([finish, n]) => `${finish} ${count(n)}`).join(", ")}</td>
              <td class="side-right">{count(model.nPrompt)}</td>
              <td class="side-right">{count(model.nCached)}</td>
              <td class="side-right">{count(model.nAnswer)}</td>
              {[model.total.p50, model.total.p90, model.total.p99, model.total.most].map((ms, i) => (
                <td key={i} class="side-right no-break">
                  {duration(ms)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Errors({ of }: { of: AuditFigures }) {
  return (
    <section class="rows">
      <h3>Failures</h3>
      <ul class="kepts" aria-label="Failures">
        {of.errors.slice(0, 20).map((error) => (
          <li class="kept" key={`${error.code} ${error.message}`}>
            <b>{count(error.n)}</b> × <code>{error.code}</code> <bdi>{error.message}</bdi>{" "}
            <a class="no-break" href={`#/audit/${error.last}`}>
              the last: {error.last}
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Slow({ of }: { of: AuditFigures }) {
  return (
    <section class="rows">
      <h3>Longer than three times the median of their model</h3>
      <ul class="chips" aria-label="Slow answers">
        {of.slow.map((one) => (
          <li key={one.number}>
            <a href={`#/audit/${one.number}`}>
              {one.number}: {duration(one.ms)}, {one.timesMedian.toFixed(1)} ×
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

const kMostCounted = 100_000; // of the server

export function Figures({ of }: { of: AuditFigures }) {
  if (of.models.length === 0) return <p class="hint">No entry fits.</p>;
  return (
    <>
      <Models of={of} />
      {of.models.reduce((sum, model) => sum + model.nAnswers, 0) >= kMostCounted && (
        <p class="hint">These are figures of the newest {count(kMostCounted)} entries.</p>
      )}
      {of.errors.length > 0 && <Errors of={of} />}
      {of.slow.length > 0 && <Slow of={of} />}
    </>
  );
}

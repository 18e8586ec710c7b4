// The entries themselves, the newest first, and as files.
import { useEffect, useRef, useState } from "preact/hooks";
import { saying } from "../core/api.ts";
import { entries } from "../core/audit.ts";
import type { Entry } from "../core/audit.ts";
import { usePages } from "../ui/answer.ts";
import { download } from "../ui/download.ts";
import { Fault } from "../ui/fault.tsx";
import { count, duration, time } from "../ui/format.ts";
import { Icon } from "../ui/icons.tsx";
import { exportedEntries, linesOf, tableOf } from "./export.ts";

const kPageEntries = 50;

// It may break between the day and the hour only.
function When({ ms }: { ms: number }) {
  const [day, hour] = time(ms, true).split(" ");
  return (
    <>
      <span class="no-break">{day}</span> <span class="no-break">{hour}</span>
    </>
  );
}

function Row({ of }: { of: Entry }) {
  return (
    <tr class="opens">
      <td>
        <a href={`#/audit/${of.number}`} aria-label={`Entry ${of.number}`}>
          {of.number}
        </a>
      </td>
      <td>
        <When ms={of.timeMs} />
      </td>
      <td>
        <bdi>{of.model}</bdi>
      </td>
      <td class="only-wide-cell">
        <bdi>{of.tenant}</bdi>
      </td>
      <td class={of.errorCode ? "wrong" : undefined}>
        {of.finish}
        {of.errorCode && `: ${of.errorCode}`}
      </td>
      <td class="side-right only-wide-cell">{count(of.nPrompt)}</td>
      <td class="side-right only-wide-cell">{count(of.nAnswer)}</td>
      <td class="side-right no-break">{duration(of.totalMs)}</td>
    </tr>
  );
}

function Export({ query }: { query: string }) {
  const [said, setSaid] = useState("");
  const [isBusy, setBusy] = useState(false);
  const control = useRef<AbortController | null>(null);
  useEffect(() => () => control.current?.abort(), []);
  const save = async (name: string, type: string, write: (found: Entry[]) => string) => {
    const now = (control.current = new AbortController());
    setBusy(true);
    try {
      const { found, hasMore } = await exportedEntries(query, (n) => setSaid(`${count(n)} read …`), now.signal);
      download(name, write(found), type);
      setSaid(hasMore ? `The newest ${count(found.length)} are in the file; ruvllm audit export writes all.` : `${count(found.length)} exported.`);
    } catch (error) {
      if (!now.signal.aborted) setSaid(saying(error));
    } finally {
      if (!now.signal.aborted) setBusy(false);
    }
  };
  return (
    <div class="adding">
      <button type="button" disabled={isBusy} onClick={() => void save("ruvllm-audit.jsonl", "application/jsonl", linesOf)}>
        <Icon name="save" /> Lines of JSON
      </button>
      <button type="button" disabled={isBusy} onClick={() => void save("ruvllm-audit.csv", "text/csv", tableOf)}>
        <Icon name="save" /> Table (CSV)
      </button>
      <span class="hint" role="status">
        {said}
      </span>
    </div>
  );
}

export function Entries({ query, now }: { query: string; now: number }) {
  const pages = usePages((after: Entry | undefined, signal) => entries(query, kPageEntries, after?.number, signal), [query, now]);
  const rows = pages.value ?? [];
  return (
    <section class="rows log">
      <h3>Entries</h3>
      {pages.fault && <Fault fault={pages.fault} again={pages.again} />}
      {rows.length > 0 && (
        <>
          <Export query={query} />
          <div class="table" tabIndex={0} role="group" aria-label="Entries">
            <table>
              <thead>
                <tr>
                  <th>No.</th>
                  <th>Ended</th>
                  <th>Model</th>
                  <th class="only-wide-cell">User</th>
                  <th>End</th>
                  <th class="side-right only-wide-cell">Prompt</th>
                  <th class="side-right only-wide-cell">Answer</th>
                  <th class="side-right">Time</th>
                </tr>
              </thead>
              <tbody>
                {rows.map((row) => (
                  <Row key={row.number} of={row} />
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
      {pages.hasMore && (
        <button type="button" disabled={pages.isBusy} onClick={pages.more}>
          Older entries
        </button>
      )}
    </section>
  );
}

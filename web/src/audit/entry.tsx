// One entry with all that it has.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { saying } from "../core/api.ts";
import { entry, proof } from "../core/audit.ts";
import type { Entry } from "../core/audit.ts";
import { isObject, text } from "../core/read.ts";
import { useAnswer } from "../ui/answer.ts";
import { Dialog } from "../ui/dialog.tsx";
import { download } from "../ui/download.ts";
import { Fault } from "../ui/fault.tsx";
import { count, duration, time } from "../ui/format.ts";
import { Icon } from "../ui/icons.tsx";
import { rowsOf } from "./rows.ts";

function Facts({ rows }: { rows: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <bdi>{value}</bdi>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Part({ title, of, isOpen = false }: { title: string; of: unknown; isOpen?: boolean }) {
  const rows = rowsOf(of);
  if (rows.length === 0) return null;
  return (
    <details open={isOpen}>
      <summary>
        {title} <span class="faint">{rows.length}</span>
      </summary>
      <Facts rows={rows} />
    </details>
  );
}

function isVector(of: Entry): boolean {
  return isObject(of.body.request) && of.body.request.output === "hidden";
}

// What the log has of prompt and answer.
export function keptOf(of: Entry): string {
  if (typeof of.body.text === "string") {
    return "The log keeps the prompt and the answer: the entry can be run again with ruvllm audit replay.";
  }
  if (text(of.body.sealed)) {
    return "The prompt and the answer are sealed from the server. Where they are not pruned, ruvllm audit show --seal-key opens them.";
  }
  if (isObject(of.body.digests)) return "The log keeps digests of the prompt and the answer, not the texts.";
  return "The log keeps nothing of the prompt and the answer.";
}

function Answer({ of }: { of: Entry }) {
  const said = text(of.body.text);
  return (
    <>
      {said !== undefined && (
        <>
          <h3>Answer</h3>
          {isVector(of) ? (
            <p class="hint">A vector.</p>
          ) : said === "" ? (
            <p class="hint">Empty.</p>
          ) : (
            <div class="quoted" dir="auto" tabIndex={0} role="group" aria-label="Answer">
              {said}
            </div>
          )}
        </>
      )}
      <p class="hint">{keptOf(of)}</p>
    </>
  );
}

function Save({ of }: { of: Entry }) {
  const [fault, setFault] = useState("");
  const saveProof = () => {
    setFault("");
    proof(of.number).then(
      (text) => download(`ruvllm-audit-proof-${of.number}.json`, text),
      (error) => setFault(saying(error)),
    );
  };
  return (
    <>
      <div class="adding">
        <button type="button" onClick={saveProof}>
          <Icon name="save" /> Proof
        </button>
        <button type="button" onClick={() => download(`ruvllm-audit-entry-${of.number}.json`, `${JSON.stringify(of.body, null, 2)}\n`)}>
          <Icon name="save" /> Entry
        </button>
        <span class="hint">
          <code>ruvllm audit check-proof FILE</code> shows someone without the log that it has this entry.
        </span>
      </div>
      {fault && (
        <p class="wrong" role="alert">
          {fault}
        </p>
      )}
    </>
  );
}

// The log's own entries have no request.
function Shown({ of }: { of: Entry }) {
  const { body } = of;
  const request = isObject(body.request) ? body.request : {};
  const { params, ...other } = request;
  const digests = body.sealed === undefined ? body.digests : { ...(isObject(body.digests) ? body.digests : {}), sealed: body.sealed };
  const isAnswer = body.kind === "answer";
  const error = of.errorCode && `: ${of.errorCode} ${of.errorMessage}`;
  const rows: [string, ComponentChildren][] = [
    ["Ended", `${time(of.timeMs, true)} (${of.timeMs})`],
    ["Model", of.model],
    ["User", of.tenant || "–"],
    ["Request", of.id || "–"],
    ["End", `${of.finish}${error}`],
    ["Prompt", `${count(of.nPrompt)} tokens, ${count(of.nCached)} of them reused`],
    ["Answer", isVector(of) ? "a vector" : `${count(of.nAnswer)} tokens`],
    ["Time", duration(of.totalMs)],
  ];
  return (
    <>
      {isAnswer ? <Facts rows={rows} /> : <Facts rows={rowsOf(body)} />}
      {isAnswer && <Answer of={of} />}
      <Save of={of} />
      <div>
        <Part title="Options" of={params} />
        <Part title="Request" of={other} />
        <Part title="Times" of={body.times} />
        <Part title="Model and machine" of={body.engine} />
        <Part title="Adapters" of={body.adapters} />
        <Part title="Digests" of={digests} isOpen />
      </div>
    </>
  );
}

export function EntryDialog({ number, onClose }: { number: number; onClose: () => void }) {
  const found = useAnswer((signal) => entry(number, signal), [number]);
  return (
    <Dialog title={`Entry ${number}`} class="large" onClose={onClose}>
      {found.fault && <Fault fault={found.fault} again={found.again} />}
      {found.value ? <Shown of={found.value} /> : !found.fault && <p class="hint">Reading …</p>}
    </Dialog>
  );
}

// The head of the log, which is noted elsewhere, and how writing goes.
import { useState } from "preact/hooks";
import type { AuditState } from "../core/audit.ts";
import { copyText } from "../ui/copy.ts";
import { count, time } from "../ui/format.ts";
import { IconButton } from "../ui/icons.tsx";

function Digest({ label, value }: { label: string; value: string }) {
  const [isCopied, setCopied] = useState(false);
  return (
    <div class="digest">
      <dt>{label}</dt>
      <dd>
        <code>{value}</code>
        <IconButton
          name={isCopied ? "check" : "copy"}
          label={`Copy ${label.toLowerCase()}`}
          onClick={() =>
            void copyText(value).then((done) => {
              setCopied(done);
              setTimeout(() => setCopied(false), 1500);
            })
          }
        />
        <span class="off-screen" role="status">
          {isCopied ? "Copied" : ""}
        </span>
      </dd>
    </div>
  );
}

export function Head({ state }: { state: AuditState }) {
  const { head } = state;
  const lost = state.nLost > 0 ? `, ${count(state.nLost)} lost` : "";
  return (
    <section class="log-head">
      {state.failure && (
        <div class="fault" role="alert">
          <span>The log could not be written: {state.failure}</span>
        </div>
      )}
      <p>
        {head ? `${count(head.entries)} entries in ${count(head.batch)} batches, the last of ${time(head.timeMs, true)}.` : "No entry is written yet."}{" "}
        <span class={state.nLost > 0 ? "wrong" : "faint"}>
          Since the server started: {count(state.nWritten)} written, {count(state.nWaiting)} waiting{lost}.
        </span>
      </p>
      <details>
        <summary>Head and public key</summary>
        <dl>
          {head && <Digest label="Head" value={head.digest} />}
          <Digest label="Public key" value={state.publicKey} />
        </dl>
        <p class="hint">
          Noted elsewhere, they show later whether the log still has what it has now: <code>ruvllm audit verify --head … --public-key …</code>
        </p>
      </details>
    </section>
  );
}

// Vector stores and files, as OpenAI's API has them.
import { useState } from "preact/hooks";
import { deleteFile, deleteVectorStore, storedFiles, storeFiles, vectorStores } from "../core/memory.ts";
import type { StoreFile, VectorStore } from "../core/memory.ts";
import { useAnswer, usePages } from "../ui/answer.ts";
import { Fault } from "../ui/fault.tsx";
import { bytes, several, time } from "../ui/format.ts";
import { KeptList } from "./list.tsx";
import { Tags } from "./tags.tsx";

const expiry = (seconds: number): string => (seconds > 0 ? ` · until ${time(seconds * 1000)}` : "");

// A store has the ids of its files; their names are those of the newest files.
function ContentList({ of }: { of: VectorStore }) {
  const pages = usePages((after: StoreFile | undefined, signal) => storeFiles(of.id, after, signal), [of.id]);
  const files = useAnswer((signal) => storedFiles(undefined, signal), []);
  const names = new Map(files.value?.items.map((file) => [file.id, file.name]));
  return (
    <>
      {pages.fault && <Fault fault={pages.fault} again={pages.again} />}
      <ul aria-label={`Files of ${of.name || of.id}`}>
        {(pages.value ?? []).map((one) => (
          <li key={one.id}>
            <bdi>{names.get(one.id) ?? one.id}</bdi> <span class="hint">{bytes(one.nBytes)}</span>
            <Tags label="Attributes" of={one.attributes} />
          </li>
        ))}
      </ul>
      {pages.hasMore && (
        <button type="button" disabled={pages.isBusy} onClick={pages.more}>
          Show more
        </button>
      )}
    </>
  );
}

// Read when it is opened.
function Contents({ of }: { of: VectorStore }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="hint" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>What is in it</summary>
      {isOpen && <ContentList of={of} />}
    </details>
  );
}

export function VectorStores({ version, onChange }: { version: string; onChange: () => void }) {
  const pages = usePages(vectorStores, [version]);
  return (
    <KeptList
      title="Vector stores"
      empty="Clients make them with POST /v1/vector_stores."
      pages={pages}
      idOf={(one) => one.id}
      nameOf={(one) => one.name || one.id}
      lossOf={(one) => `What was embedded of ${several(one.nFiles, "file")} is lost. The files stay.`}
      remove={(one) => deleteVectorStore(one.id)}
      onRemoved={onChange}
    >
      {(one) => (
        <>
          <p class="hint">
            {several(one.nFiles, "file")} · {bytes(one.nBytes)} · made {time(one.createdS * 1000)} · used {time(one.activeS * 1000)}
            {expiry(one.expiresS)}
          </p>
          {one.description && (
            <p class="hint">
              <bdi>{one.description}</bdi>
            </p>
          )}
          <p class="hint">
            <code>{one.id}</code>
          </p>
          {one.nFiles > 0 && <Contents key={version} of={one} />}
        </>
      )}
    </KeptList>
  );
}

export function Files({ version, onChange }: { version: string; onChange: () => void }) {
  const pages = usePages(storedFiles, [version]);
  return (
    <KeptList
      title="Files"
      empty="Clients send them to POST /v1/files."
      pages={pages}
      idOf={(one) => one.id}
      nameOf={(one) => one.name}
      lossOf={() => "It leaves all vector stores that have it, too. This cannot be undone."}
      remove={(one) => deleteFile(one.id)}
      onRemoved={onChange}
    >
      {(one) => (
        <p class="hint">
          {bytes(one.nBytes)} · {one.purpose} · sent {time(one.createdS * 1000)}
          {expiry(one.expiresS)} · <code>{one.id}</code>
        </p>
      )}
    </KeptList>
  );
}

import { deleteDocument, documents } from "../core/memory.ts";
import type { StoredDocument } from "../core/memory.ts";
import { usePages } from "../ui/answer.ts";
import { bytes, several, time } from "../ui/format.ts";
import { KeptList } from "./list.tsx";

const kMostShown = 200; // characters of a value of metadata

export function valueText(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > kMostShown ? `${text.slice(0, kMostShown)} …` : text;
}

function Metadata({ of }: { of: StoredDocument }) {
  const entries = Object.entries(of.metadata);
  if (entries.length === 0) return null;
  return (
    <dl class="tags" aria-label="Metadata">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>
            <bdi>{name}</bdi>
          </dt>
          <dd>
            <bdi>{valueText(value)}</bdi>
          </dd>
        </div>
      ))}
    </dl>
  );
}

export function Documents({ version, onChange }: { version: string; onChange: () => void }) {
  const pages = usePages(documents, [version]);
  return (
    <KeptList
      title="Documents"
      empty="Nothing is kept yet. What this page or a client adds is listed here by name."
      pages={pages}
      idOf={(one) => one.name}
      nameOf={(one) => one.name}
      lossOf={(one) => `Its text, ${several(one.nChunks, "piece")} and vectors leave the store. This cannot be undone.`}
      remove={(one) => deleteDocument(one.name)}
      onRemoved={onChange}
    >
      {(one) => (
        <>
          <p class="hint">
            {several(one.nChunks, "piece")} · {bytes(one.nBytes)} · added {time(one.addedS * 1000)}
          </p>
          <Metadata of={one} />
        </>
      )}
    </KeptList>
  );
}

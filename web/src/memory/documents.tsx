import { deleteDocument, documents } from "../core/memory.ts";
import { usePages } from "../ui/answer.ts";
import { bytes, several, time } from "../ui/format.ts";
import { KeptList } from "./list.tsx";
import { Tags } from "./tags.tsx";

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
          <Tags label="Metadata" of={one.metadata} />
        </>
      )}
    </KeptList>
  );
}

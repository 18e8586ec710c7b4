// Vector stores and files, as OpenAI's API has them.
import { deleteFile, deleteVectorStore, storedFiles, vectorStores } from "../core/memory.ts";
import { usePages } from "../ui/answer.ts";
import { bytes, several, time } from "../ui/format.ts";
import { KeptList } from "./list.tsx";

const expiry = (seconds: number): string => (seconds > 0 ? ` · until ${time(seconds * 1000)}` : "");

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

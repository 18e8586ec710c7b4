// Finds pieces of documents by what they mean and by their words.
import { useEffect, useRef, useState } from "preact/hooks";
import { saying } from "../core/api.ts";
import { searchMemory } from "../core/memory.ts";
import type { Hit, SearchMode } from "../core/memory.ts";
import { several } from "../ui/format.ts";
import { Icon } from "../ui/icons.tsx";
import { marked } from "./marks.ts";

const kMostHits = 10;

interface Found {
  query: string;
  hits: Hit[];
}

function ranks(hit: Hit): string {
  const parts = [`score ${hit.score.toFixed(4)}`];
  if (hit.vectorRank > 0) parts.push(`rank ${hit.vectorRank} by meaning`);
  if (hit.similarity !== undefined) parts.push(`similarity ${hit.similarity.toFixed(2)}`);
  if (hit.wordRank > 0) parts.push(`rank ${hit.wordRank} by words`);
  return parts.join(" · ");
}

function HitView({ hit, query }: { hit: Hit; query: string }) {
  const label = `Text of ${hit.document}, bytes ${hit.first} to ${hit.end}`;
  return (
    <li class="kept hit">
      <div class="kept-head">
        <strong>
          <bdi>{hit.document}</bdi>
        </strong>
        <span class="hint">
          {hit.page > 0 && `page ${hit.page}, `}bytes {hit.first}–{hit.end}
        </span>
      </div>
      {hit.headings && (
        <p class="hint">
          <bdi>{hit.headings}</bdi>
        </p>
      )}
      <div class="quoted" dir="auto" tabIndex={0} role="group" aria-label={label}>
        {marked(hit.text, query).map((piece, i) => (piece.isMarked ? <mark key={i}>{piece.text}</mark> : piece.text))}
      </div>
      <p class="hint">{ranks(hit)}</p>
    </li>
  );
}

export function Search({ isEmpty }: { isEmpty: boolean }) {
  const [query, setQuery] = useState("");
  const [mode, setMode] = useState<SearchMode>("hybrid");
  const [found, setFound] = useState<Found | null>(null);
  const [fault, setFault] = useState("");
  const [isBusy, setBusy] = useState(false);
  const control = useRef<AbortController | null>(null);
  useEffect(() => () => control.current?.abort(), []);
  const search = () => {
    control.current?.abort();
    const now = (control.current = new AbortController());
    setBusy(true);
    setFault("");
    searchMemory(query, mode, kMostHits, now.signal).then(
      (hits) => {
        if (now.signal.aborted) return;
        setBusy(false);
        setFound({ query, hits });
      },
      (error) => {
        if (now.signal.aborted) return;
        setBusy(false);
        setFound(null);
        setFault(saying(error));
      },
    );
  };
  return (
    <section class="rows">
      <form
        role="search"
        class="searching"
        onSubmit={(event) => {
          event.preventDefault();
          if (query.trim() !== "") search();
        }}
      >
        <label class="search">
          <Icon name="search" />
          <input type="search" aria-label="Search in memory" placeholder="Search in memory" value={query} onInput={(e) => setQuery(e.currentTarget.value)} />
        </label>
        <select aria-label="How to search" value={mode} onChange={(e) => setMode(e.currentTarget.value as SearchMode)}>
          <option value="hybrid">meaning and words</option>
          <option value="vector">meaning</option>
          <option value="words">words</option>
        </select>
        <button type="submit" class="primary" disabled={query.trim() === "" || isBusy || isEmpty}>
          Search
        </button>
      </form>
      {fault && (
        <p class="wrong" role="alert">
          {fault}
        </p>
      )}
      <p class="hint" role="status">
        {isBusy ? "Searching …" : found && (found.hits.length === 0 ? "Nothing found." : `${several(found.hits.length, "piece")} found, the best first`)}
      </p>
      {found && (
        <ol class="kepts" aria-label="Found">
          {found.hits.map((hit) => (
            <HitView key={hit.id} hit={hit} query={found.query} />
          ))}
        </ol>
      )}
    </section>
  );
}

import { useCell } from "../core/cell.ts";
import { filter, kNoFilter, kRanges } from "./filter.ts";
import type { Filter, Range } from "./filter.ts";

const kFinishes = { "": "any", stop: "stop", length: "length", cancelled: "cancelled", error: "error" };

// Inputs are taken when they are left or on Enter: each reads the log.
export function Filters({ models, onRefresh }: { models: string[]; onRefresh: () => void }) {
  const of = useCell(filter);
  const set = (change: Partial<Filter>) => filter.set({ ...of, ...change });
  const textInput = (name: "model" | "tenant" | "requestId", label: string) => (
    <label class="field">
      <span>{label}</span>
      <input type="text" spellcheck={false} list={name === "model" ? "audit-models" : undefined} value={of[name]} onChange={(e) => set({ [name]: e.currentTarget.value })} />
    </label>
  );
  const timeInput = (name: "from" | "until", label: string) => (
    <label class="field">
      <span>{label}</span>
      <input type="datetime-local" value={of[name]} onChange={(e) => set({ [name]: e.currentTarget.value })} />
    </label>
  );
  const isChanged = JSON.stringify({ ...of, range: kNoFilter.range }) !== JSON.stringify(kNoFilter);
  return (
    <form
      class="filters"
      aria-label="Which entries"
      onSubmit={(event) => {
        event.preventDefault();
        onRefresh();
      }}
    >
      <label class="field">
        <span>Ended</span>
        <select value={of.range} onChange={(e) => set({ range: e.currentTarget.value as Range })}>
          {Object.entries(kRanges).map(([name, said]) => (
            <option key={name} value={name}>
              {said}
            </option>
          ))}
        </select>
      </label>
      {of.range === "own" && timeInput("from", "From")}
      {of.range === "own" && timeInput("until", "Until")}
      <label class="field">
        <span>End</span>
        <select value={of.finish} onChange={(e) => set({ finish: e.currentTarget.value })}>
          {Object.entries(kFinishes).map(([name, said]) => (
            <option key={name} value={name}>
              {said}
            </option>
          ))}
        </select>
      </label>
      {textInput("model", "Model")}
      {textInput("tenant", "User")}
      {textInput("requestId", "Request")}
      <label class="field">
        <span>Slower than, ms</span>
        <input type="number" min={0} step={1} value={of.slowerMs} onChange={(e) => set({ slowerMs: e.currentTarget.value })} />
      </label>
      <datalist id="audit-models">
        {models.map((model) => (
          <option key={model} value={model} />
        ))}
      </datalist>
      <div class="row">
        <button type="submit">Read again</button>
        <button type="button" class="quiet" disabled={!isChanged} onClick={() => filter.set({ ...kNoFilter, range: of.range })}>
          No filter
        </button>
      </div>
    </form>
  );
}

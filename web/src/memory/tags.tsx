// Names and values that clients gave.
import type { Loose } from "../core/read.ts";

const kMostShown = 200; // characters of a value of metadata

function valueText(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > kMostShown ? `${text.slice(0, kMostShown)} …` : text;
}

export function Tags({ label, of }: { label: string; of: Loose }) {
  const entries = Object.entries(of);
  if (entries.length === 0) return null;
  return (
    <dl class="tags" aria-label={label}>
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

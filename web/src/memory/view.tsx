// What the server keeps for its clients, where it was started with --memory.
import { useState } from "preact/hooks";
import { memoryStats } from "../core/memory.ts";
import type { MemoryStats } from "../core/memory.ts";
import { useCell } from "../core/cell.ts";
import { useAnswer } from "../ui/answer.ts";
import { Missing } from "../ui/fault.tsx";
import type { Feature } from "../ui/fault.tsx";
import { bytes, count } from "../ui/format.ts";
import { Adding } from "./adding.tsx";
import { Documents } from "./documents.tsx";
import { intake } from "./intake.ts";
import { Search } from "./search.tsx";
import { Files, VectorStores } from "./stores.tsx";

const kFeature: Feature = {
  offCode: "memory_off",
  off: "This server keeps no documents",
  option: "--memory FOLDER",
  scope: "sessions",
};

function Figures({ stats }: { stats: MemoryStats }) {
  const figures: [string, string][] = [
    ["Documents", count(stats.nDocuments)],
    ["Pieces", count(stats.nChunks)],
    ["Text", bytes(stats.nTextBytes)],
    ["In main memory", bytes(stats.nMemoryBytes)],
  ];
  if (stats.nDamaged > 0) figures.push(["Damaged", count(stats.nDamaged)]);
  return (
    <>
      <dl class="figures">
        {figures.map(([label, value]) => (
          <div class="figure" key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {stats.embedder && (
        <p class="hint">
          Embedded by <bdi>{stats.embedder}</bdi> as {stats.nDims} numbers.
        </p>
      )}
    </>
  );
}

export function MemoryView() {
  const nOver = useCell(intake.nOver);
  const [nDeleted, setDeleted] = useState(0);
  const onChange = () => setDeleted((n) => n + 1);
  const version = `${nOver} ${nDeleted}`;
  const stats = useAnswer(memoryStats, [version]);
  return (
    <div class="metrics" tabIndex={0} role="region" aria-label="Memory">
      <div class="wide">
        {stats.fault && <Missing feature={kFeature} fault={stats.fault} again={stats.again} />}
        {stats.value && (
          <>
            <Figures stats={stats.value} />
            <Search isEmpty={stats.value.nDocuments === 0} />
            <Adding />
            <Documents version={version} onChange={onChange} />
            <VectorStores version={version} onChange={onChange} />
            <Files version={version} onChange={onChange} />
          </>
        )}
      </div>
    </div>
  );
}

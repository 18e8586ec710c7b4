// Prometheus' text format, as /metrics has it.
export interface Sample {
  labels: Record<string, string>;
  value: number;
}
export type Metrics = Map<string, Sample[]>;

function readValue(text: string): number {
  if (text === "+Inf") return Infinity;
  if (text === "-Inf") return -Infinity;
  return text === "" ? NaN : Number(text);
}

// {a="x",b="y"} from `at`, which is after the brace. The place after the closing one, or -1.
function readLabels(line: string, at: number, labels: Record<string, string>): number {
  for (;;) {
    while (line[at] === "," || line[at] === " ") ++at;
    if (line[at] === "}") return at + 1;
    const equals = line.indexOf("=", at);
    if (equals < 0 || line[equals + 1] !== '"') return -1;
    const name = line.slice(at, equals).trim();
    let value = "";
    for (at = equals + 2; line[at] !== '"'; ++at) {
      if (at >= line.length) return -1;
      if (line[at] !== "\\") {
        value += line[at];
        continue;
      }
      ++at;
      value += line[at] === "n" ? "\n" : (line[at] ?? "");
    }
    labels[name] = value;
    ++at;
  }
}

// Lines that are none are left out: a page shows what it can read.
export function readMetrics(text: string): Metrics {
  const metrics: Metrics = new Map();
  for (const line of text.split("\n")) {
    if (line === "" || line[0] === "#") continue;
    const end = line.search(/[{ ]/);
    if (end <= 0) continue;
    const labels: Record<string, string> = Object.create(null) as Record<string, string>;
    const from = line[end] === "{" ? readLabels(line, end + 1, labels) : end;
    if (from < 0) continue;
    const value = readValue(line.slice(from).trim().split(" ")[0] ?? "");
    if (Number.isNaN(value)) continue;
    const name = line.slice(0, end);
    const samples = metrics.get(name);
    if (samples) samples.push({ labels, value });
    else metrics.set(name, [{ labels, value }]);
  }
  return metrics;
}

// The sum of all samples with these labels; undefined: there is none.
export function total(metrics: Metrics, name: string, labels: Record<string, string> = {}): number | undefined {
  const wanted = Object.entries(labels);
  const found = (metrics.get(name) ?? []).filter((s) => wanted.every(([k, v]) => s.labels[k] === v));
  return found.length === 0 ? undefined : found.reduce((sum, s) => sum + s.value, 0);
}

// What was counted up to each bound, over all series of a histogram.
export interface Buckets {
  bounds: number[];
  counts: number[]; // cumulative
}

export function buckets(metrics: Metrics, name: string): Buckets {
  const byBound = new Map<number, number>();
  for (const sample of metrics.get(`${name}_bucket`) ?? []) {
    const bound = readValue(sample.labels.le ?? "");
    if (!Number.isNaN(bound)) byBound.set(bound, (byBound.get(bound) ?? 0) + sample.value);
  }
  const bounds = [...byBound.keys()].sort((a, b) => a - b);
  return { bounds, counts: bounds.map((bound) => byBound.get(bound)!) };
}

export function since(now: Buckets, before: Buckets | undefined): Buckets {
  if (!before || before.bounds.length !== now.bounds.length) return now;
  const counts = now.counts.map((count, i) => count - before.counts[i]!);
  return counts.some((count) => count < 0) ? now : { bounds: now.bounds, counts };
}

// As Prometheus' histogram_quantile has it: within a bucket evenly spread. undefined: nothing counted.
export function quantile(of: Buckets, q: number): number | undefined {
  const all = of.counts[of.counts.length - 1] ?? 0;
  if (!(all > 0)) return undefined;
  const rank = q * all;
  const i = of.counts.findIndex((count) => count >= rank);
  const bound = of.bounds[i]!;
  const low = i > 0 ? of.bounds[i - 1]! : 0;
  if (bound === Infinity) return low;
  const below = i > 0 ? of.counts[i - 1]! : 0;
  const inside = of.counts[i]! - below;
  return inside > 0 ? low + (bound - low) * ((rank - below) / inside) : bound;
}

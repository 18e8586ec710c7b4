// What the plots show, from one reading of /metrics after another.
import { buckets, quantile, since, total } from "../core/prometheus.ts";
import type { Buckets, Metrics } from "../core/prometheus.ts";

export interface Point {
  at: number; // milliseconds
  value: number | undefined; // undefined: nothing to show then
}

export interface Series {
  name: string;
  points: Point[];
  whole?: number; // of all that the points are of
}

export const kKept = 150; // readings
const kWindow = 15; // readings that a percentile is of

interface Reading {
  at: number;
  counters: Map<string, number>;
  histograms: Map<string, Buckets>;
  gauges: Map<string, number>;
}

const kCounters = {
  generated: "ruvllm_generated_tokens_total",
  prompt: "ruvllm_prompt_tokens_total",
  cached: "ruvllm_cached_prompt_tokens_total",
} as const;
const kHistograms = {
  first: "ruvllm_time_to_first_token_seconds",
  between: "ruvllm_inter_token_seconds",
  request: "ruvllm_request_seconds",
} as const;
const kGauges = { running: "ruvllm_requests_running", waiting: "ruvllm_requests_waiting" } as const;
const kTiers = ["free", "cached", "disk"] as const;

export type CounterName = keyof typeof kCounters;
export type HistogramName = keyof typeof kHistograms;
export type GaugeName = keyof typeof kGauges | (typeof kTiers)[number];

export class History {
  readonly #readings: Reading[] = [];
  latest: Metrics = new Map();

  add(metrics: Metrics, at: number): void {
    this.latest = metrics;
    const reading: Reading = { at, counters: new Map(), histograms: new Map(), gauges: new Map() };
    for (const [name, metric] of Object.entries(kCounters)) reading.counters.set(name, total(metrics, metric) ?? 0);
    for (const [name, metric] of Object.entries(kHistograms)) reading.histograms.set(name, buckets(metrics, metric));
    for (const [name, metric] of Object.entries(kGauges)) reading.gauges.set(name, total(metrics, metric) ?? 0);
    for (const tier of kTiers) reading.gauges.set(tier, total(metrics, "ruvllm_kv_pages", { tier }) ?? 0);
    // A server that was started again counts from zero.
    const last = this.#readings[this.#readings.length - 1];
    if (last && reading.counters.get("prompt")! < last.counters.get("prompt")!) this.#readings.length = 0;
    this.#readings.push(reading);
    if (this.#readings.length > kKept) this.#readings.shift();
  }

  get length(): number {
    return this.#readings.length;
  }

  // In a second.
  rate(name: CounterName): Point[] {
    return this.#readings.slice(1).map((reading, i) => {
      const before = this.#readings[i]!;
      const seconds = (reading.at - before.at) / 1000;
      const value = reading.counters.get(name)! - before.counters.get(name)!;
      return { at: reading.at, value: seconds > 0 && value >= 0 ? value / seconds : undefined };
    });
  }

  gauge(name: GaugeName): Point[] {
    return this.#readings.map((reading) => ({ at: reading.at, value: reading.gauges.get(name) }));
  }

  // Of what was counted within the window before each reading, in milliseconds.
  percentile(name: HistogramName, q: number): Point[] {
    return this.#readings.slice(1).map((reading, i) => {
      const before = this.#readings[Math.max(0, i + 1 - kWindow)]!;
      const value = quantile(since(reading.histograms.get(name)!, before.histograms.get(name)), q);
      return { at: reading.at, value: value === undefined ? undefined : value * 1000 };
    });
  }

  // Since the server started.
  percentileOfAll(name: HistogramName, q: number): number | undefined {
    const value = quantile(buckets(this.latest, kHistograms[name]), q);
    return value === undefined ? undefined : value * 1000;
  }
}

export interface Tenant {
  name: string;
  prompt: number;
  cached: number;
  generated: number;
}

export function tenants(metrics: Metrics): Tenant[] {
  const found = new Map<string, Tenant>();
  for (const { labels, value } of metrics.get("ruvllm_user_tokens_total") ?? []) {
    const name = labels.user ?? "";
    const kind = labels.kind;
    const tenant = found.get(name) ?? { name, prompt: 0, cached: 0, generated: 0 };
    if (kind === "prompt" || kind === "cached" || kind === "generated") tenant[kind] += value;
    found.set(name, tenant);
  }
  return [...found.values()].sort((a, b) => b.prompt + b.generated - a.prompt - a.generated);
}

export interface RouteRow {
  route: string;
  status: string;
  count: number;
}

export function routes(metrics: Metrics): RouteRow[] {
  return (metrics.get("ruvllm_requests_total") ?? [])
    .map(({ labels, value }) => ({ route: labels.route || "none", status: labels.status ?? "", count: value }))
    .sort((a, b) => b.count - a.count);
}

// A log of three days, as a server's answers say it.
const kNowMs = Date.UTC(2026, 0, 1, 12);
const kHourMs = 3_600_000;

const kUsers = ["ann", "bob", "", "build-bot"];
const kDigest = (seed: number): string => Array.from({ length: 64 }, (_, i) => ((i * 7 + seed * 13 + ((i * i + seed) % 11)) % 16).toString(16)).join("");

function entry(number: number) {
  const age = 140 - number;
  const isFailed = number % 23 === 0;
  const isVector = number % 5 === 0;
  const finish = isFailed ? "error" : number % 9 === 0 ? "length" : "stop";
  return {
    kind: "answer",
    number,
    time_ms: kNowMs - age * 610_000 - (number % 7) * 13_000,
    id: `req-${kDigest(number).slice(0, 16)}`,
    tenant: kUsers[number % 4],
    model: isVector ? "example-embed" : "example-8b",
    engine: { version: "0.1.0", model_digest: kDigest(1), kv: "int8", n_ctx: 32768, isa: "avx512", portable: true },
    request: { output: isVector ? "hidden" : "tokens", params: { temperature: 0.7, top_p: 0.95, top_k: 40, max_tokens: 512, seed: "81264", stop: [] } },
    finish,
    ...(isFailed ? { error: { code: "out_of_memory", message: "12 pages are free, 18 are needed" } } : {}),
    tokens: { prompt: 300 + ((number * 37) % 900), cached: 256, answer: isVector ? 0 : 40 + ((number * 61) % 400) },
    times: { queue_ms: 0.4, prefill_ms: 180.2, decode_ms: 4210.5, total_ms: isVector ? 21.4 : 1200 + ((number * 977) % 6000) },
    digests: { prompt: kDigest(2), answer: kDigest(3), text: kDigest(4) },
  };
}

const times = (p50: number) => ({ p50, p90: p50 * 1.7, p99: p50 * 2.6, max: p50 * 3.4 });

function models(nChat: number, nVectors: number, p50: number) {
  const nFailed = Math.floor(nChat / 21);
  const nCut = Math.floor(nChat / 8);
  const chat = { answers: nChat, finishes: { error: nFailed, length: nCut, stop: nChat - nFailed - nCut } };
  return {
    "example-8b": { ...chat, prompt_tokens: nChat * 731, cached_tokens: nChat * 256, answer_tokens: nChat * 212, total_ms: times(p50) },
    "example-embed": { answers: nVectors, finishes: { stop: nVectors }, prompt_tokens: nVectors * 512, cached_tokens: 0, answer_tokens: 0, total_ms: times(21) },
  };
}

function figures(path: string) {
  const query = new URL(path, "http://server").searchParams;
  if (!query.has("until_ms")) {
    return {
      models: models(612, 140, 2350),
      errors: [{ code: "out_of_memory", message: "# pages are free, # are needed", n: 29, first: 23, last: 138 }],
      slow: [
        { number: 97, ms: 12_210, times_median: 5.2 },
        { number: 131, ms: 8460, times_median: 3.6 },
      ],
    };
  }
  const hour = Math.round((kNowMs - Number(query.get("until_ms"))) / kHourMs);
  const load = Math.max(0, Math.sin(((hour + 9) / 24) * 2 * Math.PI) + 0.6);
  return { models: load > 0 ? models(Math.round(load * 34), Math.round(load * 8), 1700 + load * 900 + (hour % 3) * 120) : {}, errors: [], slow: [] };
}

export const kAudit = {
  "/v1/audit": { object: "audit", public_key: kDigest(5), head: { digest: kDigest(6), batch: 402, entries: 2914, time_ms: kNowMs - 41_000 }, written: 752, waiting: 0, lost: 0, failure: null },
  "/v1/audit/entries": { object: "list", data: Array.from({ length: 12 }, (_, i) => entry(139 - i)), has_more: true },
  "/v1/audit/entries/136": { ...entry(136), text: "The valve opens towards the tank; turn it a quarter to the left and wait until the gauge shows two bars." },
  "/v1/audit/stats": figures,
};

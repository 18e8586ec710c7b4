// What a busy server says at /metrics, one reading after another: always the same ones.
const histogram = (name: string, bounds: number[], counts: number[]): string => {
  const rows = bounds.map((bound, i) => `${name}_bucket{le="${bound}"} ${counts[i]!.toFixed(0)}`);
  return `${rows.join("\n")}\n${name}_bucket{le="+Inf"} ${(counts[counts.length - 1]! * 1.01).toFixed(0)}\n`;
};

const kHistograms: [name: string, bounds: number[], spread: number][] = [
  ["ruvllm_time_to_first_token_seconds", [0.025, 0.05, 0.1, 0.25, 0.5, 1], 4],
  ["ruvllm_inter_token_seconds", [0.005, 0.01, 0.025, 0.05, 0.1], 3],
  ["ruvllm_request_seconds", [0.5, 1, 2.5, 5, 10], 4],
];

export class Numbers {
  #n = 0;
  #generated = 182_000;
  #prompt = 640_000;
  #cached = 402_000;
  readonly #counts = kHistograms.map(([, bounds]) => bounds.map(() => 0));

  next(): string {
    const n = ++this.#n;
    const wave = (of: number, phase: number) => of * (1 + 0.5 * Math.sin(n / 5 + phase) + 0.25 * Math.sin(n / 1.7 + phase));
    this.#generated += wave(420, 0);
    this.#prompt += wave(900, 1);
    this.#cached += wave(610, 1.3);
    const histograms = kHistograms.map(([name, bounds, spread], at) => {
      const counts = this.#counts[at]!;
      bounds.forEach((_, i) => (counts[i] = counts[i]! + wave(20, i / 3) * Math.min(1, (i + 1) / spread)));
      return histogram(name, bounds, counts);
    });
    const pages = Math.round(2600 + 900 * Math.sin(n / 9));
    return `ruvllm_generated_tokens_total ${this.#generated}
ruvllm_prompt_tokens_total ${this.#prompt}
ruvllm_cached_prompt_tokens_total ${this.#cached}
ruvllm_draft_tokens_total 50120
ruvllm_accepted_draft_tokens_total 38210
${histograms.join("")}ruvllm_requests_running ${Math.max(0, Math.round(wave(5, 0)))}
ruvllm_requests_waiting ${Math.max(0, Math.round(wave(2, 2) - 1))}
ruvllm_kv_pages{tier="cached"} ${pages}
ruvllm_kv_pages{tier="free"} ${6000 - pages}
ruvllm_kv_pages{tier="disk"} 1800
ruvllm_user_tokens_total{user="ann",kind="prompt"} 310200
ruvllm_user_tokens_total{user="ann",kind="cached"} 221000
ruvllm_user_tokens_total{user="ann",kind="generated"} 90400
ruvllm_user_tokens_total{user="build",kind="prompt"} 120400
ruvllm_user_tokens_total{user="build",kind="generated"} 30100
ruvllm_requests_total{route="/v1/chat/completions",status="200"} 5210
`;
  }
}

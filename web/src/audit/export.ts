// Entries as files.
import { entries } from "../core/audit.ts";
import type { Entry } from "../core/audit.ts";
import { finite, member } from "../core/read.ts";

export const kMostExported = 10_000;
const kPageEntries = 500;

// The newest of those that the query names. `said` gets how many have come so far.
export async function exportedEntries(query: string, said: (n: number) => void, signal: AbortSignal): Promise<{ found: Entry[]; hasMore: boolean }> {
  const found: Entry[] = [];
  for (;;) {
    const page = await entries(query, kPageEntries, found[found.length - 1]?.number, signal);
    found.push(...page.items);
    said(found.length);
    if (!page.hasMore || page.items.length === 0) return { found, hasMore: false };
    if (found.length >= kMostExported) return { found, hasMore: true };
  }
}

export const linesOf = (found: Entry[]): string => found.map((one) => `${JSON.stringify(one.body)}\n`).join("");

// The columns of `ruvllm audit export --csv`.
const kColumns = "number,time_ms,request_id,tenant,model,finish,total_ms,queue_ms,prefill_ms,decode_ms,prompt_tokens,cached_tokens,answer_tokens,error";

// A text that begins like a formula would be one in a spreadsheet, and clients choose some of these.
function field(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function tableOf(found: Entry[]): string {
  const rows = found.map((one) => {
    const ms = (name: string) => String(finite(member(one.body.times, name)) ?? "");
    return [
      one.number,
      one.timeMs,
      ...[one.id, one.tenant, one.model, one.finish].map(field),
      ...["total_ms", "queue_ms", "prefill_ms", "decode_ms"].map(ms),
      one.nPrompt,
      one.nCached,
      one.nAnswer,
      field(one.errorCode),
    ].join(",");
  });
  return `${[kColumns, ...rows].join("\n")}\n`;
}

// Markdown as tokens. Nothing here makes HTML: the view shows tokens as elements of its own choice,
// and markup in the text is text.
import { Marked } from "marked";
import type { Token, TokensList } from "marked";

// Longer paragraphs are shown as plain text: emphasis is looked for in more than linear time.
const kMostInline = 6_000;
const kMostFormula = 4_000;

export interface FormulaToken {
  type: "formula";
  raw: string;
  text: string;
  display: boolean;
}

interface Rule {
  pattern: RegExp;
  display: boolean;
}

const kInlineRules: Rule[] = [
  { pattern: new RegExp(`^\\$\\$([^$]{1,${kMostFormula}})\\$\\$`), display: true },
  // Not prices: no space inside the dollars, and no digit or letter after them.
  { pattern: /^\$(?![\s$])((?:\\[^\n]|[^\\$\n]){1,1000})(?<!\s)\$(?![0-9A-Za-z$])/, display: false },
  { pattern: new RegExp(`^\\\\\\(([\\s\\S]{1,${kMostFormula}}?)\\\\\\)`), display: false },
  { pattern: new RegExp(`^\\\\\\[([\\s\\S]{1,${kMostFormula}}?)\\\\\\]`), display: true },
];
const kBlockRules: Rule[] = [
  { pattern: new RegExp(`^ {0,3}\\$\\$([^$]{1,${kMostFormula}})\\$\\$[ \\t]*(?:\\n+|$)`), display: true },
  { pattern: new RegExp(`^ {0,3}\\\\\\[([\\s\\S]{1,${kMostFormula}}?)\\\\\\][ \\t]*(?:\\n+|$)`), display: true },
];

function formula(src: string, rules: Rule[]): FormulaToken | undefined {
  for (const { pattern, display } of rules) {
    const found = pattern.exec(src);
    if (found) return { type: "formula", raw: found[0], text: found[1]!.trim(), display };
  }
  return undefined;
}

const marked = new Marked({ gfm: true, breaks: false });
marked.use({
  extensions: [
    {
      name: "formula",
      level: "inline",
      start: (src) => {
        const at = src.search(/\$|\\[([]/);
        return at < 0 ? undefined : at;
      },
      tokenizer: (src) => formula(src, kInlineRules),
    },
    {
      name: "formulaBlock",
      level: "block",
      start: (src) => {
        const at = src.search(/(?:^|\n) {0,3}(?:\$\$|\\\[)/);
        return at < 0 ? undefined : at;
      },
      tokenizer: (src) => formula(src, kBlockRules),
    },
  ],
});

const plain = (text: string): Token[] => [{ type: "paragraph", raw: text, text, tokens: [{ type: "text", raw: text, text }] }];

interface OpenLexer {
  tokens: TokensList;
  inlineQueue: { src: string; tokens: Token[] }[];
  blockTokens: (src: string, tokens: TokensList) => Token[];
  inlineTokens: (src: string, tokens: Token[]) => Token[];
}

// Text that nests too deeply for the parser is shown as it is.
export function parseMarkdown(text: string): Token[] {
  try {
    const lexer = new marked.Lexer(marked.defaults) as unknown as OpenLexer;
    lexer.blockTokens(text.replace(/\r\n?/g, "\n"), lexer.tokens);
    for (const next of lexer.inlineQueue) {
      if (next.src.length > kMostInline) next.tokens.push({ type: "text", raw: next.src, text: next.src });
      else lexer.inlineTokens(next.src, next.tokens);
    }
    return lexer.tokens;
  } catch {
    return plain(text);
  }
}

// The tokens of a text that grows at its end. What is before the last two blocks does not change any
// more, so that only these are parsed again.
export class GrowingMarkdown {
  #settled: Token[] = [];
  #from = 0;
  #text = "";

  tokens(text: string): Token[] {
    if (!text.startsWith(this.#text.slice(0, this.#from))) {
      this.#settled = [];
      this.#from = 0;
    }
    this.#text = text;
    const tail = parseMarkdown(text.slice(this.#from));
    const all = [...this.#settled, ...tail];
    let n = tail.length - 2;
    while (n > 0 && tail[n]!.type === "space") --n;
    for (let i = 0; i < n; ++i) {
      // Tokens of another text than that of the answer (it had CR) cannot be counted off.
      const raw = tail[i]!.raw;
      if (!text.startsWith(raw, this.#from)) break;
      this.#settled.push(tail[i]!);
      this.#from += raw.length;
    }
    return all;
  }
}

// Addresses that a link may have. All others are shown as text.
export function safeAddress(href: string): string | undefined {
  // Browsers leave these characters out before they read the scheme.
  const address = href.replace(/[\u0000-\u0020\u007f-\u00a0]/g, "");
  return /^(?:https?:\/\/[^/]|mailto:)/i.test(address) ? address : undefined;
}

const kEntities: Record<string, string> = {
  amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", mdash: "—", ndash: "–", hellip: "…",
  copy: "©", reg: "®", trade: "™", times: "×", divide: "÷", larr: "←", rarr: "→", uarr: "↑", darr: "↓",
  deg: "°", plusmn: "±", middot: "·", bull: "•", euro: "€", pound: "£", sect: "§", infin: "∞", ne: "≠",
  le: "≤", ge: "≥", alpha: "α", beta: "β", gamma: "γ", delta: "δ", pi: "π", micro: "µ", laquo: "«", raquo: "»",
};

export function withEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z]{2,8}));/g, (whole, dec, hex, name) => {
    if (name) return Object.hasOwn(kEntities, name as string) ? kEntities[name as string]! : whole;
    const code = dec ? Number(dec) : parseInt(hex as string, 16);
    const good = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return good ? String.fromCodePoint(code) : "\ufffd";
  });
}

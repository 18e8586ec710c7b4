// Markdown as tokens. Nothing here makes HTML: the view shows tokens as elements of its own choice,
// and markup in the text is text.
import { Marked } from "marked";
import type { Token, TokensList } from "marked";
import { kMostText, Pieces, plainPieces } from "./pieces.ts";
import type { Piece } from "./pieces.ts";

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
  end: string;
  display: boolean;
}

const kInlineRules: Rule[] = [
  { pattern: new RegExp(`^\\$\\$([^$]{1,${kMostFormula}})\\$\\$`), end: "$$", display: true },
  // Not prices: no space inside the dollars, and no digit or letter after them.
  { pattern: /^\$(?![\s$])((?:\\[^\n]|[^\\$\n]){1,1000})(?<!\s)\$(?![0-9A-Za-z$])/, end: "$", display: false },
  { pattern: new RegExp(`^\\\\\\(([\\s\\S]{1,${kMostFormula}}?)\\\\\\)`), end: "\\)", display: false },
  { pattern: new RegExp(`^\\\\\\[([\\s\\S]{1,${kMostFormula}}?)\\\\\\]`), end: "\\]", display: true },
];
const kBlockRules: Rule[] = [
  { pattern: new RegExp(`^ {0,3}\\$\\$([^$]{1,${kMostFormula}})\\$\\$[ \\t]*(?:\\n+|$)`), end: "$$", display: true },
  { pattern: new RegExp(`^ {0,3}\\\\\\[([\\s\\S]{1,${kMostFormula}}?)\\\\\\][ \\t]*(?:\\n+|$)`), end: "\\]", display: true },
];

function formula(src: string, rules: Rule[]): FormulaToken | undefined {
  for (const { pattern, end, display } of rules) {
    // Searched for first: without its end the pattern would read on from each beginning.
    const found = src.slice(0, kMostFormula + 16).includes(end, 1) ? pattern.exec(src) : null;
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
      // Within a paragraph: what begins a text is tried anyway.
      start: (src) => {
        const at = src.search(/\n {0,3}(?:\$\$|\\\[)/);
        return at < 0 ? undefined : at + 1;
      },
      tokenizer: (src) => formula(src, kBlockRules),
    },
  ],
});

const asWritten = (text: string): Token[] => [{ type: "html", raw: text, text }];

interface OpenLexer {
  tokens: TokensList;
  inlineQueue: { src: string; tokens: Token[] }[];
  blockTokens: (src: string, tokens: TokensList) => Token[];
  inlineTokens: (src: string, tokens: Token[]) => Token[];
}

// Each of the characters that may begin something is tried over the rest of its paragraph at most, so
// that this bounds the work. Beyond it a paragraph is its plain text.
const kMostInlineWork = 2_000_000;

function isHeavy(src: string): boolean {
  if (src.length > kMostInline) return true;
  let nMarks = 0;
  for (let i = 0; i < src.length; ++i) if ("*_`[]<$\\~!&|".includes(src[i]!)) ++nMarks;
  return nMarks * src.length > kMostInlineWork;
}

type Links = TokensList["links"];

function parsePiece(text: string, links: Links): Token[] {
  try {
    const lexer = new marked.Lexer(marked.defaults) as unknown as OpenLexer;
    lexer.tokens.links = links;
    lexer.blockTokens(text, lexer.tokens);
    for (const next of lexer.inlineQueue) {
      if (isHeavy(next.src)) next.tokens.push({ type: "text", raw: next.src, text: next.src });
      else lexer.inlineTokens(next.src, next.tokens);
    }
    return [...lexer.tokens];
  } catch {
    return asWritten(text);
  }
}

function codeToken(raw: string): Token {
  const lines = raw.split("\n");
  const [, indent = "", fence = "", rest = ""] = /^( *)(`+|~+)(.*)$/.exec(lines.shift()!) ?? [];
  while (lines.length > 0 && lines[lines.length - 1]!.trim() === "") lines.pop();
  const last = lines[lines.length - 1]?.trim() ?? "";
  if (last.length >= fence.length && last === fence[0]!.repeat(last.length)) lines.pop();
  const inner = indent === "" ? lines : lines.map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line));
  return { type: "code", raw, lang: rest.trim(), text: inner.join("\n") };
}

// A piece of the text, parsed when it is asked for.
export class Part {
  readonly piece: Piece;
  readonly #links: Links;
  #tokens: Token[] | undefined;
  nLinks = 0; // that were known when it was parsed

  constructor(piece: Piece, links: Links) {
    this.piece = piece;
    this.#links = links;
    // Links may be used before they are defined.
    if (piece.kind === "markdown" && kDefinition.test(piece.text)) void this.tokens;
  }
  get tokens(): Token[] {
    return (this.#tokens ??= this.#parsed());
  }
  #parsed(): Token[] {
    this.nLinks = Object.keys(this.#links).length;
    const { kind, text } = this.piece;
    if (kind === "code") return [codeToken(text)];
    return kind === "plain" ? asWritten(text) : parsePiece(text, this.#links);
  }
  get isParsed(): boolean {
    return this.#tokens !== undefined;
  }
}
const kDefinition = /^ {0,3}\[[^\]\n]+\]:/m;

// The parts of a text that grows at its end: those that are closed stay the same objects.
export class GrowingMarkdown {
  #pieces = new Pieces();
  #closed: Part[] = [];
  #text = "";
  #isWhole = false;
  #links: Links = Object.create(null) as Links;

  // Whether the text is too long for Markdown.
  get isTooLong(): boolean {
    return this.#text.length > kMostText;
  }

  // `isWhole`: nothing follows, so that links are looked up again where more are known.
  parts(text: string, isWhole = false): Part[] {
    const given = text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
    if (!given.startsWith(this.#text) || (this.#isWhole && given !== this.#text)) this.#restart();
    this.#text = given;
    this.#isWhole = isWhole && !this.isTooLong;
    if (this.isTooLong) return plainPieces(given).map((piece) => new Part(piece, this.#links));
    const pieces = this.#pieces.of(given, isWhole);
    for (let i = this.#closed.length; i < this.#pieces.closed.length; ++i) this.#closed.push(new Part(pieces[i]!, this.#links));
    const parts = [...this.#closed];
    if (pieces.length > parts.length) parts.push(new Part(pieces[parts.length]!, this.#links));
    return isWhole ? this.#linked(parts) : parts;
  }

  #restart(): void {
    this.#pieces = new Pieces();
    this.#closed = [];
    this.#links = Object.create(null) as Links;
  }

  #linked(parts: Part[]): Part[] {
    const nLinks = Object.keys(this.#links).length;
    return parts.map((part, i) => {
      const isStale = part.isParsed && part.nLinks < nLinks && part.piece.kind === "markdown" && part.piece.text.includes("[");
      if (!isStale) return part;
      const fresh = new Part(part.piece, this.#links);
      fresh.nLinks = nLinks;
      if (i < this.#closed.length) this.#closed[i] = fresh;
      return fresh;
    });
  }
}

export function parseMarkdown(text: string): Token[] {
  return new GrowingMarkdown().parts(text, true).flatMap((part) => part.tokens);
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

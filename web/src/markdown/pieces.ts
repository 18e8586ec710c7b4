// Where a text is cut: each piece is parsed by itself, so that the time is linear in the text, and so
// that of a text that grows only the last piece is parsed again. Cut is at lines where no list, quote,
// code, formula or markup goes over; long lists are cut between their items.
export interface Piece {
  text: string;
  // "plain": it asks for more than its length is worth, and is shown as it was written.
  kind: "markdown" | "code" | "plain";
}

// A longer text is shown as it was written, and the page says so.
export const kMostText = 300_000;
// A piece of a text that is shown as it was written.
const kPlainPiece = 4_000;
// Longer lists are cut, longer pieces of anything but code are plain.
const kLongList = 6_000;
const kMostPiece = 24_000;
// Lists and quotes in each other, and cells of a table (columns by rows).
const kDeepest = 20;
const kMostCells = 4_000;
const kMostFormula = 4_000;

const kFence = /^( {0,3})(`{3,}(?=[^`]*$)|~{3,})/;
const kMarker = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)/;
const kDelimiters = /^[ \t]*(?=[^-]*-)(?=[^|]*\|)[|:\- \t]+$/;
const kSpans: [RegExp, RegExp, number][] = [
  [/^ {0,3}<!--/, /-->/, Infinity],
  [/^ {0,3}<\?/, /\?>/, Infinity],
  [/^ {0,3}<!\[CDATA\[/, /\]\]>/, Infinity],
  [/^ {0,3}<(?:script|pre|style|textarea)(?:[\s>]|$)/i, /<\/(?:script|pre|style|textarea)>/i, Infinity],
  [/^ {0,3}\$\$/, /\$\$/, kMostFormula],
  [/^ {0,3}\\\[/, /\\\]/, kMostFormula],
];

// Lists and quotes that a line begins.
function depthOf(line: string): number {
  let depth = 0;
  let at = 0;
  let indent = 0;
  while (at < line.length) {
    const c = line[at]!;
    if (c === " " || c === "\t") {
      indent += c === "\t" ? 4 : 1;
      ++at;
      continue;
    }
    let end = at;
    if (c !== ">") {
      if (c === "-" || c === "*" || c === "+") ++end;
      else {
        while (end < at + 9 && line[end]! >= "0" && line[end]! <= "9") ++end;
        if (end === at || (line[end] !== "." && line[end] !== ")")) break;
        ++end;
      }
      if (end < line.length && line[end] !== " " && line[end] !== "\t") break;
    } else {
      ++end;
    }
    depth += 1 + (indent >> 1);
    indent = 0;
    at = end;
  }
  return depth;
}

export class Pieces {
  // What does not change any more, and how far it is.
  readonly closed: Piece[] = [];
  #from = 0;
  #text = "";
  #scanned = 0; // complete lines
  #fence: { mark: string; length: number } | null = null;
  #span: { end: RegExp; left: number } | null = null;
  #hasList = false;
  #wasBlank = false;
  #lines = 0;
  #columns = 0;
  #isCostly = false;

  // The pieces of a text that begins with the one before; the last is not closed. `isWhole`: nothing
  // follows, now or later.
  of(text: string, isWhole: boolean): Piece[] {
    if (!text.startsWith(this.#text)) throw new Error("another text");
    this.#text = text;
    for (;;) {
      const end = text.indexOf("\n", this.#scanned);
      if (end < 0) break;
      this.#line(text.slice(this.#scanned, end), this.#scanned, end + 1);
      this.#scanned = end + 1;
    }
    if (isWhole && this.#scanned < text.length) {
      this.#line(text.slice(this.#scanned), this.#scanned, text.length);
      this.#scanned = text.length;
    }
    const last = text.slice(this.#from);
    if (last === "") return this.closed;
    const isCostly = this.#isCostly || (!this.#fence && depthOf(text.slice(this.#scanned)) > kDeepest);
    return [...this.closed, this.#piece(last, isCostly)];
  }

  #piece(text: string, isCostly: boolean): Piece {
    if (kFence.test(text.slice(0, text.indexOf("\n") + 1 || undefined).trimEnd())) return { text, kind: "code" };
    const isPlain = isCostly || text.length > kMostPiece || this.#columns * this.#lines > kMostCells;
    return { text, kind: isPlain ? "plain" : "markdown" };
  }

  #cut(at: number): void {
    if (at > this.#from) this.closed.push(this.#piece(this.#text.slice(this.#from, at), this.#isCostly));
    this.#from = at;
    this.#hasList = this.#wasBlank = this.#isCostly = false;
    this.#lines = this.#columns = 0;
  }

  #line(line: string, begin: number, next: number): void {
    if (this.#fence) {
      const close = /^ {0,3}(`+|~+)[ \t]*$/.exec(line)?.[1];
      if (!close || close[0] !== this.#fence.mark || close.length < this.#fence.length) return;
      this.#fence = null;
      return this.#cut(next);
    }
    if (this.#span) {
      this.#span.left -= line.length + 1;
      const isEnded = this.#span.end.test(line);
      // A formula without end is looked for from each of its lines.
      if (this.#span.left < 0) this.#isCostly = true;
      if (isEnded || this.#span.left < 0) this.#span = null;
      return;
    }
    if (line.trim() === "") {
      this.#wasBlank = true;
      return;
    }
    const isMarker = kMarker.test(line);
    const isInner = /^(?: {2}| ?\t)/.test(line);
    const fence = kFence.exec(line);
    if (fence && !(isInner && this.#hasList)) {
      this.#cut(begin);
      this.#fence = { mark: fence[2]![0]!, length: fence[2]!.length };
      return;
    }
    const isLong = begin - this.#from > kLongList;
    if (isMarker && this.#hasList) {
      if (isLong && !isInner) this.#cut(begin);
    } else if (this.#wasBlank && !isInner) {
      this.#cut(begin);
    }
    this.#note(line, isMarker);
  }

  #note(line: string, isMarker: boolean): void {
    this.#wasBlank = false;
    this.#hasList ||= isMarker;
    ++this.#lines;
    if (depthOf(line) > kDeepest) this.#isCostly = true;
    if (kDelimiters.test(line)) this.#columns = Math.max(this.#columns, line.split("|").length);
    const found = kSpans.find(([begin]) => begin.test(line));
    if (!found) return;
    const opened = found[0].exec(line)![0].length;
    if (!found[1].test(line.slice(opened))) this.#span = { end: found[1], left: found[2] - line.length };
  }
}

// A text that is shown as it was written, cut at ends of lines, or at spaces where lines are long.
export function plainPieces(text: string): Piece[] {
  const pieces: Piece[] = [];
  for (let from = 0; from < text.length; ) {
    let end = Math.min(text.length, from + kPlainPiece);
    if (end < text.length) {
      const line = text.lastIndexOf("\n", end - 1) + 1;
      const word = text.lastIndexOf(" ", end - 1) + 1;
      if (line > from + kPlainPiece / 4) end = line;
      else if (word > from + kPlainPiece / 4) end = word;
      else if (/[\ud800-\udbff]/.test(text[end - 1]!)) --end;
    }
    pieces.push({ text: text.slice(from, end), kind: "plain" });
    from = end;
  }
  return pieces;
}

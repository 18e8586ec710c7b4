// The words of a query within a text, as the search by words compares them: runs of letters and digits,
// without case and accents.
export interface Piece {
  text: string;
  isMarked: boolean;
}

const kWord = /[\p{L}\p{N}\p{M}\p{Co}]+/gu;

const folded = (word: string): string => word.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

// The pieces together are the text. Linear in both.
export function marked(text: string, query: string): Piece[] {
  const wanted = new Set((query.match(kWord) ?? []).map(folded));
  const pieces: Piece[] = [];
  let end = 0; // of what is in pieces
  for (const found of text.matchAll(kWord)) {
    if (!wanted.has(folded(found[0]))) continue;
    if (found.index > end) pieces.push({ text: text.slice(end, found.index), isMarked: false });
    pieces.push({ text: found[0], isMarked: true });
    end = found.index + found[0].length;
  }
  if (end < text.length) pieces.push({ text: text.slice(end), isMarked: false });
  return pieces;
}

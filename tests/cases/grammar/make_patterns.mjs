// Random patterns and texts, and which texts ECMAScript's own engine finds them in:
//   node tests/cases/grammar/make_patterns.mjs > tests/cases/grammar/patterns.jsonl
// One line per pattern: {"pattern": …, "match": [texts], "no_match": [texts]}. Patterns are drawn from
// all constructs that are supported; texts are drawn from the characters that patterns speak of.
let state = 20261123n;
function random(n) {
  state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
  return Number((state >> 33n) % BigInt(n));
}
const pick = (list) => list[random(list.length)];
const LETTERS = ["a", "b", "B", "0", "7", "_", "-", " ", "\n", "é", "中", "😀", "\u2028", "."];
const SETS = ["\\d", "\\w", "\\s", "\\D", "\\W", "\\S", ".", "[ab]", "[^ab]", "[a-z0-9]", "[^\\d_]",
              "\\p{L}", "\\P{L}", "[\\p{Lu}\\-.]", "\\u00e9", "\\u{1F600}", "[é-中]", "\\x61", "[^]",
              "\\n", "\\.", "[\\s\\w]"];
const LOOPS = ["*", "+", "?", "{2}", "{1,}", "{0,2}", "*?", "{1,2}?"];
const PLACES = ["^", "$", "\\b", "\\B"];
const escaped = (c) => (c === "\n" ? "\\n" : c.replace(/[-.]/, "\\$&").replace("\\-", "-"));

function atom(depth, places) {
  const kind = random(12);
  if (kind < 5 || depth > 3) return escaped(pick(LETTERS));
  if (kind < 9) return pick(SETS);
  if (kind < 11) return pick(["(", "(?:", "(?<n" + random(1e6) + ">"]) + choice(depth + 1, places) + ")";
  return places ? pick(["(?=", "(?!"]) + choice(depth + 1, true) + ")" : pick(SETS);
}
function item(depth, places) {
  if (places && random(6) === 0) return pick(PLACES);
  if (random(3) !== 0) return atom(depth, places);
  const inner = atom(depth, places && random(3) === 0);
  if (inner.startsWith("(?=") || inner.startsWith("(?!")) return inner;
  return inner + pick(LOOPS);
}
function sequence(depth, places) {
  let made = "";
  for (let n = random(4); n >= 0; --n) made += item(depth, places);
  return made;
}
function choice(depth, places) {
  const parts = [];
  for (let n = random(5) === 0 ? 2 : 1; n > 0; --n) parts.push(sequence(depth, places));
  return parts.join("|");
}
function text() {
  let made = "";
  for (let n = random(7); n > 0; --n) made += pick(LETTERS);
  return made;
}

const isLow = (unit) => unit >= 0xdc00 && unit <= 0xdfff;
const isInsidePair = (text, at) => at > 0 && isLow(text.charCodeAt(at));

for (let made = 0; made < 600;) {
  const pattern = choice(0, true);
  const regex = new RegExp(pattern, "u");
  const answers = { pattern, match: [], no_match: [] };
  for (let i = 0; i < 60; ++i) {
    const sample = text();
    const found = regex.exec(sample);
    if (found && isInsidePair(sample, found.index)) continue;  // V8 looks there, the standard does not
    const list = found ? answers.match : answers.no_match;
    if (list.length < 8 && !list.includes(sample)) list.push(sample);
  }
  if (answers.match.length === 0 || answers.no_match.length === 0) continue;
  console.log(JSON.stringify(answers));
  ++made;
}

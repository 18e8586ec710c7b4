import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { Marked, Tokenizer } from "marked";
import type { Token, Tokens } from "marked";
import { test } from "vitest";
import { highlight, languageOf } from "../src/markdown/highlight.ts";
import { GrowingMarkdown, parseMarkdown, safeAddress, withEntities } from "../src/markdown/parse.ts";
import type { Part } from "../src/markdown/parse.ts";
import { kMostText } from "../src/markdown/pieces.ts";

const shape = (tokens: Token[]) => tokens.map((token) => [token.type, token.raw.trimEnd()]).filter(([type]) => type !== "space");
const tokensOf = (parts: Part[]) => shape(parts.flatMap((part) => part.tokens));

test("a text that grows has the tokens of the whole text", () => {
  const text =
    "# One\n\nA paragraph with *words*.\nAnd more.\n\n- a\n- b\n\n  c\n\n```js\nlet a;\n\nlet b;\n```\n\n> q\n> r\n\n$$x^2$$\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nEnd\n===\n\n1. x\n2. y\n\nlast";
  const growing = new GrowingMarkdown();
  for (let n = 1; n <= text.length; ++n) {
    assert.deepEqual(tokensOf(growing.parts(text.slice(0, n))), shape(parseMarkdown(text.slice(0, n))));
  }
  assert.deepEqual(tokensOf(growing.parts(text, true)), shape(parseMarkdown(text)));
});

// Members that depend on the space between blocks left out.
const withoutSpace = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.filter((v) => (v as Token | null)?.type !== "space").map(withoutSpace);
  if (typeof value === "string") return value.trimEnd();
  if (typeof value !== "object" || value === null) return value;
  const left = Object.entries(value).filter(([name]) => !["raw", "links", "codeBlockStyle", "escaped"].includes(name));
  return Object.fromEntries(left.map(([name, v]) => [name, withoutSpace(v)]));
};

test("pieces have together the tokens of the whole text", () => {
  const whole = new Marked({ gfm: true });
  const folder = new URL("../../docs/", import.meta.url);
  const names = readdirSync(folder).filter((name) => name.endsWith(".md"));
  const texts = names.map((name) => readFileSync(new URL(name, folder), "utf8").slice(0, kMostText));
  texts.push(
    "- a\n\n- b\n\n  text\n\n      code\n\nafter\n\n1. x\n\n   ```\n   y\n\n   z\n   ```\n2. w\n\n> q\n\n> r\n~~~\nopen\n\nstill",
    "<pre>\na\n\nb\n</pre>\n\n<!-- x\n\ny -->\n\n    code\n\n    more\n\npara\n```\nclosed\n```\nnext\n***\n\n[a]: https://a.b\n\nuses [a] and [c]\n\n[c]: https://c.d",
  );
  let nCompared = 0;
  for (const text of texts) {
    if (/\$|\\[([]/.test(text)) continue; // formulas are this page's own
    assert.deepEqual(withoutSpace(parseMarkdown(text)), withoutSpace([...whole.lexer(text)]));
    ++nCompared;
  }
  assert.ok(nCompared > 10);
});

test("only the last piece of a text that grows is another one", () => {
  const growing = new GrowingMarkdown();
  const text = "A paragraph of words.\n\n- one\n- two\n\n```js\nlet x;\n\n```\n".repeat(300);
  let nNew = 0;
  let longest = 0;
  let before: Part[] = [];
  for (let n = 0; n <= text.length; n += 20) {
    const parts = growing.parts(text.slice(0, n));
    const fresh = parts.filter((part, i) => part !== before[i]);
    nNew += fresh.length;
    longest = Math.max(longest, ...fresh.map((part) => part.piece.text.length));
    before = parts;
  }
  assert.ok(nNew <= 2 * (text.length / 20) + before.length, `${nNew} parsed`);
  assert.ok(longest < 100, `one of ${longest} characters`);
});

test("links are found before and after they are defined", () => {
  const types = (parts: Part[]) => parts.flatMap((part) => part.tokens.flatMap((t) => ((t as Tokens.Paragraph).tokens ?? []).map((c) => c.type)));
  const text = "see [it]\n\n[it]: https://a.b\n\nand [it]";
  assert.deepEqual(types(new GrowingMarkdown().parts(text, true)), ["text", "link", "text", "link"]);
  const growing = new GrowingMarkdown();
  for (let n = 1; n < text.length; ++n) types(growing.parts(text.slice(0, n)));
  assert.deepEqual(types(growing.parts(text, true)), ["text", "link", "text", "link"]);
});

test("a text that was replaced is parsed anew", () => {
  const growing = new GrowingMarkdown();
  growing.parts("a\n\nb\n\nc\n\nd");
  assert.equal(growing.parts("# other")[0]!.tokens[0]!.type, "heading");
});

// What each of the parser's rules was asked: the times, and for those within a paragraph also the
// characters that they may read.
function countWork(act: () => void): { block: number; inline: number } {
  const work = { block: 0, inline: 0 };
  const rules = Tokenizer.prototype as unknown as Record<string, (this: unknown, src: string, ...more: unknown[]) => unknown>;
  const block = ["space", "code", "fences", "heading", "hr", "blockquote", "list", "html", "def", "table", "lheading", "paragraph", "text"];
  const inline = ["escape", "tag", "link", "reflink", "emStrong", "codespan", "br", "del", "autolink", "url", "inlineText"];
  const before = new Map([...block, ...inline].map((name) => [name, rules[name]!]));
  for (const [name, rule] of before) {
    rules[name] = function (src, ...more) {
      if (block.includes(name)) ++work.block;
      else work.inline += src.length;
      return rule.call(this, src, ...more);
    };
  }
  try {
    act();
  } finally {
    for (const [name, rule] of before) rules[name] = rule;
  }
  return work;
}

const kHostile = [
  ">", "> ", "[", "*", "_", "`", "![", "- ", "<", "$", "\\(", "\\[ \n", "|", "**a", "[a](", "~", "&", "#", "1. ", "<!--", "\n\n> ", "| a |\n", "* *",
  "> a\n", "> - a\n", "- a\n", "- a\n\n", "a\n\n", "a\n", "```\n", "```\na\n\n", "~~~~", "$$a\n\n", "<pre>\n", "[a]: b\n", "[a]: b\n\n", "# a\n",
  "    a\n", "a\n===\n", "1) a\n   - b\n", "  - a\n    - b\n", "_a_ ", "a@b.c ", "http://a.b ", "<a ", "<b>", "a|b\n-|-\n", "|\n|-|\n",
];

test("the parser's work is linear in the text, whatever it is", { timeout: 120_000 }, () => {
  for (const part of kHostile) {
    const work = [50_000, 200_000].map((length) => {
      const text = part.repeat(length / part.length);
      return countWork(() => parseMarkdown(text));
    });
    for (const [i, length] of [50_000, 200_000].entries()) {
      const { block, inline } = work[i]!;
      assert.ok(block < 60 * length, `${JSON.stringify(part)}: ${block} rules for ${length} characters`);
      // Of a paragraph at most kMostInlineWork by its length.
      assert.ok(inline < 8000 * length, `${JSON.stringify(part)}: ${inline} characters for ${length}`);
    }
    const [small, large] = work as [{ block: number; inline: number }, { block: number; inline: number }];
    assert.ok(large.block < 5 * small.block + 20_000, `${JSON.stringify(part)}: ${small.block} and ${large.block} rules`);
    assert.ok(large.inline < 5 * small.inline + 20_000_000, `${JSON.stringify(part)}: ${small.inline} and ${large.inline} characters`);
  }
});

test("what costs more than it shows is as it was written", () => {
  const kinds = (text: string) => new GrowingMarkdown().parts(text, true).map((part) => part.piece.kind);
  assert.deepEqual(kinds(`${"> ".repeat(21)}x`), ["plain"]);
  assert.deepEqual(kinds(`${"> ".repeat(20)}x`), ["markdown"]);
  assert.deepEqual(kinds(`${"- ".repeat(5000)}x`), ["plain"]);
  assert.deepEqual(kinds("x".repeat(24_001)), ["plain"]);
  const table = (rows: number) => `${"|a".repeat(100)}|\n${"|-".repeat(100)}|\n${"|\n".repeat(rows)}`;
  assert.deepEqual(kinds(table(100)), ["plain"]);
  assert.deepEqual(kinds(table(20)), ["markdown"]);
  assert.deepEqual(kinds(`before\n\n${table(1000)}\nafter *it*`), ["markdown", "plain", "markdown"]);
  assert.deepEqual(kinds(`\`\`\`\n${"x\n\n".repeat(20_000)}`), ["code"]);
  const tooLong = new GrowingMarkdown();
  const parts = tooLong.parts("# x\n".repeat(kMostText / 4 + 1));
  assert.equal(tooLong.isTooLong, true);
  assert.ok(parts.every((part) => part.piece.kind === "plain" && part.piece.text.length <= 4_000));
  assert.equal(parts.map((part) => part.piece.text).join("").length, kMostText + 4);
});

test("long lists are cut between their items", () => {
  const text = Array.from({ length: 1000 }, (_, i) => `${i + 1}. An item\n      - and one in it\n`).join("");
  const lists = parseMarkdown(text).filter((token) => token.type === "list") as Tokens.List[];
  assert.ok(lists.length > 2);
  assert.equal(lists.reduce((n, list) => n + list.items.length, 0), 1000);
  let next = 1;
  for (const list of lists) {
    assert.equal(list.start, next);
    next += list.items.length;
  }
});

test("prices are no formulas", () => {
  const inline = (text: string) => (parseMarkdown(text)[0] as unknown as { tokens: { type: string }[] }).tokens.map((t) => t.type);
  assert.deepEqual(inline("costs $5 or $6"), ["text"]);
  assert.deepEqual(inline("$a$ b"), ["formula", "text"]);
  assert.deepEqual(inline("\\(a\\)"), ["formula"]);
  assert.deepEqual(inline("`$a$`"), ["codespan"]);
  assert.deepEqual(inline("$ a $"), ["text"]);
});

test("only addresses of pages and mail are links", () => {
  assert.equal(safeAddress("https://example.com/a?b#c"), "https://example.com/a?b#c");
  assert.equal(safeAddress("mailto:a@b.c"), "mailto:a@b.c");
  for (const bad of ["javascript:x", " javascript:x", "java\nscript:x", "data:text/html,x", "//example.com", "/v1/models", "#x", "vbscript:x", "https:", "\u0001javascript:x"]) {
    assert.equal(safeAddress(bad), undefined, bad);
  }
});

test("entities are characters, unknown ones are as written", () => {
  assert.equal(withEntities("&lt;b&gt; &amp;amp; &#65;&#x42; &nope; &constructor; &#xD800; &#0;"), "<b> &amp; AB &nope; &constructor; \ufffd \ufffd");
});

test("highlighted code has the text of the code", () => {
  const code = 'const a = "<b>&amp;</b>"; // <script>\nif (a < 1 && b > 2) { return `x${a}`; }\n';
  for (const word of ["js", "ts", "c++", "python", "html", "json", "sh", "yaml", "rust", "go"]) {
    const spans = highlight(code, languageOf(word)!);
    assert.equal(spans.map((span) => span.text).join(""), code, word);
  }
  assert.equal(languageOf("constructor"), undefined);
  assert.equal(languageOf("klingon"), undefined);
});

import assert from "node:assert/strict";
import { test } from "vitest";
import { highlight, languageOf } from "../src/markdown/highlight.ts";
import { GrowingMarkdown, parseMarkdown, safeAddress, withEntities } from "../src/markdown/parse.ts";

const shape = (text: string) => parseMarkdown(text).map((token) => [token.type, token.raw]);

test("a text that grows has the tokens of the whole text", () => {
  const text =
    "# One\n\nA paragraph with *words*.\nAnd more.\n\n- a\n- b\n\n  c\n\n```js\nlet a;\n\nlet b;\n```\n\n> q\n> r\n\n$$x^2$$\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nEnd\n===\n\n1. x\n2. y\n\nlast";
  const growing = new GrowingMarkdown();
  for (let n = 1; n <= text.length; ++n) {
    const tokens = growing.tokens(text.slice(0, n)).map((token) => [token.type, token.raw]);
    assert.deepEqual(tokens, shape(text.slice(0, n)));
  }
  assert.deepEqual(growing.tokens(text).map((t) => [t.type, t.raw]), shape(text));
});

test("a text that was replaced is parsed anew", () => {
  const growing = new GrowingMarkdown();
  growing.tokens("a\n\nb\n\nc\n\nd");
  assert.equal(growing.tokens("# other")[0]!.type, "heading");
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

test("texts that nest without end or repeat markers take bounded time", { timeout: 120_000 }, () => {
  const n = 5_000;
  for (const part of [">", "[", "*", "_", "`", "![", "- ", "<", "$", "\\(", "|", "**a", "[a](", "~", "&", "#", "1. ", "<!--", "\n\n> ", "| a |\n", "* *"]) {
    const began = Date.now();
    parseMarkdown(part.repeat(n));
    // Generous: what is meant are minutes.
    assert.ok(Date.now() - began < 20_000, `${JSON.stringify(part)} took ${Date.now() - began} ms`);
  }
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

// Compresses what Vite built to the files that the program embeds. fflate is the same code everywhere,
// where zlib's bytes depend on its build. The style becomes a part of the page: the browser paints without
// another request. Prints the sizes, and fails where the page is too large or has other files than CMake
// expects.
import { readFileSync, readdirSync, writeFileSync, mkdirSync } from "node:fs";
import { gzipSync } from "fflate";

const built = new URL("../../build/page/", import.meta.url);
const dist = new URL("../dist/", import.meta.url);
const kMostBytes = 250_000;
const kMostFirstBytes = 40_000; // of what is needed to paint and to write
const kScripts = ["page.js", "page-prose.js", "page-temml.js", "page-views.js"]; // as cmake/page.cmake has them
const kStyle = '<link rel="stylesheet" crossorigin href="/page.css">';

const read = (name) => readFileSync(new URL(name, built), "utf8");

function pageWithStyle() {
  const page = read("index.html");
  const style = read("page.css");
  if (page.split(kStyle).length !== 2 || style.includes("</")) throw new Error("the style has no place in the page");
  return page.replace(kStyle, () => `<style>${style.trim()}</style>`);
}

const others = readdirSync(built).filter((name) => !["index.html", "page.css", ...kScripts].includes(name));
if (others.length > 0) throw new Error(`not expected: ${others.join(", ")}`);

mkdirSync(dist, { recursive: true });
let total = 0;
let first = 0;
for (const [to, text] of [["page.html", pageWithStyle()], ...kScripts.map((name) => [name, read(name)])]) {
  const plain = Buffer.from(text);
  const packed = gzipSync(plain, { level: 9, mem: 12, mtime: 1 });
  packed.fill(0, 4, 8); // the time
  packed[9] = 255; // no system in particular
  writeFileSync(new URL(`${to}.gz`, dist), packed);
  total += packed.length;
  if (to === "page.html" || to === "page.js") first += packed.length;
  console.log(`${to.padEnd(13)} ${String(plain.length).padStart(8)} bytes, compressed ${packed.length}`);
}
console.log(`together      ${" ".repeat(8)}        compressed ${total}`);
if (total > kMostBytes) throw new Error(`the page has ${total} bytes, at most ${kMostBytes}`);
if (first > kMostFirstBytes) throw new Error(`what is needed first has ${first} bytes, at most ${kMostFirstBytes}`);

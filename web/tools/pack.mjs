// Compresses what Vite built to the files that the program embeds. fflate is the same code everywhere,
// where zlib's bytes depend on its build. Prints the sizes, and fails where the page is too large.
import { readFileSync, writeFileSync, mkdirSync } from "node:fs";
import { gzipSync } from "fflate";

const built = new URL("../../build/page/", import.meta.url);
const dist = new URL("../dist/", import.meta.url);
const kMostBytes = 250_000;

mkdirSync(dist, { recursive: true });
let total = 0;
for (const [from, to] of [["index.html", "page.html"], ["page.js", "page.js"], ["page.css", "page.css"]]) {
  const plain = readFileSync(new URL(from, built));
  const packed = gzipSync(plain, { level: 9, mem: 12, mtime: 1 });
  packed.fill(0, 4, 8); // the time
  packed[9] = 255; // no system in particular
  writeFileSync(new URL(`${to}.gz`, dist), packed);
  total += packed.length;
  console.log(`${to.padEnd(10)} ${String(plain.length).padStart(8)} bytes, compressed ${packed.length}`);
}
console.log(`together   ${" ".repeat(8)}        compressed ${total}`);
if (total > kMostBytes) throw new Error(`the page has ${total} bytes, at most ${kMostBytes}`);

import assert from "node:assert/strict";
import { test } from "vitest";
import { readMetadata } from "../src/memory/adding.tsx";
import { Intake } from "../src/memory/intake.ts";
import { marked } from "../src/memory/marks.ts";
import { bytes, duration, several } from "../src/ui/format.ts";

const marks = (text: string, query: string) => marked(text, query).filter((p) => p.isMarked).map((p) => p.text);

test("words of a query are marked without regard to case and accents", () => {
  assert.deepEqual(marks("Crème BRÛLÉE, creme; cremes", "creme brulee?"), ["Crème", "BRÛLÉE", "creme"]);
  assert.deepEqual(marks("e\u0301t\u00e9 ete", "été"), ["e\u0301t\u00e9", "ete"]);
  assert.deepEqual(marks("a_b 12 x", "b 12"), ["b", "12"]);
  assert.deepEqual(marks("日本 <b>", "b"), ["b"]);
  assert.deepEqual(marks("nothing", "  ?! "), []);
});

test("pieces together are the text", () => {
  for (const text of ["", "word", " word ", "a b\na", "<i>a</i>"]) {
    assert.equal(marked(text, "a word").map((p) => p.text).join(""), text);
  }
});

const entry = (name: string, read = async () => ({ name, text: name, metadata: {} })) => ({ name, nBytes: 1, read });

function settled(intake: Intake, n: number): Promise<void> {
  return new Promise((resolve) => {
    const stop = intake.nOver.watch(() => {
      if (intake.nOver.value < n) return;
      stop();
      setTimeout(resolve);
    });
  });
}

test("texts are added one after another, and a failure stops none but its own", async () => {
  let nNow = 0;
  const intake = new Intake(async ({ name }) => {
    assert.equal(++nNow, 1);
    await Promise.resolve();
    --nNow;
    if (name === "bad") throw new Error("refused");
    return { nChunks: 2, isUnchanged: name === "same" };
  });
  const done = settled(intake, 3);
  intake.put([entry("a"), entry("bad")]);
  intake.put([entry("same")]);
  await done;
  assert.deepEqual(
    intake.items.value.map((one) => [one.name, one.state, one.fault]),
    [["a", "kept", ""], ["bad", "failed", "refused"], ["same", "unchanged", ""]],
  );
  // What is over makes room for what is new.
  const again = settled(intake, 4);
  intake.put([entry("b")]);
  await again;
  assert.deepEqual(intake.items.value.map((one) => one.name), ["b"]);
  intake.clear();
  assert.deepEqual(intake.items.value, []);
});

test("what waits is not read after it was cancelled", async () => {
  let nRead = 0;
  const intake = new Intake((_, signal) => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("aborted")))));
  const done = settled(intake, 1);
  intake.put([
    entry("a"),
    entry("b", async () => {
      ++nRead;
      return { name: "b", text: "", metadata: {} };
    }),
  ]);
  await Promise.resolve();
  intake.cancel();
  await done;
  assert.deepEqual(intake.items.value.map((one) => one.state), ["cancelled", "cancelled"]);
  assert.equal(nRead, 0);
});

test("metadata is an object or nothing", () => {
  assert.deepEqual(readMetadata(" "), {});
  assert.deepEqual(readMetadata('{"a": [1]}'), { a: [1] });
  for (const wrong of ["[1]", "1", "null", "{"]) assert.equal(typeof readMetadata(wrong), "string", wrong);
});

test("sizes and times have few digits", () => {
  assert.deepEqual([0, 999, 1000, 9949, 12_345, 999_499, 999_500, 4_200_000_000].map(bytes), ["0 B", "999 B", "1.0 kB", "9.9 kB", "12 kB", "999 kB", "1.0 MB", "4.2 GB"]);
  assert.deepEqual([0.44, 9.96, 250, 1500, 90_000].map(duration), ["0.4 ms", "10.0 ms", "250 ms", "1.5 s", "1.5 min"]);
  assert.equal(several(1, "piece"), "1 piece");
  assert.equal(several(1200, "piece"), "1,200 pieces");
});

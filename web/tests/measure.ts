// What the page costs, in a headless Chromium: `npm run measure`. Figures, not assertions. Beside each
// is what the same browser needs for a page that only shows a line, or only reads the same stream.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { chromium, test } from "@playwright/test";
import type { Browser, Page } from "@playwright/test";
import { browser as browserPath } from "../playwright.config.ts";
import { madeConversation } from "./made.ts";
import { startProgram } from "./program.ts";
import { startScripted } from "./scripted.ts";

const kTrivial = "<!doctype html><html lang=en><title>x</title><p id=message>A line.</p></html>";
const kPaints = 9;

type Costs = Record<string, number>;
const middle = (values: number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!;

async function firstPaint(browser: Browser, url: string): Promise<number> {
  const page = await browser.newPage();
  await page.goto(url);
  await page.locator("#message").waitFor();
  const at = await page.evaluate(
    () =>
      new Promise<number>((resolve) =>
        new PerformanceObserver((list) => {
          const found = list.getEntriesByName("first-contentful-paint")[0];
          if (found) resolve(found.startTime);
        }).observe({ type: "paint", buffered: true }),
      ),
  );
  await page.close();
  return at;
}

async function costsOf(page: Page, act: () => Promise<void>): Promise<Costs> {
  const client = await page.context().newCDPSession(page);
  await client.send("Performance.enable");
  const read = async () => Object.fromEntries((await client.send("Performance.getMetrics")).metrics.map((m) => [m.name, m.value])) as Costs;
  const before = await read();
  await act();
  const after = await read();
  await client.detach();
  const costs = Object.fromEntries(Object.keys(after).map((name) => [name, after[name]! - before[name]!])) as Costs;
  return { ...costs, Nodes: after.Nodes! };
}

const told = (costs: Costs): string =>
  `${((100 * costs.TaskDuration!) / costs.Timestamp!).toFixed(1)} % of a core (script ${((100 * costs.ScriptDuration!) / costs.Timestamp!).toFixed(1)}, ` +
  `style ${((100 * costs.RecalcStyleDuration!) / costs.Timestamp!).toFixed(1)}, layout ${((100 * costs.LayoutDuration!) / costs.Timestamp!).toFixed(1)}), ` +
  `${(costs.RecalcStyleCount! / costs.Timestamp!).toFixed(0)} styles and ${(costs.LayoutCount! / costs.Timestamp!).toFixed(0)} layouts a second, ${costs.Nodes} nodes`;

async function longTasks(page: Page, act: () => Promise<void>): Promise<number[]> {
  await page.evaluate(() => {
    const seen: number[] = ((window as unknown as { long: number[] }).long = []);
    new PerformanceObserver((list) => seen.push(...list.getEntries().map((e) => Math.round(e.duration)))).observe({ type: "longtask" });
  });
  await act();
  return page.evaluate(() => (window as unknown as { long: number[] }).long);
}

async function wheel(page: Page): Promise<void> {
  for (let i = 0; i < 120; ++i) {
    await page.mouse.move(700, 400);
    await page.mouse.wheel(0, i < 90 ? -900 : 1500);
    await page.waitForTimeout(50);
  }
}

const kText = (i: number): string =>
  i % 2 === 0
    ? `Question ${i}?`
    : `Answer **${i}** with \`code\` and words.\n\n- one\n- two\n\n\`\`\`python\ndef f(x):\n    return x + ${i}\n\`\`\`\n\n${"More words follow here. ".repeat(12)}`;

test("measure", async () => {
  test.setTimeout(400_000);
  const program = await startProgram();
  const scripted = await startScripted(program.url);
  const trivial = createServer((request, response) => {
    if (request.url === "/long") return void response.writeHead(200, { "Content-Type": "text/html" }).end(`${kTrivial}${"<p>Text of a message, and more of it.</p>".repeat(2000)}`);
    response.writeHead(200, { "Content-Type": "text/html" }).end(kTrivial);
  });
  await new Promise<void>((resolve) => trivial.listen(0, "127.0.0.1", resolve));
  const floor = `http://127.0.0.1:${(trivial.address() as AddressInfo).port}`;
  const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });

  await firstPaint(browser, floor); // the browser's own beginnings
  const paints: number[] = [];
  const floors: number[] = [];
  for (let i = 0; i < kPaints; ++i) {
    floors.push(await firstPaint(browser, floor));
    paints.push(await firstPaint(browser, program.url));
  }
  console.log(`first contentful paint, ms: ${paints.map((t) => t.toFixed(0)).join(" ")}, middle ${middle(paints).toFixed(0)}`);
  console.log(`  a page of one line: ${floors.map((t) => t.toFixed(0)).join(" ")}, middle ${middle(floors).toFixed(0)}`);

  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(scripted.url);
  await page.locator("#import").setInputFiles({ name: "c.json", mimeType: "application/json", buffer: Buffer.from(madeConversation(2000, kText)) });
  await page.getByRole("link", { name: "Long" }).waitFor();
  const opening = await longTasks(page, async () => {
    await page.getByRole("link", { name: "Long" }).click();
    await page.locator("[aria-posinset='2000']").waitFor();
    await page.waitForTimeout(3000);
  });
  console.log(`tasks above 50 ms while 2,000 messages open: ${JSON.stringify(opening)}`);
  let costs: Costs = {};
  const scrolling = await longTasks(page, async () => {
    costs = await costsOf(page, () => wheel(page));
  });
  console.log(`tasks above 50 ms while they scroll: ${JSON.stringify(scrolling)}; ${told(costs)}`);
  const other = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await other.goto(`${floor}/long`);
  const floorScrolling = await longTasks(other, async () => {
    costs = await costsOf(other, () => wheel(other));
  });
  console.log(`  a page of 2,000 lines: ${JSON.stringify(floorScrolling)}; ${told(costs)}`);

  await page.getByRole("button", { name: "New conversation" }).click();
  await page.fill("#message", "flood 10");
  await page.keyboard.press("Enter");
  await page.waitForTimeout(1000);
  costs = await costsOf(page, () => page.waitForTimeout(8000));
  console.log(`200 tokens/s: ${told(costs)}`);
  await other.goto(scripted.url);
  await other.evaluate(() => document.body.replaceChildren(document.createElement("pre")));
  costs = await costsOf(other, () =>
    other.evaluate(async () => {
      const response = await fetch("/v1/chat/completions", { method: "POST", body: JSON.stringify({ messages: [{ role: "user", content: "flood 8" }] }) });
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) document.querySelector("pre")!.append(part.value.slice(0, 5));
    }),
  );
  console.log(`  a page that adds each event as text: ${told(costs)}`);

  await browser.close();
  trivial.closeAllConnections();
  trivial.close();
  await scripted.close();
  await program.stop();
});

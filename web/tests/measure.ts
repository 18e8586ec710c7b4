// What the page costs, in a headless Chromium: `npm run measure`. Figures, not assertions.
import { chromium, test } from "@playwright/test";
import { browser as browserPath } from "../playwright.config.ts";
import { madeConversation } from "./made.ts";
import { startProgram } from "./program.ts";
import { startScripted } from "./scripted.ts";

test("measure", async () => {
  test.setTimeout(300_000);
  const program = await startProgram();
  const scripted = await startScripted(program.url);
  const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });

  const paints: number[] = [];
  for (let i = 0; i < 5; ++i) {
    const page = await browser.newPage();
    await page.goto(program.url);
    await page.locator("#message").waitFor();
    paints.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN));
    await page.close();
  }
  console.log(`first contentful paint, ms: ${paints.map((t) => t.toFixed(0)).join(" ")}`);

  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(scripted.url);
  const text = (i: number) => (i % 2 === 0 ? `Question ${i}?` : `Answer **${i}** with \`code\` and words.\n\n- one\n- two\n\n\`\`\`python\ndef f(x):\n    return x + ${i}\n\`\`\`\n\n${"More words follow here. ".repeat(12)}`);
  await page.locator("#import").setInputFiles({ name: "c.json", mimeType: "application/json", buffer: Buffer.from(madeConversation(2000, text)) });
  await page.getByRole("link", { name: "Long" }).click();
  await page.locator("article").nth(1999).waitFor();
  await page.waitForTimeout(2000);
  await page.evaluate(() => {
    (window as unknown as { long: number[] }).long = [];
    new PerformanceObserver((list) => (window as unknown as { long: number[] }).long.push(...list.getEntries().map((e) => Math.round(e.duration)))).observe({ type: "longtask" });
  });
  for (let i = 0; i < 120; ++i) {
    await page.mouse.move(700, 400);
    await page.mouse.wheel(0, i < 90 ? -900 : 1500);
    await page.waitForTimeout(50);
  }
  console.log(`tasks above 50 ms while 2,000 messages scroll: ${JSON.stringify(await page.evaluate(() => (window as unknown as { long: number[] }).long))}`);

  await page.getByRole("button", { name: "New conversation" }).click();
  const client = await page.context().newCDPSession(page);
  await client.send("Performance.enable");
  const busy = async () => {
    const { metrics } = await client.send("Performance.getMetrics");
    return Object.fromEntries(metrics.map((m) => [m.name, m.value])) as Record<string, number>;
  };
  await page.fill("#message", "flood 10");
  await page.keyboard.press("Enter");
  await page.waitForTimeout(1000);
  const before = await busy();
  await page.waitForTimeout(8000);
  const after = await busy();
  console.log(`200 tokens/s: ${(100 * (after.TaskDuration! - before.TaskDuration!) / (after.Timestamp! - before.Timestamp!)).toFixed(1)} % of a core in the page's main thread`);

  await browser.close();
  await scripted.close();
  await program.stop();
});

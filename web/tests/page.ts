// What the tests share. Every test fails, too, where the page breaks its policy, throws, writes an
// error to the console or asks another address.
import { join } from "node:path";
import AxeBuilder from "@axe-core/playwright";
import { test as base, expect } from "@playwright/test";
import type { Locator, Page } from "@playwright/test";
import { startProgram } from "./program.ts";
import type { Program } from "./program.ts";
import { startScripted } from "./scripted.ts";
import type { Scripted } from "./scripted.ts";
export { madeConversation } from "./made.ts";

interface Watched {
  faults: string[]; // of the page
  allowed: RegExp[]; // that the test expects
}

interface Fixtures {
  watched: Watched;
  scripted: Scripted;
  // Servers that keep documents and a log, for one test each.
  keeping: Program;
  hashing: Program;
}

const keeps = (folder: string, contents: string) => ["--memory", join(folder, "memory"), "--audit", join(folder, "audit"), "--audit-contents", contents];

export const test = base.extend<Fixtures, { program: Program }>({
  keeping: async ({}, use) => {
    const program = await startProgram((folder) => keeps(folder, "kept"));
    await use(program);
    await program.stop();
  },
  hashing: async ({}, use) => {
    const program = await startProgram((folder) => keeps(folder, "hashed"));
    await use(program);
    await program.stop();
  },
  program: [
    async ({}, use) => {
      const program = await startProgram();
      await use(program);
      await program.stop();
    },
    { scope: "worker" },
  ],
  scripted: async ({ program }, use) => {
    const scripted = await startScripted(program.url);
    await use(scripted);
    await scripted.close();
  },
  watched: [
    async ({ page }, use) => {
      const watched: Watched = { faults: [], allowed: [] };
      await page.addInitScript(() => {
        document.addEventListener("securitypolicyviolation", (event) =>
          console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`),
        );
      });
      page.on("pageerror", (error) => watched.faults.push(`thrown: ${error.message}`));
      page.on("console", (message) => message.type() === "error" && watched.faults.push(`console: ${message.text()}`));
      page.on("dialog", (dialog) => {
        watched.faults.push(`dialog: ${dialog.message()}`);
        void dialog.dismiss();
      });
      page.on("request", (request) => {
        const url = new URL(request.url());
        if (!/^(data|blob):$/.test(url.protocol) && url.hostname !== "127.0.0.1") watched.faults.push(`asked: ${request.url()}`);
      });
      await use(watched);
      const hacked = await page.evaluate(() => (window as unknown as { hacked?: unknown }).hacked).catch(() => undefined);
      expect(hacked, "a script of a text ran").toBeUndefined();
      // Chromium reports refused requests on the console by itself.
      const known = [/Failed to load resource/, /net::ERR_/, ...watched.allowed];
      expect(watched.faults.filter((fault) => !known.some((pattern) => pattern.test(fault)))).toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };

export const answers = (page: Page): Locator => page.getByRole("article", { name: "Answer" });
export const questions = (page: Page): Locator => page.getByRole("article", { name: "You" });

// Asks, and waits until the answer has ended.
export async function ask(page: Page, text: string): Promise<Locator> {
  const n = await answers(page).count();
  await page.getByLabel("Message", { exact: true }).fill(text);
  await page.keyboard.press("Enter");
  const answer = answers(page).nth(n);
  await expect(answer.getByRole("button", { name: "Regenerate" })).toBeAttached({ timeout: 30_000 });
  return answer;
}

// Asks, and waits until the answer has begun.
export async function begin(page: Page, text: string): Promise<void> {
  await page.getByLabel("Message", { exact: true }).fill(text);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("button", { name: "Stop" })).toBeVisible();
}

export async function openSettings(page: Page): Promise<Locator> {
  await page.getByRole("button", { name: "Settings of answers" }).click();
  return page.getByRole("complementary");
}

export async function importText(page: Page, json: string): Promise<void> {
  await page.locator("#import").setInputFiles({ name: "conversations.json", mimeType: "application/json", buffer: Buffer.from(json) });
}

export async function noFindings(page: Page): Promise<void> {
  const found = await new AxeBuilder({ page }).analyze();
  const serious = found.violations.filter((v) => v.impact === "serious" || v.impact === "critical");
  expect(serious.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(" ")).join(", ")}`)).toEqual([]);
}

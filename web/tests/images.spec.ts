// Views as images in docs/images, which the documents show: `npm run screenshots` takes those anew that
// have changed. What is shown is imported or scripted, with fonts of our own choice and a clock that
// stands still, so that little is left that could differ between two machines.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Page } from "@playwright/test";
import { browserOptions } from "../playwright.config.ts";
import { Numbers } from "./images/numbers.ts";
import { kAudit } from "./images/audit.ts";
import { kMemory } from "./images/memory.ts";
import { expect, importText, openSettings, test } from "./page.ts";

const here = (name: string) => fileURLToPath(new URL(`images/${name}`, import.meta.url));
const kNow = Date.UTC(2026, 0, 1, 12);
const kReadings = 60;
// At 100 pixels; other fonts, or another edition of these, have other widths.
const kWidths = { Inter: 1440, "DejaVu Sans Mono": 1565, "DejaVu Math TeX Gyre": 1550 };

test.use({
  timezoneId: "UTC",
  viewport: { width: 1180, height: 820 },
  launchOptions: {
    ...browserOptions,
    args: [...browserOptions.args, "--font-render-hinting=none", "--disable-lcd-text"],
    env: { ...(process.env as Record<string, string>), FONTCONFIG_FILE: here("fonts.conf") },
  },
});

const kThinking =
  "The user asks for the derivative and for code that checks it. The product rule applies; a central difference confirms the number.";
const kQuestion = "What is the derivative of x·sin x, and how would I check it in Python?";

function conversation(n: number, title: string, answer: object) {
  const question = { id: `q${n}`, parent: null, role: "user", text: title, state: "done", created: kNow };
  const said = { id: `a${n}`, parent: `q${n}`, role: "assistant", state: "done", model: "example-8b", created: kNow + 1, ...answer };
  const messages = { [question.id]: question, [said.id]: said };
  return { id: `c${n}`, title: "", created: kNow, updated: kNow - n * 1000, system: "", messages, chosen: { root: `q${n}`, [`q${n}`]: `a${n}` } };
}

const kStats = { prompt: 214, cached: 176, miss: "diverged", generated: 187, firstMs: 84, perSecond: 41.7, finish: "stop" };
const kConversations = JSON.stringify({
  format: "ruvllm-conversations",
  version: 1,
  conversations: [
    conversation(0, kQuestion, { text: readFileSync(here("answer.md"), "utf8"), thinking: kThinking, stats: kStats }),
    ...["Why the build is slow", "Names for a sailing boat", "A letter to the landlord"].map((title, i) => conversation(i + 1, title, { text: "" })),
  ],
});

// Fails, or skips by name, where the fonts are not those of the images.
async function checkFonts(page: Page): Promise<void> {
  const widths = await page.evaluate((names) => {
    const context = document.createElement("canvas").getContext("2d")!;
    return Object.fromEntries(
      names.map((name) => {
        context.font = `100px "${name}"`;
        return [name, Math.round(context.measureText("Hamburgefonstiv 0123456789").width)];
      }),
    );
  }, Object.keys(kWidths));
  if (process.env.CI) return expect(widths).toEqual(kWidths);
  const other = Object.entries(kWidths).filter(([name, width]) => widths[name] !== width);
  test.skip(other.length > 0, `images are compared with fonts-inter and fonts-dejavu-extra only: ${JSON.stringify(widths)}`);
}

test.beforeEach(async ({ page, scripted }) => {
  scripted.models = ["example-8b"];
  scripted.sessions = ["garden", "thesis"];
  await page.clock.setFixedTime(kNow);
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  await page.goto(scripted.url);
  await checkFonts(page);
  await expect(page.getByLabel("Model", { exact: true })).toHaveValue("example-8b");
});

async function openConversation(page: Page): Promise<void> {
  await importText(page, kConversations);
  await page.getByRole("status").getByRole("button", { name: "Hide" }).click();
  await page.locator(".list a").filter({ hasText: "derivative" }).dispatchEvent("click");
  await expect(page.locator("math")).toHaveCount(5);
  await page.locator(".thinking summary").click();
  await page.mouse.move(0, 0);
  await page.evaluate(() => (document.activeElement as HTMLElement).blur());
  await page.locator(".thread").evaluate((box) => (box.scrollTop = 40));
  await expect(page.getByRole("button", { name: "To the end" })).toBeVisible();
}

test("an empty page and the settings", async ({ page }) => {
  await openSettings(page);
  await expect(page.getByLabel("Temperature, as a number")).toBeVisible();
  await page.mouse.move(0, 0);
  await expect(page).toHaveScreenshot("page-settings.png");
});

for (const scheme of ["light", "dark"] as const) {
  test(`a conversation: ${scheme}`, async ({ page }) => {
    await page.emulateMedia({ colorScheme: scheme });
    await openConversation(page);
    await expect(page).toHaveScreenshot(scheme === "light" ? "page-chat.png" : "page-dark.png");
  });
}

test.describe("on a phone", () => {
  test.use({ viewport: { width: 390, height: 780 }, isMobile: true, hasTouch: true });

  test("a conversation", async ({ page }) => {
    await openConversation(page);
    await page.locator(".thread").evaluate((box) => (box.scrollTop = 0));
    await expect(page).toHaveScreenshot("page-phone.png");
  });
});

async function openMemory(page: Page): Promise<void> {
  await page.goto(new URL("#/memory", page.url()).href);
  await page.getByRole("searchbox", { name: "Search in memory" }).fill("greenhouse key");
  await page.keyboard.press("Enter");
  await expect(page.locator("mark")).toHaveCount(2);
  await page.mouse.move(0, 0);
  await page.evaluate(() => (document.activeElement as HTMLElement).blur());
}

test("memory", async ({ page, scripted }) => {
  scripted.answers = kMemory;
  await openMemory(page);
  await expect(page).toHaveScreenshot("page-memory.png");
});

async function openAudit(page: Page, place = ""): Promise<void> {
  await page.goto(new URL(`#/audit${place}`, page.url()).href);
  await expect(page.getByRole("region", { name: "Audit" }).getByRole("img")).toHaveCount(2);
  await expect(page.getByRole("link", { name: "Entry 139" })).toBeAttached();
  await page.mouse.move(0, 0);
}

test("the audit log", async ({ page, scripted }) => {
  scripted.answers = kAudit;
  await openAudit(page);
  await expect(page).toHaveScreenshot("page-audit.png");
});

test("an entry of the audit log", async ({ page, scripted }) => {
  scripted.answers = kAudit;
  await openAudit(page, "/136");
  await expect(page.getByRole("dialog")).toContainText("The valve");
  await expect(page).toHaveScreenshot("page-audit-entry.png");
});

test.describe("on a phone, in dark colours", () => {
  test.use({ viewport: { width: 390, height: 780 }, isMobile: true, hasTouch: true });

  test("memory", async ({ page, scripted }) => {
    scripted.answers = kMemory;
    await page.emulateMedia({ colorScheme: "dark" });
    await openMemory(page);
    await expect(page).toHaveScreenshot("page-memory-phone.png");
  });

  test("the audit log", async ({ page, scripted }) => {
    scripted.answers = kAudit;
    await page.emulateMedia({ colorScheme: "dark" });
    await openAudit(page);
    await page.getByRole("heading", { name: "Failures" }).scrollIntoViewIfNeeded();
    await expect(page).toHaveScreenshot("page-audit-phone.png");
  });
});

// The page's own reading every two seconds, in its place and at the times that the image is of.
interface Ticking {
  tick: () => void;
  hasRead: () => void;
}

test("metrics", async ({ page, scripted }) => {
  const numbers = new Numbers();
  scripted.metrics = () => numbers.next();
  await page.emulateMedia({ colorScheme: "dark" });
  await page.addInitScript(() => {
    const ticking = window as unknown as Ticking;
    const interval = window.setInterval;
    window.setInterval = ((act: () => void, ms: number) => (ms === 2000 ? ((ticking.tick = act), 0) : interval(act, ms))) as typeof window.setInterval;
    const text = Response.prototype.text;
    Response.prototype.text = async function () {
      const read = await text.call(this);
      if (this.url.endsWith("/metrics")) setTimeout(() => ticking.hasRead?.());
      return read;
    };
  });
  await page.reload();
  await page.getByRole("link", { name: "Metrics" }).click();
  await expect(page.getByRole("cell", { name: "ann" })).toBeVisible();
  for (let i = 1; i < kReadings; ++i) {
    await page.clock.setFixedTime(kNow + i * 2000);
    await page.evaluate(() => {
      const ticking = window as unknown as Ticking;
      return new Promise<void>((resolve) => {
        ticking.hasRead = resolve;
        ticking.tick();
      });
    });
  }
  await page.mouse.move(0, 0);
  await expect(page).toHaveScreenshot("page-metrics.png");
});

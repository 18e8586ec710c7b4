// The log of finished requests, with the real server.
import { readFileSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import type { Download, Locator, Page } from "@playwright/test";
import { expect, noFindings, test } from "./page.ts";
import { kBinary, startProgram } from "./program.ts";

const kHostile = '<img src=x onerror=window.hacked=1><script>window.hacked=1</script>';

async function chat(url: string, content: string, more: object = {}, headers: Record<string, string> = {}): Promise<string> {
  const body = JSON.stringify({ messages: [{ role: "user", content }], max_tokens: 5, seed: 7, ...more });
  const answer = await fetch(`${url}/v1/chat/completions`, { method: "POST", headers: { "Content-Type": "application/json", ...headers }, body });
  expect(answer.ok, await answer.clone().text()).toBe(true);
  return ((await answer.json()) as { choices: { message: { content: string } }[] }).choices[0]!.message.content;
}

interface State {
  public_key: string;
  head: { digest: string; entries: number } | null;
}
const stateOf = async (url: string): Promise<State> => (await (await fetch(`${url}/v1/audit`)).json()) as State;

async function untilWritten(url: string, n: number): Promise<void> {
  await expect.poll(async () => (await stateOf(url)).head?.entries ?? 0).toBeGreaterThanOrEqual(n);
}

const view = (page: Page): Locator => page.getByRole("region", { name: "Audit" });
const rows = (page: Page): Locator => page.getByRole("group", { name: "Entries" }).locator("tbody tr");

async function openAudit(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await page.getByRole("link", { name: "Audit" }).click();
  await expect(page.getByRole("heading", { name: "Entries" })).toBeVisible();
}

async function openEntry(page: Page, number: number): Promise<Locator> {
  await page.getByRole("link", { name: `Entry ${number}`, exact: true }).click();
  const dialog = page.getByRole("dialog", { name: `Entry ${number}` });
  await expect(dialog.getByRole("button", { name: "Proof" })).toBeVisible();
  return dialog;
}

async function saved(page: Page, button: Locator): Promise<{ name: string; text: string; path: string }> {
  const [file] = (await Promise.all([page.waitForEvent("download"), button.click()])) as [Download, void];
  const path = await file.path();
  return { name: file.suggestedFilename(), text: readFileSync(path, "utf8"), path };
}

test("without --audit the view says which option turns it on", async ({ page, program }) => {
  await page.goto(`${program.url}/#/audit`);
  await expect(view(page).getByRole("heading", { name: "This server keeps no audit log" })).toBeVisible();
  await expect(view(page)).toContainText("ruvllm serve --audit FOLDER");
  await expect(page).toHaveTitle("Audit · RuvLLM");
  await noFindings(page);
});

test("an empty log says so", async ({ page, keeping }) => {
  await openAudit(page, keeping.url);
  await expect(view(page)).toContainText("No entry is written yet.");
  await expect(view(page)).toContainText("No entry fits.");
  await expect(rows(page)).toHaveCount(0);
});

test("entries are listed, the newest first, counted and drawn", async ({ page, keeping }) => {
  await chat(keeping.url, "Hello");
  await chat(keeping.url, "Hello again", { user: "ann", max_tokens: 3 });
  await untilWritten(keeping.url, 2);
  await openAudit(page, keeping.url);
  await expect(rows(page)).toHaveCount(2);
  await expect(rows(page).first()).toContainText("ann");
  await expect(rows(page).last().getByRole("link")).toHaveText("1");
  await expect(view(page)).toContainText("2 entries in");
  const models = page.getByRole("group", { name: "Answers by model" });
  await expect(models.getByRole("row").last()).toContainText("nano");
  await expect(models.getByRole("row").last().getByRole("cell").nth(1)).toHaveText("2");
  await expect(view(page).getByRole("img", { name: /^Answers, in each 1 h, from/ })).toBeVisible();
  await expect(view(page).getByRole("img", { name: /^Times of nano/ }).locator("path.line").first()).toHaveAttribute("d", /^M[\d.]+ [\d.]+h0$/);

  // What comes later is there when the log is read again.
  await chat(keeping.url, "More");
  await untilWritten(keeping.url, 3);
  await page.getByRole("button", { name: "Read again" }).click();
  await expect(rows(page)).toHaveCount(3);
});

test("filters leave what they name", async ({ page, keeping }) => {
  await chat(keeping.url, "Hello", {}, { "X-Request-Id": "first" });
  await chat(keeping.url, "Hello", { user: "ann & co" });
  await untilWritten(keeping.url, 2);
  await openAudit(page, keeping.url);
  await expect(rows(page)).toHaveCount(2);
  const clear = page.getByRole("button", { name: "No filter" });
  const fill = async (label: string, value: string, n: number) => {
    await page.getByLabel(label, { exact: true }).fill(value);
    await page.keyboard.press("Enter");
    await expect(rows(page)).toHaveCount(n);
    await clear.click();
    await expect(rows(page)).toHaveCount(2);
  };
  await fill("User", "ann & co", 1);
  await fill("User", "nobody", 0);
  await fill("Request", "first", 1);
  await fill("Model", "nano", 2);
  await fill("Model", "other", 0);
  await fill("Slower than, ms", "3000000", 0);
  await page.getByRole("combobox", { name: "End", exact: true }).selectOption("error");
  await expect(rows(page)).toHaveCount(0);
  await expect(view(page)).toContainText("No entry fits.");
  await clear.click();
  await page.getByRole("combobox", { name: "Ended", exact: true }).selectOption("own");
  await expect(rows(page)).toHaveCount(2);
  await page.getByLabel("Until", { exact: true }).fill("2020-01-01T00:00");
  await page.keyboard.press("Tab");
  await expect(rows(page)).toHaveCount(0);
  await page.getByLabel("Until", { exact: true }).fill("");
  await page.getByLabel("From", { exact: true }).fill("2020-01-01T00:00");
  await page.keyboard.press("Tab");
  await expect(rows(page)).toHaveCount(2);
});

test("older entries are read page by page, and all are exported", async ({ page, keeping }) => {
  const { url } = keeping;
  for (let i = 0; i < 53; ++i) await chat(url, `Hi ${i}`, { max_tokens: 1, user: i === 0 ? "=1+1" : "" });
  await untilWritten(url, 53);
  await openAudit(page, url);
  await expect(rows(page)).toHaveCount(50);
  await page.getByRole("button", { name: "Older entries" }).click();
  await expect(rows(page)).toHaveCount(53);
  await expect(rows(page).last().getByRole("link")).toHaveText("1");
  await expect(page.getByRole("button", { name: "Older entries" })).toHaveCount(0);

  const lines = await saved(page, page.getByRole("button", { name: "Lines of JSON" }));
  expect(lines.name).toBe("ruvllm-audit.jsonl");
  const numbers = lines.text.trim().split("\n").map((line) => (JSON.parse(line) as { number: number }).number);
  expect(numbers).toEqual(Array.from({ length: 53 }, (_, i) => 53 - i));
  const table = (await saved(page, page.getByRole("button", { name: "Table (CSV)" }))).text.trim().split("\n");
  expect(table).toHaveLength(54);
  expect(table[0]).toContain("number,time_ms,request_id,tenant");
  // A spreadsheet shows it as a text.
  expect(table[53]).toContain(",'=1+1,nano,");
  await expect(view(page)).toContainText("53 exported.");
});

test("an entry is shown in full, and its proof is one", async ({ page, keeping }) => {
  const answer = await chat(keeping.url, "Hello", { temperature: 0.25 }, { "X-Request-Id": "first" });
  await untilWritten(keeping.url, 1);
  await openAudit(page, keeping.url);
  const dialog = await openEntry(page, 1);
  await expect(page).toHaveURL(/#\/audit\/1$/);
  await expect(dialog).toContainText("first");
  await expect(dialog.getByRole("group", { name: "Answer" })).toHaveText(answer, { useInnerText: false });
  await expect(dialog).toContainText("The log keeps the prompt and the answer");
  await dialog.getByText("Options", { exact: false }).click();
  const option = (name: string) => dialog.locator(".facts > div").filter({ has: page.getByText(name, { exact: true }) }).locator("dd");
  await expect(option("temperature")).toHaveText("0.25");
  await expect(option("seed")).toHaveText("7");
  await expect(dialog.getByText(/^[0-9a-f]{64}$/)).toHaveCount(4); // and the model's

  const proof = await saved(page, dialog.getByRole("button", { name: "Proof" }));
  const { public_key } = await stateOf(keeping.url);
  const checked = spawnSync(kBinary, ["audit", "check-proof", "--public-key", public_key, proof.path], { encoding: "utf8" });
  expect(checked.stdout, checked.stderr).toContain("entry 1 was in the log");
  const whole = await saved(page, dialog.getByRole("button", { name: "Entry" }));
  expect((JSON.parse(whole.text) as { text: string }).text).toBe(answer);

  await page.keyboard.press("Escape");
  await expect(page).toHaveURL(/#\/audit$/);
  await expect(page.getByRole("link", { name: "Entry 1" })).toBeFocused();
});

test("a log of digests says that it has no texts", async ({ page, hashing }) => {
  await chat(hashing.url, "Hello");
  await untilWritten(hashing.url, 1);
  await page.goto(`${hashing.url}/#/audit/1`);
  const dialog = page.getByRole("dialog", { name: "Entry 1" });
  await expect(dialog).toContainText("The log keeps digests of the prompt and the answer, not the texts.");
  await expect(dialog.getByRole("heading", { name: "Answer" })).toHaveCount(0);
  await page.goto(`${hashing.url}/#/audit/99`);
  await expect(page.getByRole("dialog", { name: "Entry 99" }).getByRole("alert")).toBeVisible();
});

test("sealed contents are said to be sealed", async ({ page }) => {
  const program = await startProgram((folder) => {
    const made = spawnSync(kBinary, ["audit", "keygen", `${folder}/reader.key`], { encoding: "utf8" });
    expect(made.status, made.stderr).toBe(0);
    return ["--audit", `${folder}/audit`, "--audit-contents", "kept", "--audit-seal", `${folder}/reader.key.pub`];
  });
  try {
    await chat(program.url, "Hello");
    await untilWritten(program.url, 1);
    await page.goto(`${program.url}/#/audit/1`);
    const dialog = page.getByRole("dialog", { name: "Entry 1" });
    await expect(dialog).toContainText("The prompt and the answer are sealed from the server.");
    await expect(dialog.getByText("sealed", { exact: true })).toBeVisible();
    await expect(dialog.getByRole("heading", { name: "Answer" })).toHaveCount(0);
  } finally {
    await program.stop();
  }
});

test("the present head is copied", async ({ page, keeping }) => {
  await chat(keeping.url, "Hello");
  await untilWritten(keeping.url, 1);
  await openAudit(page, keeping.url);
  await page.getByText("Head and public key").click();
  await page.getByRole("button", { name: "Copy head" }).click();
  const { head, public_key } = await stateOf(keeping.url);
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(head!.digest);
  await page.getByRole("button", { name: "Copy public key" }).click();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(public_key);
});

test("markup in users, requests and answers is shown as it was written", async ({ page, keeping, scripted }) => {
  await chat(keeping.url, "Hello", { user: kHostile });
  await untilWritten(keeping.url, 1);
  await openAudit(page, keeping.url);
  await expect(rows(page).first()).toContainText(kHostile);
  await expect(await openEntry(page, 1)).toContainText(kHostile);
  // What no server of today would send.
  const entry = { kind: "answer", number: 1, time_ms: 1, id: kHostile, tenant: kHostile, model: kHostile, finish: kHostile, text: kHostile, request: { params: { [kHostile]: kHostile } }, error: { code: kHostile, message: kHostile } };
  scripted.answers = {
    "/v1/audit": { public_key: kHostile, head: { digest: kHostile, batch: 1, entries: 1, time_ms: 1 }, written: 1, waiting: 0, lost: 2, failure: kHostile },
    "/v1/audit/entries": { data: [entry], has_more: false },
    "/v1/audit/entries/1": entry,
    "/v1/audit/stats": {
      models: { [kHostile]: { answers: 1, finishes: { [kHostile]: 1 }, total_ms: { p50: 1, p90: 1, p99: 1, max: 1 } } },
      errors: [{ code: kHostile, message: kHostile, n: 1, first: 1, last: 1 }],
      slow: [{ number: 1, ms: 9, times_median: 9 }],
    },
  };
  await openAudit(page, scripted.url);
  await expect(view(page)).toContainText("2 lost");
  await expect(page.getByRole("list", { name: "Failures" })).toContainText(kHostile);
  await expect(view(page).getByRole("img").first()).toBeVisible();
  const dialog = await openEntry(page, 1);
  await dialog.getByText("Options").click();
  await expect(dialog.getByRole("group", { name: "Answer" })).toHaveText(kHostile);
  await expect(view(page).locator("script, img, iframe, style, [onerror], [onload]")).toHaveCount(0);
});

test("answers of another form leave a view that works", async ({ page, scripted }) => {
  const wrong = [null, 1, "x", [], {}, { data: [null, 1, {}], models: [1], errors: {}, slow: 5, head: 3 }];
  for (const answer of wrong) {
    scripted.answers = Object.fromEntries(["", "/entries", "/entries/1", "/stats"].map((path) => [`/v1/audit${path}`, answer]));
    await page.goto(`${scripted.url}/#/audit`);
    await page.reload();
    await expect(page.getByRole("heading", { name: "Entries" })).toBeVisible();
  }
});

test("a key of another scope gets a reason, and another key the log", async ({ page }) => {
  const program = await startProgram((folder) => {
    writeFileSync(`${folder}/keys`, "narrow key-one scopes=infer,observe\nfull key-two\n");
    return ["--audit", `${folder}/audit`, "--api-key-file", `${folder}/keys`];
  });
  try {
    await page.goto(`${program.url}/#/audit`);
    const dialog = page.getByRole("dialog");
    await expect(dialog).toContainText("It was started with API keys.");
    await page.keyboard.press("Escape");
    await expect(view(page).getByRole("heading", { name: "The server asks for a key" })).toBeVisible();
    await page.getByRole("button", { name: "Enter a key" }).click();
    await dialog.getByLabel("Key", { exact: true }).fill("key-one");
    await dialog.getByRole("button", { name: "Use this key" }).click();
    await expect(view(page).getByRole("heading", { name: "This key is not for that" })).toBeVisible();
    await expect(view(page)).toContainText("manage");
    await page.getByRole("button", { name: "Use another key" }).click();
    await dialog.getByLabel("Key", { exact: true }).fill("key-two");
    await dialog.getByRole("button", { name: "Use this key" }).click();
    await expect(view(page)).toContainText("No entry is written yet.");
  } finally {
    await program.stop();
  }
});

test("figures that cannot be read say why", async ({ page, keeping }) => {
  await chat(keeping.url, "Hello");
  await untilWritten(keeping.url, 1);
  let isRefused = true;
  const refusal = { status: 429, contentType: "application/json", body: JSON.stringify({ error: { message: "too many requests" } }) };
  await page.route("**/v1/audit/stats*until_ms*", (route) => (isRefused ? route.fulfill(refusal) : route.continue()));
  await openAudit(page, keeping.url);
  await expect(view(page).getByRole("alert")).toContainText("too many requests");
  await expect(rows(page)).toHaveCount(1);
  isRefused = false;
  await view(page).getByRole("button", { name: "Try again" }).click();
  await expect(view(page).getByRole("img")).toHaveCount(2);
});

for (const scheme of ["light", "dark"] as const) {
  test(`axe finds nothing serious: ${scheme}`, async ({ page, keeping }) => {
    test.slow(); // axe reads the page twice
    await page.emulateMedia({ colorScheme: scheme });
    await chat(keeping.url, "Hello", { user: "ann" });
    await untilWritten(keeping.url, 1);
    await openAudit(page, keeping.url);
    await expect(view(page).getByRole("img")).toHaveCount(2);
    await page.getByText("Head and public key").click();
    await noFindings(page);
    const dialog = await openEntry(page, 1);
    await dialog.getByText("Options").click();
    await noFindings(page);
  });
}

test("all is reached by the keyboard", async ({ page, keeping }) => {
  await chat(keeping.url, "Hello");
  await untilWritten(keeping.url, 1);
  await page.goto(keeping.url);
  await page.locator(".thread").focus();
  await page.keyboard.press("Alt+a");
  await expect(rows(page)).toHaveCount(1);
  await page.getByRole("link", { name: "Entry 1" }).focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog", { name: "Entry 1" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await page.goBack();
  await expect(page.getByRole("dialog", { name: "Entry 1" })).toBeVisible();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Alt+a");
  await expect(page.getByLabel("Message", { exact: true })).toBeVisible();
});

test.describe("on a phone", () => {
  test.use({ viewport: { width: 360, height: 700 }, hasTouch: true, isMobile: true });

  test("nothing is wider than the screen", async ({ page, keeping }) => {
    await chat(keeping.url, "Hello", { user: "someone-with-a-very-long-name ".repeat(5) });
    await untilWritten(keeping.url, 1);
    await page.goto(`${keeping.url}/#/audit`);
    await expect(view(page).getByRole("img")).toHaveCount(2);
    await page.getByText("Head and public key").click();
    const isWider = () => view(page).evaluate((box) => box.scrollWidth - box.clientWidth);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
    expect(await isWider()).toBe(0);
    await noFindings(page);
    const dialog = await openEntry(page, 1);
    await dialog.getByText("Options").click();
    expect(await dialog.evaluate((box) => box.scrollWidth - box.clientWidth)).toBe(0);
    await noFindings(page);
  });
});

// What goes wrong: a stream that breaks, a server that is gone, a full disk, a lost key.
import { startProgram } from "./program.ts";
import { answers, ask, begin, expect, importText, madeConversation, test } from "./page.ts";

test.describe("answers", () => {
  test.beforeEach(async ({ page, scripted }) => {
    await page.goto(scripted.url);
  });

  for (const [script, text, message] of [
    ["refuse", "", "temperature: 101 is above 100"],
    ["busy", "", "too many requests wait (again in 7 s)"],
    ["notstream", "", "not a stream"],
    ["fail", "It began", "the engine stopped"],
    ["cut", "It began well", "the connection was lost"],
    ["nodone", "No end", "broke off"],
    ["nojson", "Then", "not JSON"],
  ]) {
    test(`that fail say why, and keep what came: ${script}`, async ({ page }) => {
      const answer = await ask(page, script!);
      await expect(answer.getByRole("alert")).toContainText(message!);
      await expect(answer.locator(".prose")).toHaveText(text!);
      await answer.getByRole("button", { name: "Try again" }).click();
      await expect(answers(page).first().locator(".branches")).toContainText("2 / 2");
    });
  }

  test("are read from pieces cut anywhere", async ({ page }) => {
    const answer = await ask(page, "split");
    await expect(answer.locator(".prose")).toHaveText("grün ✓");
  });

  test("of 1 MB are shown, and the page stays usable", async ({ page }) => {
    const answer = await ask(page, "huge");
    expect((await answer.locator(".prose").textContent())!.length).toBeGreaterThan(900_000);
    await expect(answer.locator(".prose > .note")).toContainText("Longer than 300,000 characters");
    await page.getByLabel("Message", { exact: true }).fill("still here");
    await expect(page.getByLabel("Message", { exact: true })).toHaveValue("still here");
  });

  test("of 1 MB in one line of markers are shown", async ({ page }) => {
    const answer = await ask(page, "hugeline");
    await expect(answer.locator(".prose")).toContainText("[*_`[*_`");
    await ask(page, "say next");
    await expect(answers(page).nth(1)).toContainText("next");
  });

  test("nested without end are shown", async ({ page }) => {
    const answer = await ask(page, `say ${">".repeat(5000)} deep ${"- ".repeat(500)}x ${"[".repeat(3000)}`);
    await expect(answer).toContainText("deep");
    const formula = await ask(page, `say $${"{".repeat(2000)}x${"}".repeat(2000)}$ and $\\def\\a{\\a\\a}\\a$ end`);
    await expect(formula).toContainText("end");
  });

  test("from a server that is gone say so, and the next try works", async ({ page, scripted }) => {
    await ask(page, "say one");
    scripted.isGone = true;
    const answer = await ask(page, "say two");
    await expect(answer.getByRole("alert")).toContainText("cannot be reached");
    scripted.isGone = false;
    await answer.getByRole("button", { name: "Try again" }).click();
    await expect(answers(page).nth(1)).toContainText("two");
  });
});

test("a page that opens without its server's API says so", async ({ page, scripted }) => {
  await page.route("**/v1/models", (route) => route.abort());
  await page.goto(scripted.url);
  await expect(page.getByRole("alert")).toContainText("cannot be reached");
});

test("a full disk is said, and the conversation continues", async ({ page, scripted }) => {
  await page.addInitScript(() => {
    const put = IDBObjectStore.prototype.put;
    IDBObjectStore.prototype.put = function (...args) {
      if ((window as unknown as { isFull?: boolean }).isFull) throw new DOMException("full", "QuotaExceededError");
      return put.apply(this, args);
    };
    (window as unknown as { isFull?: boolean }).isFull = true;
  });
  await page.goto(scripted.url);
  await ask(page, "say one");
  await expect(page.getByText("storage is full")).toBeVisible();
  await ask(page, "say two");
  await expect(answers(page)).toHaveCount(2);
  // It is in the list, and can be left and opened again.
  await page.getByRole("button", { name: "New conversation" }).click();
  await page.getByRole("link", { name: "say one" }).click();
  await expect(answers(page)).toHaveCount(2);
  await page.evaluate(() => ((window as unknown as { isFull?: boolean }).isFull = false));
  await ask(page, "say three");
  await expect(page.getByText("storage is full")).toHaveCount(0);
});

test("a browser without storage is said", async ({ page, scripted }) => {
  await page.addInitScript(() => Object.defineProperty(window, "indexedDB", { get: () => undefined }));
  await page.goto(scripted.url);
  await expect(page.getByText("keeps nothing for this page")).toBeVisible();
  await ask(page, "say one");
  await expect(answers(page).first()).toContainText("one");
});

test("damaged settings are replaced by the defaults", async ({ page, scripted }) => {
  await page.addInitScript(() => localStorage.setItem("ruvllm.settings", '{"theme": 7, "sampling": {"temperature": "hot"}, "tools": {}}'));
  await page.goto(scripted.url);
  await ask(page, "say one");
  expect(scripted.asked[0]).not.toHaveProperty("temperature");
});

test("a page that was closed while an answer was written opens again", async ({ page, scripted }) => {
  await page.goto(scripted.url);
  await ask(page, "say one");
  await begin(page, `slowly ${"word ".repeat(200)}`);
  await page.reload();
  await expect(answers(page).nth(1)).toContainText("Stopped.");
  await expect(page.getByRole("button", { name: "Send" })).toBeAttached();
});

test("an unknown address leads to a new conversation", async ({ page, scripted }) => {
  await page.goto(`${scripted.url}/#/c/unknown`);
  await expect(page.getByRole("alert")).toContainText("not in this browser");
});

test("a deleted conversation is gone", async ({ page, scripted }) => {
  await page.goto(scripted.url);
  await importText(page, madeConversation(4, (i) => `text ${i}`));
  await page.getByRole("link", { name: "Long" }).hover();
  await page.getByRole("button", { name: "Delete Long" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(page.getByRole("link", { name: "Long" })).toHaveCount(0);
  await page.reload();
  await expect(page.getByText("Conversations are kept in this browser.")).toBeVisible();
});

test("a server with a key is asked with the key that the user gives", async ({ page }) => {
  const program = await startProgram(() => ["--api-key", "right"]);
  try {
    await page.goto(program.url);
    const dialog = page.getByRole("dialog", { name: "This server asks for a key" });
    await dialog.getByLabel("Key", { exact: true }).fill("wrong");
    await dialog.getByRole("button", { name: "Use this key" }).click();
    await expect(dialog).toContainText("does not know the key");
    await dialog.getByLabel("Key", { exact: true }).fill("right");
    await dialog.getByRole("button", { name: "Use this key" }).click();
    await expect(page.getByLabel("Model", { exact: true })).toHaveValue("nano");
    await ask(page, "Hi");
    expect(await page.evaluate(() => [sessionStorage.getItem("ruvllm.key"), localStorage.getItem("ruvllm.key")])).toEqual(["right", null]);
    await page.reload();
    await expect(page.getByLabel("Model", { exact: true })).toHaveValue("nano");
    await page.evaluate(() => sessionStorage.clear());
    await page.reload();
    await dialog.getByLabel("Key", { exact: true }).fill("right");
    await dialog.getByLabel("Keep it").check();
    await dialog.getByRole("button", { name: "Use this key" }).click();
    await expect(page.getByLabel("Model", { exact: true })).toHaveValue("nano");
    expect(await page.evaluate(() => localStorage.getItem("ruvllm.key"))).toBe("right");
  } finally {
    await program.stop();
  }
});

test("--no-page leaves the page out", async ({ page }) => {
  const program = await startProgram(() => ["--no-page"]);
  try {
    await page.goto(program.url);
    await expect(page.locator("body")).toHaveText("RuvLLM is running");
    expect((await page.request.get(`${program.url}/page.js`)).status()).toBe(404);
  } finally {
    await program.stop();
  }
});

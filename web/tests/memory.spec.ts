// What the server keeps: documents, vector stores and files, with the real server.
import { writeFileSync } from "node:fs";
import type { Locator, Page } from "@playwright/test";
import { expect, noFindings, test } from "./page.ts";
import { startProgram } from "./program.ts";

const kCrew = "# Crew\n\nThe cook is called Quillfeather.\n\n# Cargo\n\nBarrels of salt and a càrved figure.\n";
// Written into pages, each of these would set window.hacked or ask another address.
const kHostile = '<img src=x onerror=window.hacked=1><script>window.hacked=1</script>';

async function post(url: string, path: string, body: object): Promise<{ id: string }> {
  const answer = await fetch(url + path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  expect(answer.ok, await answer.clone().text()).toBe(true);
  return (await answer.json()) as { id: string };
}
const keep = (url: string, name: string, text = kCrew, metadata: object = {}) => post(url, "/v1/memory/documents", { name, text, metadata });

async function sendFile(url: string, name: string, text: string): Promise<string> {
  const form = new FormData();
  form.set("purpose", "assistants");
  form.set("file", new Blob([text]), name);
  const answer = await fetch(`${url}/v1/files`, { method: "POST", body: form });
  return ((await answer.json()) as { id: string }).id;
}

const view = (page: Page): Locator => page.getByRole("region", { name: "Memory" });
const documents = (page: Page): Locator => page.getByRole("list", { name: "Documents" }).getByRole("listitem");

async function openMemory(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await page.getByRole("link", { name: "Memory" }).click();
  await expect(page.getByRole("heading", { name: "Documents" })).toBeVisible();
}

test("without --memory the view says which option turns it on", async ({ page, program }) => {
  await page.goto(`${program.url}/#/memory`);
  await expect(view(page).getByRole("heading", { name: "This server keeps no documents" })).toBeVisible();
  await expect(view(page)).toContainText("ruvllm serve --memory FOLDER");
  await expect(page).toHaveTitle("Memory · RuvLLM");
  await noFindings(page);
});

test("an empty store says so", async ({ page, keeping }) => {
  await openMemory(page, keeping.url);
  await expect(view(page)).toContainText("Nothing is kept yet.");
  await expect(view(page).getByRole("button", { name: "Search" })).toBeDisabled();
});

test("documents are listed, found with their words marked, and deleted after a question", async ({ page, keeping }) => {
  await keep(keeping.url, "ship/crew.md", kCrew, { year: 2020, of: { port: "Bergen" } });
  await keep(keeping.url, "zoo.txt", "Animals sleep at noon.");
  await openMemory(page, keeping.url);
  await expect(documents(page)).toHaveCount(2);
  await expect(documents(page).first()).toContainText("ship/crew.md");
  await expect(documents(page).first()).toContainText(`${kCrew.length + 1} B`);
  await expect(documents(page).first().getByLabel("Metadata")).toContainText('{"port":"Bergen"}');

  await page.getByRole("searchbox", { name: "Search in memory" }).fill("a CARVED quillfeather?");
  await page.keyboard.press("Enter");
  const found = page.getByRole("list", { name: "Found" }).getByRole("listitem");
  await expect(found.first()).toContainText("ship/crew.md");
  await expect(found.first()).toContainText(/score 0\.\d{4}/);
  await expect(found.locator("mark").getByText("càrved", { exact: true })).toHaveCount(1);
  await expect(found.locator("mark").getByText("Quillfeather", { exact: true })).toHaveCount(1);
  await page.getByLabel("How to search").selectOption("words");
  await page.getByRole("searchbox", { name: "Search in memory" }).fill("noon");
  await page.getByRole("button", { name: "Search" }).click();
  await expect(found).toHaveCount(1);
  await expect(found).toContainText("zoo.txt");
  await page.getByRole("searchbox", { name: "Search in memory" }).fill("nowhere");
  await page.getByRole("button", { name: "Search" }).click();
  await expect(view(page)).toContainText("Nothing found.");

  await page.getByRole("button", { name: "Delete ship/crew.md" }).click();
  await page.getByRole("button", { name: "Keep", exact: true }).click();
  await expect(documents(page)).toHaveCount(2);
  await page.getByRole("button", { name: "Delete ship/crew.md" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(documents(page)).toHaveCount(1);
  await expect(page.getByRole("heading", { name: "Documents" })).toBeFocused();
  const left = (await (await fetch(`${keeping.url}/v1/memory/documents`)).json()) as { data: { name: string }[] };
  expect(left.data.map((one) => one.name)).toEqual(["zoo.txt"]);
});

test("texts and files are added, and what is no text is refused by name", async ({ page, keeping }) => {
  await openMemory(page, keeping.url);
  await page.getByRole("button", { name: "Write a text" }).click();
  const dialog = page.getByRole("dialog", { name: "Add a text" });
  await dialog.getByLabel(/^Name/).fill("note.md");
  await dialog.getByLabel("Text", { exact: true }).fill("The key is under the stone.");
  await dialog.getByLabel(/^Metadata/).fill("[1]");
  await expect(dialog).toContainText("metadata is an object");
  await expect(dialog.getByRole("button", { name: "Add" })).toBeDisabled();
  await noFindings(page);
  await dialog.getByLabel(/^Metadata/).fill('{"year": 2026}');
  await dialog.getByRole("button", { name: "Add" }).click();
  await expect(documents(page)).toContainText("year");
  await expect(view(page)).toContainText("kept in 1 piece");

  const file = (name: string, buffer: Buffer) => ({ name, mimeType: "text/plain", buffer });
  await page.locator("#memory-files").setInputFiles([
    file("crew.md", Buffer.from(kCrew)),
    file("bytes.bin", Buffer.from([0xff, 0xfe, 0x00])),
    file("same.txt", Buffer.from("one")),
    file("page.html", Buffer.from("<h1>Stars</h1><script>hidden()</script><p>Polaris is north.</p>")),
  ]);
  await expect(documents(page)).toHaveCount(4);
  await expect(page.getByRole("list", { name: "Added texts" })).toContainText("bytes.bin is not a text in UTF-8");
  await expect(view(page).getByText("4 texts done", { exact: true })).toBeVisible();
  await page.locator("#memory-files").setInputFiles([file("same.txt", Buffer.from("one"))]);
  await expect(view(page)).toContainText("was there already, unchanged");
  await page.getByRole("button", { name: "Clear" }).click();
  await expect(page.getByRole("list", { name: "Added texts" })).toHaveCount(0);
  await page.getByRole("searchbox", { name: "Search in memory" }).fill("polaris");
  await page.keyboard.press("Enter");
  const found = page.getByRole("list", { name: "Found" }).getByRole("listitem").first();
  await expect(found).toContainText("Polaris is north.");
  await expect(found).not.toContainText("hidden()");
});

test("files that are dropped go to memory there, and to the message elsewhere", async ({ page, keeping }) => {
  await openMemory(page, keeping.url);
  const drop = async (name: string) => {
    const transfer = await page.evaluateHandle((of) => {
      const data = new DataTransfer();
      data.items.add(new File(["dropped text"], of));
      return data;
    }, name);
    await page.dispatchEvent("main", "dragenter", { dataTransfer: transfer });
    await expect(page.locator(".drop")).toBeVisible();
    const invitation = await page.locator(".drop").textContent();
    await page.dispatchEvent("main", "drop", { dataTransfer: transfer });
    return invitation;
  };
  expect(await drop("kept.txt")).toContain("keep them in memory");
  await expect(documents(page)).toContainText("kept.txt");
  await page.getByRole("button", { name: "Back to the conversation" }).click();
  expect(await drop("asked.txt")).toContain("attach");
  await expect(page.getByRole("list", { name: "Attached files" })).toContainText("asked.txt");
});

test("an answer that is awaited can be cancelled", async ({ page, keeping }) => {
  await openMemory(page, keeping.url);
  let go = () => {};
  const held = new Promise<void>((resolve) => (go = resolve));
  await page.route("**/v1/memory/documents", async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    await held;
    await route.abort();
  });
  await page.locator("#memory-files").setInputFiles(["a.txt", "b.txt"].map((name) => ({ name, mimeType: "text/plain", buffer: Buffer.from(name) })));
  await expect(view(page)).toContainText("0 of 2 done");
  await expect(page.getByRole("progressbar", { name: "Adding" })).toBeVisible();
  await page.getByRole("button", { name: "Cancel" }).click();
  await expect(page.getByRole("list", { name: "Added texts" }).getByText("cancelled")).toHaveCount(2);
  go();
});

test("vector stores and files are listed and deleted", async ({ page, keeping }) => {
  const id = await sendFile(keeping.url, "crew.md", kCrew);
  const { id: store } = await post(keeping.url, "/v1/vector_stores", { name: "ship" });
  await post(keeping.url, `/v1/vector_stores/${store}/files`, { file_id: id, attributes: { port: "Bergen" } });
  await openMemory(page, keeping.url);
  const stores = page.getByRole("list", { name: "Vector stores" }).locator("> li");
  const files = page.getByRole("list", { name: "Files", exact: true }).getByRole("listitem");
  await expect(stores).toContainText("1 file");
  await expect(files).toContainText("assistants");
  await page.getByText("What is in it").click();
  await expect(page.getByRole("list", { name: "Files of ship" })).toContainText("crew.md");
  await expect(page.getByRole("list", { name: "Files of ship" })).toContainText("Bergen");
  await page.getByRole("button", { name: "Delete crew.md" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(files).toHaveCount(0);
  await expect(stores).toContainText("0 files");
  await page.getByRole("button", { name: "Delete ship" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(stores).toHaveCount(0);
});

test("long lists are read page by page", async ({ page, keeping }) => {
  for (let i = 0; i < 101; ++i) await keep(keeping.url, `n${String(i).padStart(3, "0")}`, `text ${i}`);
  await openMemory(page, keeping.url);
  await expect(documents(page)).toHaveCount(100);
  await page.getByRole("button", { name: "Show more" }).click();
  await expect(documents(page)).toHaveCount(101);
  await expect(documents(page).last()).toContainText("n100");
  await expect(page.getByRole("button", { name: "Show more" })).toHaveCount(0);
});

test("markup in documents, names and metadata is shown as it was written", async ({ page, keeping }) => {
  await keep(keeping.url, kHostile, `${kHostile} salt`, { [kHostile]: kHostile });
  await sendFile(keeping.url, "<b>x</b>.md", "x");
  await post(keeping.url, "/v1/vector_stores", { name: kHostile, description: kHostile });
  await openMemory(page, keeping.url);
  await page.getByRole("searchbox", { name: "Search in memory" }).fill("salt script");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("list", { name: "Found" })).toContainText(`${kHostile} salt`);
  await expect(documents(page).first()).toContainText(kHostile);
  await expect(page.getByRole("list", { name: "Files", exact: true })).toContainText("<b>x</b>.md");
  await expect(view(page).locator("script, img, iframe, style, b, [onerror], [onload]")).toHaveCount(0);
  await page.getByRole("button", { name: `Delete ${kHostile}` }).first().click();
  await expect(page.getByRole("dialog")).toContainText(kHostile);
});

test("a key of another scope gets a reason, and another key its documents", async ({ page }) => {
  const program = await startProgram((folder) => {
    writeFileSync(`${folder}/keys`, "narrow key-one scopes=infer,observe\nfull key-two\n");
    return ["--memory", `${folder}/memory`, "--api-key-file", `${folder}/keys`];
  });
  try {
    await page.goto(`${program.url}/#/memory`);
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Key", { exact: true }).fill("key-one");
    await dialog.getByRole("button", { name: "Use this key" }).click();
    await expect(view(page).getByRole("heading", { name: "This key is not for that" })).toBeVisible();
    await expect(view(page)).toContainText("sessions");
    await noFindings(page);
    await page.getByRole("button", { name: "Use another key" }).click();
    await dialog.getByLabel("Key", { exact: true }).fill("key-two");
    await dialog.getByRole("button", { name: "Use this key" }).click();
    await expect(view(page)).toContainText("Nothing is kept yet.");
  } finally {
    await program.stop();
  }
});

for (const scheme of ["light", "dark"] as const) {
  test(`axe finds nothing serious: ${scheme}`, async ({ page, keeping }) => {
    await page.emulateMedia({ colorScheme: scheme });
    await keep(keeping.url, "crew.md", kCrew, { year: 2020 });
    const id = await sendFile(keeping.url, "crew.md", kCrew);
    await post(keeping.url, "/v1/vector_stores", { name: "ship", file_ids: [id] });
    await openMemory(page, keeping.url);
    await page.getByText("What is in it").click();
    await expect(page.getByRole("list", { name: "Files of ship" })).toContainText("crew.md");
    await page.locator("#memory-files").setInputFiles([{ name: "bad", mimeType: "text/plain", buffer: Buffer.from([0xff]) }]);
    await page.getByRole("searchbox", { name: "Search in memory" }).fill("cook");
    await page.keyboard.press("Enter");
    await expect(page.locator("mark")).toHaveCount(1);
    await noFindings(page);
    await page.getByRole("button", { name: "Delete crew.md" }).first().click();
    await noFindings(page);
  });
}

test("all is reached by the keyboard", async ({ page, keeping }) => {
  await keep(keeping.url, "crew.md");
  await page.goto(keeping.url);
  await page.locator(".thread").focus();
  await page.keyboard.press("Alt+o");
  await expect(documents(page)).toHaveCount(1);
  await page.getByRole("searchbox", { name: "Search in memory" }).focus();
  await page.keyboard.type("cook");
  await page.keyboard.press("Enter");
  await expect(page.locator("mark")).toHaveCount(1);
  const text = page.getByRole("group", { name: /^Text of crew.md/ }).first();
  for (let i = 0; i < 3; ++i) await page.keyboard.press("Tab");
  await expect(text).toBeFocused();
  await page.getByRole("button", { name: "Delete crew.md" }).focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("button", { name: "Delete crew.md" })).toBeFocused();
  await page.keyboard.press("Alt+o");
  await expect(page.getByLabel("Message", { exact: true })).toBeVisible();
});

test.describe("on a phone", () => {
  test.use({ viewport: { width: 360, height: 700 }, hasTouch: true, isMobile: true });

  test("nothing is wider than the screen, and buttons are large enough", async ({ page, keeping }) => {
    await keep(keeping.url, `${"long-name-".repeat(12)}.md`, `${"verylongword".repeat(40)} cook`, { ["key".repeat(20)]: "value ".repeat(60) });
    await page.goto(`${keeping.url}/#/memory`);
    await page.getByRole("searchbox", { name: "Search in memory" }).fill("cook");
    await page.keyboard.press("Enter");
    await expect(page.locator("mark")).toHaveCount(1);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
    expect(await view(page).evaluate((box) => box.scrollWidth - box.clientWidth)).toBe(0);
    expect((await page.getByRole("button", { name: /^Delete/ }).first().boundingBox())!.width).toBeGreaterThanOrEqual(36);
    await noFindings(page);
  });
});

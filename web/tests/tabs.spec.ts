// Two tabs with the same conversations.
import type { Page } from "@playwright/test";
import { answers, ask, begin, expect, questions, test } from "./page.ts";

// The texts of all messages in the browser's storage.
function keptTexts(page: Page): Promise<string[]> {
  return page.evaluate(
    () =>
      new Promise<string[]>((resolve) => {
        const request = indexedDB.open("ruvllm");
        request.onsuccess = () => {
          const all = request.result.transaction("conversations").objectStore("conversations").getAll();
          all.onsuccess = () => resolve((all.result as { messages: Record<string, { text: string }> }[]).flatMap((c) => Object.values(c.messages).map((m) => m.text)));
        };
      }),
  );
}

test("two tabs do not overwrite each other's messages", async ({ page, context, scripted }) => {
  await page.goto(scripted.url);
  await ask(page, "say first");
  const other = await context.newPage();
  await other.goto(page.url());
  await expect(answers(other).first()).toContainText("first");
  // The other may have heard of this one by then, or not.
  await begin(page, `slowly ${"word ".repeat(600)}`);
  await other.getByLabel("Message", { exact: true }).fill("say from the other tab");
  await other.keyboard.press("Enter");
  await expect(answers(other).filter({ hasText: "from the other tab" })).toHaveCount(1);
  // A slow machine may have no word yet.
  await expect(answers(page).filter({ hasText: "word" })).toHaveCount(1);
  await page.getByRole("button", { name: "Stop" }).click();
  await expect(answers(page).filter({ hasText: "Stopped." })).toHaveCount(1);
  // What has stopped is shown before the browser has written it.
  await expect.poll(async () => (await keptTexts(page)).filter((text) => text.startsWith("word"))).toHaveLength(1);
  await page.reload();
  await expect(questions(page).first()).toBeVisible();
  // Every message is there, shown or as an alternative.
  const kept = await keptTexts(page);
  expect(kept).toContain("say first");
  expect(kept).toContain("say from the other tab");
  expect(kept).toContain("from the other tab");
  expect(kept.filter((text) => text.startsWith("word"))).toHaveLength(1);
  expect(kept.filter((text) => text.startsWith("slowly"))).toHaveLength(1);
});

test("a tab shows what another one adds, renames and deletes", async ({ page, context, scripted }) => {
  await page.goto(scripted.url);
  await ask(page, "say one");
  const other = await context.newPage();
  await other.goto(page.url());
  await expect(answers(other)).toHaveCount(1);
  await ask(page, "say two");
  await expect(answers(other).nth(1)).toContainText("two");
  await other.getByRole("button", { name: "New conversation" }).click();
  await ask(other, "say elsewhere");
  await expect(page.getByRole("link", { name: "say elsewhere" })).toBeVisible();
  await other.getByRole("link", { name: "say elsewhere" }).hover();
  await other.getByRole("button", { name: "Delete say elsewhere" }).click();
  await other.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(page.getByRole("link", { name: "say elsewhere" })).toHaveCount(0);
});

// The chat, with the real server and its built-in model where that can say what is needed.
import { answers, ask, begin, expect, openSettings, questions, test } from "./page.ts";

test.describe("the real server", () => {
  test.beforeEach(async ({ page, program }) => {
    await page.goto(program.url);
  });

  test("answers, and says how fast and what was reused", async ({ page }) => {
    const answer = await ask(page, "Hello there");
    await expect(answer.locator(".prose")).not.toBeEmpty();
    await expect(answer.locator(".stats")).toContainText(/\d+ tokens/);
    await expect(answer.locator(".stats")).toContainText(/\d+ of \d+ reused from cache/);
  });

  test("names its model", async ({ page }) => {
    await expect(page.getByLabel("Model", { exact: true })).toHaveValue("nano");
  });

  test("keeps the conversation over a reload", async ({ page }) => {
    const answer = await ask(page, "Hi");
    const text = await answer.locator(".prose").innerText();
    await page.reload();
    await expect(answers(page).first().locator(".prose")).toHaveText(text);
    await expect(questions(page).first()).toContainText("Hi");
  });

  test("gives the same answer for a seed", async ({ page }) => {
    const panel = await openSettings(page);
    await panel.getByLabel("Seed").fill("7");
    await panel.getByLabel("Most tokens").fill("20");
    const first = await (await ask(page, "Tell me about boats")).locator(".prose").innerText();
    await page.getByRole("button", { name: "Regenerate" }).click();
    await expect(answers(page).first().locator(".branches")).toContainText("2 / 2");
    await expect(answers(page).first().locator(".prose")).toHaveText(first);
  });

  test("holds an answer to a schema", async ({ page }) => {
    const panel = await openSettings(page);
    const schema = { type: "object", properties: { n: { enum: [1, 2, 3] } }, required: ["n"], additionalProperties: false };
    await panel.getByLabel("Form of answers as JSON").fill(JSON.stringify(schema));
    const answer = await ask(page, "A number");
    const said: unknown = JSON.parse(await answer.locator(".prose").innerText());
    expect([1, 2, 3]).toContain((said as { n: unknown }).n);
  });

  test("takes tools and has them in the prompt", async ({ page }) => {
    const panel = await openSettings(page);
    await panel.getByRole("button", { name: "Insert an example" }).first().click();
    await panel.getByLabel("Most tokens").fill("12");
    const answer = await ask(page, "Hi");
    const counted = /of (\d+) reused/.exec(await answer.locator(".stats").innerText());
    expect(Number(counted![1])).toBeGreaterThan(60);
  });

  test("says by name what it refuses", async ({ page }) => {
    const panel = await openSettings(page);
    await panel.getByLabel("Form of answers as JSON").fill('{"type": "nonsense"}');
    const answer = await ask(page, "Hi");
    await expect(answer.getByRole("alert")).toContainText("#/type: must be the name of a type");
  });

  test("continues a session of the server", async ({ page, program }) => {
    await page.getByRole("button", { name: "New session" }).click();
    await page.getByLabel("Name: letters").fill("boats");
    await page.getByRole("button", { name: "Begin" }).click();
    await ask(page, "Hello");
    const second = await ask(page, "Again");
    await expect(second.locator(".stats")).not.toContainText("0 of ");
    const kept = (await (await page.request.get(`${program.url}/v1/sessions/boats`)).json()) as { messages: unknown[] };
    expect(kept.messages).toHaveLength(4);
    // Edited, the server's has what is shown.
    await questions(page).nth(1).hover();
    await questions(page).nth(1).getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Edit message").fill("Other words");
    await page.getByRole("button", { name: "Send as a new branch" }).click();
    await expect(answers(page).nth(1).getByRole("button", { name: "Regenerate" })).toBeAttached();
    const after = (await (await page.request.get(`${program.url}/v1/sessions/boats`)).json()) as { messages: { content: string }[] };
    expect(after.messages.map((m) => m.content)).toContain("Other words");
    expect(after.messages).toHaveLength(4);
  });

  test("lists the server's sessions and opens them", async ({ page, program }) => {
    const name = `s-${Date.now()}`;
    await page.request.put(`${program.url}/v1/sessions/${name}`, {
      data: { messages: [{ role: "user", content: "What is kept?" }, { role: "assistant", content: "This <i>is</i>." }] },
    });
    await page.reload();
    await page.getByRole("button", { name, exact: true }).click();
    await expect(answers(page).first()).toContainText("This <i>is</i>.");
    await page.getByRole("region", { name: "Sessions of the server" }).getByText(name).hover();
    await page.getByRole("button", { name: `Delete session ${name}` }).click();
    await expect(page.getByRole("button", { name, exact: true })).toHaveCount(0);
    expect((await page.request.get(`${program.url}/v1/sessions/${name}`)).status()).toBe(404);
  });
});

test.describe("scripted answers", () => {
  test.beforeEach(async ({ page, scripted }) => {
    await page.goto(scripted.url);
    await expect(page.getByLabel("Model", { exact: true })).toHaveValue("scripted");
  });

  test("appear while they are written, and stop", async ({ page }) => {
    await begin(page, `slowly ${"word ".repeat(400)}`);
    await expect(answers(page).first().locator(".prose")).toContainText("word word");
    await page.getByRole("button", { name: "Stop" }).click();
    await expect(answers(page).first()).toContainText("Stopped.");
    await expect(answers(page).first().locator(".prose")).toContainText("word");
    await expect(page.getByRole("button", { name: "Send" })).toBeVisible();
  });

  test("are regenerated beside each other", async ({ page, scripted }) => {
    await ask(page, "say one");
    await page.getByRole("button", { name: "Regenerate" }).click();
    const branches = answers(page).first().locator(".branches");
    await expect(branches).toContainText("2 / 2");
    await page.getByRole("button", { name: "Earlier alternative" }).click();
    await expect(branches).toContainText("1 / 2");
    await page.getByRole("button", { name: "Later alternative" }).click();
    await expect(branches).toContainText("2 / 2");
    expect(scripted.asked).toHaveLength(2);
    expect(scripted.asked[1]!.messages).toEqual(scripted.asked[0]!.messages);
  });

  test("edited questions are branches with their own answers", async ({ page, scripted }) => {
    await ask(page, "say first");
    await ask(page, "say second");
    await questions(page).first().hover();
    await questions(page).first().getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Edit message").fill("say changed");
    await page.getByRole("button", { name: "Send as a new branch" }).click();
    await expect(answers(page)).toHaveCount(1);
    await expect(answers(page).first()).toContainText("changed");
    expect(scripted.asked[2]!.messages).toEqual([{ role: "user", content: "say changed" }]);
    await page.getByRole("button", { name: "Earlier alternative" }).click();
    await expect(answers(page)).toHaveCount(2);
    await expect(answers(page).nth(1)).toContainText("second");
  });

  test("an answer can be written anew by the user", async ({ page, scripted }) => {
    const answer = await ask(page, "say wrong");
    await answer.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Edit message").fill("right");
    await page.keyboard.press("Control+Enter");
    await ask(page, "say more");
    expect(scripted.asked[1]!.messages[1]).toEqual({ role: "assistant", content: "right" });
  });

  test("deleting a message deletes what follows", async ({ page }) => {
    await ask(page, "say first");
    await ask(page, "say second");
    await questions(page).nth(1).hover();
    await questions(page).nth(1).getByRole("button", { name: "Delete from here" }).click();
    await expect(questions(page)).toHaveCount(1);
    await expect(answers(page)).toHaveCount(1);
  });

  test("the system prompt goes first", async ({ page, scripted }) => {
    await page.getByText("System prompt").click();
    await page.getByLabel("System prompt", { exact: true }).fill("Be brief.");
    await ask(page, "say ok");
    expect(scripted.asked[0]!.messages[0]).toEqual({ role: "system", content: "Be brief." });
  });

  test("only settings that were touched are sent", async ({ page, scripted }) => {
    const panel = await openSettings(page);
    await ask(page, "say one");
    expect(Object.keys(scripted.asked[0]!).sort()).toEqual(["messages", "model", "stream", "stream_options"]);
    await panel.getByLabel("Temperature, as a number").fill("0.3");
    await panel.getByLabel("Temperature, as a number").blur();
    await panel.getByRole("button", { name: "Penalties" }).click();
    await panel.getByLabel("Presence penalty, as a number").fill("1.5");
    await panel.getByLabel("Presence penalty, as a number").blur();
    await panel.getByLabel("Seed").fill("11");
    await panel.getByLabel("Thinking").selectOption("low");
    await ask(page, "say two");
    expect(scripted.asked[1]).toMatchObject({ temperature: 0.3, presence_penalty: 1.5, seed: 11, reasoning_effort: "low" });
    await panel.getByRole("button", { name: "As the server has it", exact: true }).click();
    await ask(page, "say three");
    expect(scripted.asked[2]).not.toHaveProperty("temperature");
  });

  test("sliders move by the keyboard and show the server's values", async ({ page, scripted }) => {
    const panel = await openSettings(page);
    const slider = panel.getByRole("slider", { name: "Temperature" });
    await expect(slider).toHaveValue("0.8");
    await slider.press("ArrowRight");
    await ask(page, "say hi");
    expect(scripted.asked[0]!.temperature).toBeCloseTo(0.85);
    await page.reload();
    await openSettings(page);
    await expect(slider).toHaveValue("0.85");
  });

  test("another model is chosen", async ({ page, scripted }) => {
    await page.getByLabel("Model", { exact: true }).selectOption("other");
    const answer = await ask(page, "say hi");
    expect(scripted.asked[0]!.model).toBe("other");
    await expect(answer.locator(".stats")).toContainText("other");
  });

  test("thinking is folded", async ({ page }) => {
    const answer = await ask(page, "think Four.");
    const thinking = answer.locator("details.thinking");
    await expect(thinking).not.toHaveAttribute("open");
    await thinking.locator("summary").click();
    await expect(thinking).toContainText("Let me see: <b>two</b> and two.");
    await expect(answer.locator(".prose")).toHaveText("Four.");
  });

  test("calls of tools are shown and answered by hand", async ({ page, scripted }) => {
    const panel = await openSettings(page);
    await panel.getByRole("button", { name: "Insert an example" }).first().click();
    const answer = await ask(page, "call weather");
    await expect(answer.locator(".call")).toContainText('"place": "Oslo"');
    await answer.getByLabel("Result of weather").fill("rain");
    await answer.getByRole("button", { name: "Give results" }).click();
    await expect(answers(page).nth(1)).toContainText("The tool said: rain");
    expect(scripted.asked[0]!.tools).toHaveLength(1);
    const messages = scripted.asked[1]!.messages;
    expect(messages[1]).toMatchObject({ role: "assistant", content: null, tool_calls: [{ id: "call-a" }] });
    expect(messages[2]).toEqual({ role: "tool", content: "rain", tool_call_id: "call-a" });
  });

  test("tools that are not JSON are not sent", async ({ page, scripted }) => {
    const panel = await openSettings(page);
    await panel.getByLabel("Tools as JSON").fill("[{");
    await expect(panel.locator(".wrong")).toBeVisible();
    await page.getByLabel("Message", { exact: true }).fill("say hi");
    await page.keyboard.press("Enter");
    await expect(page.getByRole("alert")).toContainText("Tools:");
    expect(scripted.asked).toHaveLength(0);
  });

  test("files come before the question", async ({ page, scripted }) => {
    await page.locator("#attach").setInputFiles([
      { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("alpha ``` beta") },
      { name: "more.csv", mimeType: "text/csv", buffer: Buffer.from("a,b\n1,2\n") },
    ]);
    await page.getByRole("button", { name: "Remove more.csv" }).click();
    await ask(page, "say thanks");
    expect(scripted.asked[0]!.messages[0]!.content).toBe("File notes.txt:\n````\nalpha ``` beta\n````\n\nsay thanks");
    await expect(questions(page).first()).toContainText("notes.txt");
  });

  test("files are dropped in", async ({ page, scripted }) => {
    const data = await page.evaluateHandle(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(["dropped text"], "drop.md", { type: "text/markdown" }));
      return transfer;
    });
    await page.dispatchEvent("main", "dragenter", { dataTransfer: data });
    await expect(page.getByText("Drop files here")).toBeVisible();
    await page.dispatchEvent("main", "drop", { dataTransfer: data });
    await expect(page.getByLabel("Attached files")).toContainText("drop.md");
    await ask(page, "say read");
    expect(scripted.asked[0]!.messages[0]!.content).toContain("dropped text");
  });

  test("files that are no text are refused by name", async ({ page }) => {
    await page.locator("#attach").setInputFiles({ name: "photo.png", mimeType: "image/png", buffer: Buffer.from([0x89, 0x50, 0xff, 0, 1]) });
    await expect(page.getByRole("alert")).toContainText("photo.png is not a text");
    await page.locator("#attach").setInputFiles({ name: "big.txt", mimeType: "text/plain", buffer: Buffer.alloc(5 << 20, 97) });
    await expect(page.getByRole("alert")).toContainText("big.txt has 5.2 MB");
  });

  test("statistics say what was reused and why no more", async ({ page }) => {
    const answer = await ask(page, "say a b c d");
    await expect(answer.locator(".stats")).toContainText("24 of 40 reused from cache");
    await expect(answer.getByText("24 of 40 reused")).toHaveAttribute("title", "the cached text continues differently");
  });

  test("an answer that was cut off says so", async ({ page }) => {
    const answer = await ask(page, "warn");
    await expect(answer.locator(".stats")).toContainText("cut off at the limit");
    await expect(answer.locator(".stats")).toContainText("unfinished_call");
  });

  test("copying takes the text as it was written", async ({ page }) => {
    const answer = await ask(page, "say **bold** text");
    await answer.getByRole("button", { name: "Copy", exact: true }).click();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe("**bold** text");
  });

  test("Shift and Enter begin a line", async ({ page, scripted }) => {
    await page.getByLabel("Message", { exact: true }).fill("say");
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.type("x");
    await page.keyboard.press("Enter");
    await expect(answers(page)).toHaveCount(1);
    await expect.poll(() => scripted.asked[0]?.messages[0]!.content).toBe("say\nx");
  });

  test("an answer is written on while another conversation is open", async ({ page }) => {
    await begin(page, `slowly ${"word ".repeat(30)}`);
    await page.getByRole("button", { name: "New conversation" }).click();
    await expect(answers(page)).toHaveCount(0);
    await page.getByRole("link", { name: /^slowly/ }).click();
    await expect(answers(page).first()).toContainText("word");
    await expect(answers(page).first()).toContainText("Stopped.");
  });
});

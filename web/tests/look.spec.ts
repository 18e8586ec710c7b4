// What is shown and how it is reached: text, lists, colours, keyboard, small screens, axe.
import type { Page } from "@playwright/test";
import { answers, ask, begin, expect, importText, madeConversation, noFindings, openSettings, test } from "./page.ts";

const kText = `say # Heading

Some **bold**, *emphasised* and \`code\` text with a [link](https://example.com/).

1. one
2. two
   - nested

- [x] done
- [ ] to do

> quoted

| a | b |
|:--|--:|
| 1 | 2 |

\`\`\`python
def f(x):
    return x + 1  # comment
\`\`\`

Inline $a^2 + b^2 = c^2$ costs $5 or $6, and \\(x\\):

$$\\int_0^1 \\frac{x^2}{2} \\, dx$$

Last &amp; least.`;

test.beforeEach(async ({ page, scripted }) => {
  await page.goto(scripted.url);
});

test("Markdown, code and formulas are shown as such", async ({ page }) => {
  const answer = await ask(page, kText);
  await expect(answer.locator("h3.level-1")).toHaveText("Heading");
  await expect(answer.locator("strong")).toHaveText("bold");
  await expect(answer.locator("ol > li")).toHaveCount(2);
  await expect(answer.locator("li.task")).toHaveCount(2);
  await expect(answer.locator("blockquote")).toContainText("quoted");
  await expect(answer.locator("td.side-right")).toHaveText("2");
  await expect(answer.locator(".hl-keyword").first()).toHaveText("def");
  await expect(answer.locator("math")).toHaveCount(3);
  await expect(answer.locator(".formula mfrac")).toHaveCount(1);
  await expect(answer).toContainText("costs $5 or $6");
  await expect(answer).toContainText("Last & least.");
});

test("code is copied", async ({ page }) => {
  const answer = await ask(page, "say ```js\nlet a = 1 < 2;\n```");
  await answer.getByRole("button", { name: "Copy code" }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe("let a = 1 < 2;");
});

test("a formula that cannot be read is shown as written", async ({ page }) => {
  const answer = await ask(page, "say $\\frac{1$ end");
  await expect(answer.locator(".formula-source")).toHaveText("$\\frac{1$");
});

test("conversations are renamed, searched, exported and imported", async ({ page }) => {
  await ask(page, "say about whales");
  await page.getByRole("button", { name: "New conversation" }).click();
  await ask(page, "say about birds");
  const list = page.getByLabel("Saved conversations").getByRole("listitem");
  await expect(list).toHaveCount(2);
  await page.getByRole("link", { name: "say about birds" }).hover();
  await page.getByRole("button", { name: "Rename say about birds" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("Feathers");
  await page.getByRole("button", { name: "Rename", exact: true }).click();
  await expect(page.getByRole("link", { name: "Feathers" })).toBeVisible();
  await page.getByLabel("Search conversations").fill("WHALES about");
  await expect(list).toHaveCount(1);
  await page.getByLabel("Search conversations").fill("");
  await expect(list).toHaveCount(2);
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export" }).click();
  const chunks: Buffer[] = [];
  for await (const chunk of await (await download).createReadStream()) chunks.push(chunk as Buffer);
  await importText(page, Buffer.concat(chunks).toString());
  await expect(page.getByRole("status").filter({ hasText: "2 conversations imported" })).toBeVisible();
  await expect(list).toHaveCount(4);
});

test("back and forward move between conversations", async ({ page }) => {
  await ask(page, "say one");
  await page.getByRole("button", { name: "New conversation" }).click();
  await ask(page, "say two");
  await page.getByRole("link", { name: "say one" }).click();
  await expect(answers(page).first()).toContainText("one");
  await page.goBack();
  await expect(answers(page).first()).toContainText("two");
});

test("colours follow the system and the switch", async ({ page }) => {
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.emulateMedia({ colorScheme: "light" });
  const light = await paper();
  await page.emulateMedia({ colorScheme: "dark" });
  const dark = await paper();
  expect(dark).not.toBe(light);
  await page.getByRole("button", { name: "Colours: system" }).click();
  expect(await paper()).toBe(light);
  await page.getByRole("button", { name: "Colours: light" }).click();
  await page.emulateMedia({ colorScheme: "light" });
  expect(await paper()).toBe(dark);
});

test("everything is done by the keyboard alone", async ({ page, scripted }) => {
  await page.locator(".thread").focus();
  await page.keyboard.press("/");
  await page.keyboard.type("say hi");
  await page.keyboard.press("Enter");
  await expect(answers(page).first()).toContainText("hi");
  await page.keyboard.press("Alt+r");
  await expect(answers(page).first().locator(".branches")).toContainText("2 / 2");
  await page.keyboard.press("Alt+s");
  await expect(page.getByRole("complementary")).toBeVisible();
  await page.keyboard.press("Alt+s");
  await page.keyboard.press("Alt+k");
  await expect(page.getByLabel("Search conversations")).toBeFocused();
  await page.keyboard.press("Alt+m");
  await expect(page.getByRole("region", { name: "Metrics" })).toBeVisible();
  await page.keyboard.press("Alt+m");
  await expect(answers(page).first()).toBeVisible();
  await page.keyboard.press("Alt+n");
  await expect(answers(page)).toHaveCount(0);
  await begin(page, `slowly ${"word ".repeat(400)}`);
  await expect(answers(page).first().locator(".prose")).toContainText("word");
  await page.keyboard.press("Escape");
  await expect(answers(page).first()).toContainText("Stopped.");
  expect(scripted.asked).toHaveLength(3);
  // By Tab, from the message to the buttons of the answer.
  await answers(page).first().getByRole("button", { name: "Edit" }).focus();
  await page.keyboard.press("Enter");
  await expect(page.getByLabel("Edit message")).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(page.getByLabel("Edit message")).toHaveCount(0);
});

test("the list of keys is shown, and closes on Escape", async ({ page }) => {
  await page.locator(".thread").focus();
  await page.keyboard.press("?");
  const dialog = page.getByRole("dialog", { name: "Keyboard" });
  await expect(dialog).toContainText("new conversation");
  await noFindings(page);
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
});

for (const scheme of ["light", "dark"] as const) {
  test(`axe finds nothing serious: ${scheme}`, async ({ page, scripted }) => {
    test.slow(); // axe reads the page four times
    await page.emulateMedia({ colorScheme: scheme });
    await noFindings(page);
    await ask(page, "think Four.");
    await ask(page, kText);
    await ask(page, "refuse");
    await openSettings(page);
    await page.getByRole("button", { name: "Penalties" }).click();
    await noFindings(page);
    await ask(page, "call weather");
    await noFindings(page);
    scripted.metrics = 'ruvllm_user_tokens_total{user="ann",kind="prompt"} 5\nruvllm_requests_total{route="/props",status="200"} 1\n';
    await page.keyboard.press("Alt+m");
    await expect(page.getByRole("cell", { name: "ann" })).toBeVisible();
    await noFindings(page);
  });
}

test("a long conversation opens at its end, has all its texts, and only near ones whole", async ({ page }) => {
  await importText(page, madeConversation(2000, (i) => `message ${i} **bold** with some more words`));
  await page.getByRole("link", { name: "Long" }).click();
  await expect(page.getByRole("article")).toHaveCount(2000);
  await expect(page.getByRole("article").nth(1999)).toBeInViewport();
  await expect(page.getByRole("article").nth(0)).toContainText("message 0");
  // Far from what is visible there are texts alone, wherever that is.
  const nWhole = () => page.locator("article footer").count();
  await expect.poll(nWhole).toBeGreaterThan(3);
  expect(await nWhole()).toBeLessThan(100);
  for (const place of [0.2, 0.7, 0.4, 0]) {
    await page.locator(".thread").evaluate((box, part) => (box.scrollTop = part * box.scrollHeight), place);
    await expect.poll(() => page.locator("article:has(footer)").evaluateAll((all) => all.some((e) => e.getBoundingClientRect().top > 0 && e.getBoundingClientRect().top < innerHeight))).toBe(true);
  }
  await expect.poll(nWhole).toBeLessThan(100);
  await expect(answers(page).first().locator("strong")).toHaveText("bold");
  await expect(page.getByRole("article").first()).toHaveAttribute("aria-posinset", "1");
  await expect(page.getByRole("article").first()).toHaveAttribute("aria-setsize", "2000");
  await page.getByRole("button", { name: "To the end" }).click();
  await expect(page.getByRole("article").nth(1999)).toBeInViewport();
});

test("axe finds nothing serious in messages of which some are texts alone", async ({ page }) => {
  await importText(page, madeConversation(60, (i) => `message ${i} **bold** ${"words ".repeat(60)}`));
  await page.getByRole("link", { name: "Long" }).click();
  await expect(page.getByRole("article")).toHaveCount(60);
  await noFindings(page);
});

test("what is read stays where it is while texts around it become messages", async ({ page }) => {
  await importText(page, madeConversation(400, (i) => `message ${i}\n\n${"- one\n- two\n\n".repeat(i % 7)}\`\`\`js\nlet a;\n\`\`\``));
  await page.getByRole("link", { name: "Long" }).click();
  await expect(page.getByRole("article").nth(399)).toBeInViewport();
  await page.locator(".thread").hover();
  for (let i = 0; i < 12; ++i) {
    await page.mouse.wheel(0, -700);
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  }
  // The first that is visible, and where it is, until nothing moves any more.
  const top = () =>
    page.locator("article").evaluateAll((all) => {
      const seen = all.find((e) => e.getBoundingClientRect().top > 100)!;
      return `${seen.textContent!.slice(0, 20)} ${seen.getBoundingClientRect().top.toFixed(0)}`;
    });
  await expect.poll(async () => (await top()) === (await new Promise((resolve) => setTimeout(() => resolve(top()), 300)))).toBe(true);
  const before = await top();
  await page.locator("article").first().evaluate((first) => (first.closest<HTMLElement>(".chunk")!.style.containIntrinsicSize = "auto 5000px"));
  expect(await top()).toBe(before);
});

const toEnd = (page: Page) => page.locator(".thread").evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight);

test("the end stays in view where sizes change between a scroll and its event", async ({ page }) => {
  await importText(page, madeConversation(20, (i) => `message ${i} ${"words ".repeat(60)}`));
  await page.getByRole("link", { name: "Long" }).click();
  await expect(page.getByRole("article").nth(19)).toBeInViewport();
  await page.locator(".thread").evaluate(async (box) => {
    const heard = new Promise<void>((resolve) => {
      const grow = () => {
        box.querySelector<HTMLElement>(".chunk:last-child")!.style.paddingBottom = "700px";
        resolve();
      };
      window.addEventListener("scroll", grow, { capture: true, once: true });
    });
    box.scrollTop -= 2;
    await heard;
  });
  await expect.poll(() => toEnd(page)).toBeLessThan(5);
  await expect(page.getByRole("button", { name: "To the end" })).toHaveCount(0);
});

test("the end stays in view when the script of Markdown comes late", async ({ page, scripted }) => {
  let come = () => {};
  const coming = new Promise<void>((resolve) => (come = resolve));
  await page.route("**/page-prose.js", async (route) => {
    await coming;
    await route.continue();
  });
  await page.goto("about:blank");
  await page.goto(scripted.url);
  await importText(page, madeConversation(40, (i) => `message ${i}\n\n${"- one\n- two\n\n".repeat(i % 7)}\`\`\`js\nlet a;\n\`\`\``));
  await page.getByRole("link", { name: "Long" }).click();
  await expect(page.getByRole("article").nth(39)).toContainText("- one");
  come();
  await expect(page.getByRole("article").nth(39).locator("li")).toHaveCount(8);
  await expect.poll(() => toEnd(page)).toBeLessThan(5);
});

test("an editor stays open and keeps its text, wherever one scrolls", async ({ page }) => {
  await importText(page, madeConversation(400, (i) => `message ${i} ${"words ".repeat(80)}`));
  await page.getByRole("link", { name: "Long" }).click();
  await page.getByRole("article").nth(398).hover();
  await page.getByRole("article").nth(398).getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("Edit message").fill("half a thought");
  await page.locator(".thread").focus();
  await page.locator(".thread").evaluate((box) => (box.scrollTop = 0));
  await expect(answers(page).first().getByRole("button", { name: "Copy" })).toBeAttached();
  await page.getByRole("button", { name: "To the end" }).click();
  await expect(page.getByLabel("Edit message")).toHaveValue("half a thought");
});

test("who reads above is not taken to the end", async ({ page }) => {
  await importText(page, madeConversation(60, (i) => `message ${i}\n\n${"text ".repeat(60)}`));
  await page.getByRole("link", { name: "Long" }).click();
  await begin(page, `slowly ${"word ".repeat(2000)}`);
  const nTokens = async () => Number.parseInt((await page.locator(".stats").last().locator("span").last().textContent()) ?? "");
  await expect.poll(nTokens).toBeGreaterThan(2);
  await page.locator(".thread").hover();
  await page.mouse.wheel(0, -3000);
  await expect(page.getByRole("button", { name: "To the end" })).toBeVisible();
  expect(await toEnd(page)).toBeGreaterThan(500);
  const before = await nTokens();
  await expect.poll(nTokens).toBeGreaterThan(before + 10);
  expect(await toEnd(page)).toBeGreaterThan(500);
  // And one at the end goes with it.
  await page.getByRole("button", { name: "To the end" }).click();
  const then = await nTokens();
  await expect.poll(nTokens).toBeGreaterThan(then + 10);
  expect(await toEnd(page)).toBeLessThan(80);
  await page.getByRole("button", { name: "Stop" }).click();
});

test.describe("on a phone", () => {
  test.use({ viewport: { width: 375, height: 700 }, hasTouch: true, isMobile: true });

  test("nothing is wider than the screen", async ({ page }) => {
    await ask(page, kText);
    await ask(page, `say ${"verylongword".repeat(30)} \`${"x".repeat(200)}\``);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(375);
    await openSettings(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(375);
    await noFindings(page);
  });

  test("the list opens over the conversation and closes", async ({ page }) => {
    await ask(page, "say hi");
    await expect(page.getByRole("button", { name: "New conversation" })).not.toBeInViewport();
    await page.getByRole("button", { name: "Conversations" }).tap();
    await expect(page.getByRole("button", { name: "New conversation" })).toBeInViewport();
    await noFindings(page);
    await page.getByRole("button", { name: "New conversation" }).tap();
    await expect(page.getByRole("button", { name: "New conversation" })).not.toBeInViewport();
    await expect(answers(page)).toHaveCount(0);
  });

  test("controls are large enough for fingers", async ({ page }) => {
    const answer = await ask(page, "say hi");
    for (const button of await answer.getByRole("button").all()) {
      expect((await button.boundingBox())!.width).toBeGreaterThanOrEqual(36);
    }
  });
});

test("metrics are drawn from the server", async ({ page, program }) => {
  await page.goto(program.url);
  await ask(page, "Hi");
  await page.getByRole("link", { name: "Metrics" }).click();
  const view = page.getByRole("region", { name: "Metrics" });
  await expect(view.getByRole("img")).toHaveCount(6);
  await expect(view.getByText("Generated", { exact: true })).toBeVisible();
  await expect(view.locator("path.line").first()).toHaveAttribute("d", /^M/, { timeout: 20_000 });
  // A row for each status that other tests have had.
  await expect(view.getByRole("cell", { name: "/v1/chat/completions" }).first()).toBeVisible();
});

test("metrics that cannot be read say why", async ({ page, scripted }) => {
  await page.getByRole("link", { name: "Metrics" }).click();
  scripted.isGone = true;
  await expect(page.getByRole("alert").filter({ hasText: "cannot be reached" }).first()).toBeVisible();
  scripted.isGone = false;
  await expect(page.getByRole("alert").filter({ hasText: "cannot be reached" })).toHaveCount(0);
});

test.describe("before the script has come", () => {
  const kFrame = [".sidebar", ".mark", ".bar", ".composer .box"];
  const boxes = (page: Page) => Promise.all(kFrame.map(async (name) => [name, await page.locator(name).first().boundingBox()]));

  test("the frame is where it then stays", async ({ page, scripted }) => {
    await page.route("**/page.js", (route) => route.abort());
    await page.goto(scripted.url);
    await expect(page.locator(".shell")).toBeVisible();
    await expect(page.getByRole("button")).toHaveCount(0);
    const before = await boxes(page);
    await page.unroute("**/page.js");
    await page.reload();
    await expect(page.getByLabel("Message", { exact: true })).toBeVisible();
    await expect(page.locator(".shell")).toHaveCount(0);
    expect(await boxes(page)).toEqual(before);
  });
});

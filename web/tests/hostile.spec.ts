// Texts that are meant to harm: what a model, a file, a server or a name says is text and stays it.
import { answers, ask, expect, importText, madeConversation, questions, test } from "./page.ts";

// Written into pages, each of these would set window.hacked or ask another address.
const kPayloads: Record<string, string> = {
  script: "<script>window.hacked=1</script>",
  image: '<img src="x" onerror="window.hacked=1">',
  "image elsewhere": '<img src="https://example.com/pixel.png">',
  svg: '<svg onload="window.hacked=1"><animate onbegin="window.hacked=1"/></svg>',
  frame: '<iframe src="https://example.com/"></iframe>',
  style: "<style>@import url(https://example.com/a.css)</style>",
  "markdown image": "![pixel](https://example.com/pixel.png?q=secret)",
  "markdown image of a script": "![x](javascript:window.hacked=1)",
  "reference image": "![x][r]\n\n[r]: https://example.com/r.png",
  autolink: "<javascript:window.hacked=1>",
  "data link": "[x](data:text/html,<script>window.hacked=1</script>)",
  "split tag": "<im\ng src=x onerror=window.hacked=1>",
  "in a heading": "# <img src=x onerror=window.hacked=1>",
  "in a table": "| a |\n|---|\n| <img src=x onerror=window.hacked=1> |",
  "in code": "```html\n<img src=x onerror=window.hacked=1>\n```",
  "in the name of a language": '```"><img src=x onerror=window.hacked=1>\ncode\n```',
  "formula with a link": "$\\href{javascript:window.hacked=1}{x}$",
  "formula with a picture": "$\\includegraphics{https://example.com/x.png}$",
  "formula with a style": "$$\\style{background:url(https://example.com/x)}{x}$$",
  "formula with a class": "$\\class{primary danger}{x}$",
  entity: "&lt;img src=x onerror=window.hacked=1&gt;",
};

test.beforeEach(async ({ page, scripted }) => {
  await page.goto(scripted.url);
});

test("markup in answers is shown as it was written", async ({ page, watched }) => {
  void watched;
  const json = madeConversation(2 * Object.keys(kPayloads).length, (i) => (i % 2 === 0 ? "?" : Object.values(kPayloads)[(i - 1) / 2]!));
  await importText(page, json);
  await page.getByRole("link", { name: "Long" }).click();
  // A text that is near becomes a message in its place, and one that has just been found is gone then.
  for (let i = 0; i < Object.keys(kPayloads).length; ++i) await expect(() => answers(page).nth(i).scrollIntoViewIfNeeded({ timeout: 5000 })).toPass();
  const bad = page.locator(".thread").locator("script, img, iframe, style, svg:not(.icon), object, embed, [onerror], [onload], [src]");
  await expect(bad).toHaveCount(0);
  await expect(page.locator("a[href^=javascript], a[href^=data]")).toHaveCount(0);
  await expect(answers(page).first()).toContainText(kPayloads.script!);
});

test("the same while it is written", async ({ page }) => {
  const answer = await ask(page, `say ${kPayloads.image} and ${kPayloads.script} and ${kPayloads["markdown image"]}`);
  await expect(answer).toContainText(kPayloads.image!);
  await expect(answer).toContainText("image: pixel");
  await expect(answer.locator("img")).toHaveCount(0);
});

for (const [what, href] of Object.entries({
  javascript: "javascript:window.hacked=1",
  "javascript in capitals": "JaVaScRiPt:window.hacked=1",
  "javascript with a tab": "java&#9;script:window.hacked=1",
  "javascript with entities": "&#106;avascript:window.hacked=1",
  vbscript: "vbscript:window.hacked=1",
  data: "data:text/html;base64,PHNjcmlwdD4=",
  file: "file:///etc/passwd",
  blob: "blob:http://127.0.0.1/x",
})) {
  test(`a link to ${what} is no link`, async ({ page }) => {
    const answer = await ask(page, `say [press me](${href}) here`);
    await expect(answer).toContainText("press me");
    await expect(answer.locator("a")).toHaveCount(0);
  });
}

test("links leave by themselves, and tell nothing", async ({ page }) => {
  const answer = await ask(page, "say [a page](https://example.com/a) and https://example.com/b");
  const links = answer.locator("a");
  await expect(links).toHaveCount(2);
  await expect(links.first()).toHaveAttribute("rel", "noopener noreferrer nofollow");
  await expect(links.first()).toHaveAttribute("target", "_blank");
});

test("questions are text, too", async ({ page }) => {
  await ask(page, `say hi ${kPayloads.image}`);
  await expect(questions(page).first()).toContainText("<img");
  await expect(questions(page).locator("img")).toHaveCount(0);
});

test("names of models are text", async ({ page, scripted }) => {
  scripted.models = [kPayloads.image!, '"><script>window.hacked=1</script>'];
  await page.reload();
  await expect(page.getByLabel("Model", { exact: true })).toHaveValue(kPayloads.image!);
  const answer = await ask(page, "say hi");
  await expect(answer.locator(".stats")).toContainText("<img");
  await expect(page.locator("main img")).toHaveCount(0);
});

test("errors of the server are text", async ({ page }) => {
  const answer = await ask(page, `refuse ${kPayloads.image}`);
  await expect(answer.getByRole("alert")).toContainText(kPayloads.image!);
});

test("a proxy's page of HTML is shown as text", async ({ page }) => {
  const answer = await ask(page, "page");
  await expect(answer.getByRole("alert")).toContainText("Bad gateway");
  await expect(answer.locator("h1")).toHaveCount(0);
});

test("names and arguments of calls are text", async ({ page }) => {
  const answer = await ask(page, "call <img/src=x/onerror=window.hacked=1>");
  await expect(answer.locator(".call-name")).toContainText("<img/src");
  await answer.getByRole("textbox").fill('<img src=x onerror="window.hacked=1">');
  await answer.getByRole("button", { name: "Give results" }).click();
  await expect(page.getByRole("article", { name: "Result of a tool" })).toContainText("<img src=x");
  await expect(page.locator("main img")).toHaveCount(0);
});

test("names of files are text", async ({ page }) => {
  await page.locator("#attach").setInputFiles({ name: "<img src=x onerror=hacked=1>.txt", mimeType: "text/plain", buffer: Buffer.from("</pre><script>window.hacked=1</script>") });
  await ask(page, "say ok");
  await questions(page).first().locator("summary").click();
  await expect(questions(page).first().locator("pre")).toContainText("</pre><script>");
});

test("labels of metrics are text", async ({ page, scripted }) => {
  scripted.metrics = `ruvllm_user_tokens_total{user="<img src=x onerror=\\"window.hacked=1\\">",kind="prompt"} 5\nruvllm_requests_total{route="<script>",status="200"} 1\n`;
  await page.goto(`${scripted.url}/#/metrics`);
  await page.reload();
  await expect(page.getByRole("cell", { name: "<img src=x" })).toBeVisible();
  await expect(page.locator("main img")).toHaveCount(0);
});

for (const [what, text] of Object.entries({
  "no JSON": "{",
  "another program's": '{"a": 1}',
  "without messages": '{"format":"ruvllm-conversations","version":1,"conversations":[{}]}',
  "with a circle of parents": JSON.stringify({ format: "ruvllm-conversations", version: 1, conversations: [{ messages: { a: { id: "a", parent: "b", role: "user" }, b: { id: "b", parent: "a", role: "user" } } }] }),
  "with another role": JSON.stringify({ format: "ruvllm-conversations", version: 1, conversations: [{ messages: { a: { id: "a", parent: null, role: "admin" } } }] }),
  "with the name of a prototype": '{"format":"ruvllm-conversations","version":1,"conversations":[{"messages":{"__proto__":{"id":"__proto__","parent":null,"role":"user"},"x":{"id":"constructor","role":"user"}}}]}',
})) {
  test(`an import is refused: ${what}`, async ({ page }) => {
    await importText(page, text);
    await expect(page.getByRole("alert")).toBeVisible();
    await expect(page.getByLabel("Saved conversations").getByRole("listitem")).toHaveCount(0);
  });
}

test("an import takes over nothing that it does not know", async ({ page }) => {
  const json = JSON.parse(madeConversation(2, (i) => `text ${i}`)) as { conversations: Record<string, unknown>[] };
  const made = json.conversations[0]!;
  made.session = "stolen";
  made.title = kPayloads.image;
  (made.messages as Record<string, Record<string, unknown>>).m1!.html = "<b>";
  (made.messages as Record<string, Record<string, unknown>>).m1!.stats = { perSecond: "<img>", prompt: 3, warnings: [{}, "x"] };
  await importText(page, JSON.stringify(json));
  await page.getByRole("link", { name: /img src/ }).click();
  await expect(answers(page).first().locator(".stats")).toHaveText(/0 of 3 reused from cache.*x/);
  await expect(page.locator("main img")).toHaveCount(0);
});

test("headers forbid frames, other scripts and guesses", async ({ page, program }) => {
  const response = await page.request.get(`${program.url}/`, { headers: { Accept: "text/html" } });
  const headers = response.headers();
  expect(headers["content-security-policy"]).toContain("frame-ancestors 'none'");
  expect(headers["content-security-policy"]).not.toContain("unsafe");
  expect(headers["x-content-type-options"]).toBe("nosniff");
  expect(headers["referrer-policy"]).toBe("no-referrer");
});

test("script in the page's own place is stopped by the policy", async ({ page, watched }) => {
  watched.allowed.push(/policy:/, /Content Security Policy/, /TrustedHTML/, /Trusted/);
  const outcome = await page.evaluate(() => {
    const element = document.createElement("script");
    try {
      element.textContent = "window.hacked = 1";
      document.body.append(element);
    } catch {
      // Trusted types refuse it already.
    }
    try {
      document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.hacked=1'>");
      return "inserted";
    } catch (error) {
      return (error as Error).name;
    }
  });
  expect(outcome).toBe("TypeError");
});

// The screenshots in docs/images, of the real server and of one whose answers are scripted:
//   npm run screenshots -- URL_OF_SERVER
import { readFileSync, mkdirSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { chromium } from "@playwright/test";

const server = process.argv[2] ?? "http://127.0.0.1:8080";
const images = new URL("../../docs/images/", import.meta.url);
const answer = readFileSync(new URL("screenshot_answer.md", import.meta.url), "utf8");
const thinking = "The user asks for the derivative and for code that checks it. The product rule applies; a central difference confirms the number.";
const metrics = { n: 0, text: "" };

function nextMetrics() {
  const n = ++metrics.n;
  const wave = (of, phase) => of * (1 + 0.5 * Math.sin(n / 5 + phase) + 0.25 * Math.sin(n / 1.7 + phase));
  metrics.generated = (metrics.generated ?? 182_000) + wave(420, 0);
  metrics.prompt = (metrics.prompt ?? 640_000) + wave(900, 1);
  metrics.cached = (metrics.cached ?? 402_000) + wave(610, 1.3);
  const histogram = (name, bounds, spread) => {
    metrics[name] ??= bounds.map(() => 0);
    bounds.forEach((_, i) => (metrics[name][i] += wave(20, i / 3) * Math.min(1, (i + 1) / spread)));
    return `${bounds.map((b, i) => `${name}_bucket{le="${b}"} ${metrics[name][i].toFixed(0)}`).join("\n")}\n${name}_bucket{le="+Inf"} ${(metrics[name].at(-1) * 1.01).toFixed(0)}`;
  };
  const pages = Math.round(2600 + 900 * Math.sin(n / 9));
  return `ruvllm_generated_tokens_total ${metrics.generated}
ruvllm_prompt_tokens_total ${metrics.prompt}
ruvllm_cached_prompt_tokens_total ${metrics.cached}
ruvllm_draft_tokens_total 50120
ruvllm_accepted_draft_tokens_total 38210
${histogram("ruvllm_time_to_first_token_seconds", [0.025, 0.05, 0.1, 0.25, 0.5, 1], 4)}
${histogram("ruvllm_inter_token_seconds", [0.005, 0.01, 0.025, 0.05, 0.1], 3)}
${histogram("ruvllm_request_seconds", [0.5, 1, 2.5, 5, 10], 4)}
ruvllm_requests_running ${Math.max(0, Math.round(wave(5, 0)))}
ruvllm_requests_waiting ${Math.max(0, Math.round(wave(2, 2) - 1))}
ruvllm_kv_pages{tier="cached"} ${pages}
ruvllm_kv_pages{tier="free"} ${6000 - pages}
ruvllm_kv_pages{tier="disk"} 1800
ruvllm_user_tokens_total{user="ann",kind="prompt"} 310200
ruvllm_user_tokens_total{user="ann",kind="cached"} 221000
ruvllm_user_tokens_total{user="ann",kind="generated"} 90400
ruvllm_user_tokens_total{user="build",kind="prompt"} 120400
ruvllm_user_tokens_total{user="build",kind="generated"} 30100
ruvllm_requests_total{route="/v1/chat/completions",status="200"} 5210
`;
}

const scripted = createServer((request, response) => {
  const json = (value) => response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(value));
  const event = (value) => response.write(`data: ${JSON.stringify(value)}\n\n`);
  if (request.url === "/v1/models") return json({ data: [{ id: "example-8b", status: { value: "loaded" } }] });
  if (request.url.startsWith("/props")) return json({ reasoning: true });
  if (request.url.startsWith("/v1/sessions")) return json({ data: [{ name: "garden" }, { name: "thesis" }] });
  if (request.url === "/metrics") return response.writeHead(200).end(nextMetrics());
  if (request.url === "/v1/chat/completions") {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    event({ choices: [{ delta: { reasoning_content: thinking } }] });
    const words = answer.match(/\S+\s*|\s+/g);
    words.forEach((word, i) => setTimeout(() => event({ choices: [{ delta: { content: word } }] }), i * 4));
    return void setTimeout(() => {
      event({ choices: [{ delta: {}, finish_reason: "stop" }] });
      event({ choices: [], usage: { prompt_tokens: 214, completion_tokens: words.length, prompt_tokens_details: { cached_tokens: 176, miss: "diverged" } } });
      response.end("data: [DONE]\n\n");
    }, words.length * 4);
  }
  fetch(server + request.url, { headers: { Accept: request.headers.accept ?? "*/*" } }).then(async (real) => {
    response.writeHead(real.status, { "Content-Type": real.headers.get("Content-Type") });
    response.end(Buffer.from(await real.arrayBuffer()));
  });
});
await new Promise((resolve) => scripted.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${scripted.address().port}/`;

const browser = await chromium.launch({ executablePath: process.env.RUVLLM_BROWSER ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
mkdirSync(images, { recursive: true });

async function ask(page, text) {
  const n = await page.locator("article.assistant footer").count();
  await page.fill("#message", text);
  await page.keyboard.press("Enter");
  await page.locator("article.assistant footer").nth(n).waitFor();
}

async function take(page, name) {
  const path = new URL(`${name}.png`, images).pathname;
  await page.screenshot({ path });
  console.log(`${name}.png ${statSync(path).size} bytes`);
}

const light = await browser.newPage({ viewport: { width: 1180, height: 820 }, colorScheme: "light", reducedMotion: "reduce" });
await light.goto(url);
await light.locator("select.model").waitFor();
for (const title of ["A letter to the landlord", "Names for a sailing boat", "Why the build is slow"]) {
  await ask(light, title);
  await light.getByRole("button", { name: "New conversation" }).click();
}
await ask(light, "What is the derivative of x·sin x, and how would I check it in Python?");
await light.locator(".thinking summary").last().click();
await light.locator(".thread").evaluate((box) => (box.scrollTop = 40));
await light.mouse.move(640, 10);
await light.waitForTimeout(400);
await take(light, "page-chat");

const dark = await browser.newPage({ viewport: { width: 1180, height: 820 }, colorScheme: "dark" });
await dark.clock.install({ time: new Date("2026-01-01T12:00:00Z") });
await dark.goto(`${url}#/metrics`);
for (let i = 0; i < 90; ++i) {
  await dark.clock.runFor(2000);
  await dark.waitForTimeout(60);
}
await take(dark, "page-metrics");

const phone = await browser.newPage({ viewport: { width: 390, height: 780 }, isMobile: true, hasTouch: true, deviceScaleFactor: 1.5, colorScheme: "light", reducedMotion: "reduce" });
await phone.goto(url);
await phone.locator("select.model").waitFor();
await ask(phone, "What is the derivative of x·sin x?");
await phone.locator(".thread").evaluate((box) => (box.scrollTop = 0));
await phone.waitForTimeout(400);
await take(phone, "page-phone");

await browser.close();
scripted.closeAllConnections();
scripted.close();

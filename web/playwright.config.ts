import { existsSync } from "node:fs";
import { defineConfig } from "@playwright/test";

// The distribution's browser: none is downloaded.
const kBrowsers = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
export const browser = process.env.RUVLLM_BROWSER ?? kBrowsers.find((path) => existsSync(path)) ?? "chromium";

export const browserOptions = { executablePath: browser, args: ["--no-sandbox", "--disable-dev-shm-usage"] };

export default defineConfig({
  testDir: "tests",
  testMatch: process.env.RUVLLM_MEASURE ? "measure.ts" : "*.spec.ts",
  outputDir: "../build/page-tests",
  // tests/images.spec.ts
  snapshotPathTemplate: "../docs/images/{arg}{ext}",
  updateSnapshots: "none",
  fullyParallel: true,
  workers: 2,
  timeout: 60_000,
  expect: { timeout: 15_000, toHaveScreenshot: { threshold: 0.03, maxDiffPixelRatio: 0.0005 } },
  reporter: process.env.CI ? "dot" : "line",
  use: {
    browserName: "chromium",
    viewport: { width: 1280, height: 800 },
    launchOptions: browserOptions,
    permissions: ["clipboard-read", "clipboard-write"],
  },
});

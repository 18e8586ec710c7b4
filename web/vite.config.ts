// A script for what is seen at first, and one for each part that comes later (src/ui/late.ts), without
// hashes in their names: the server gives each an ETag of its own. The style becomes a part of the page
// (tools/pack.mjs).
import { defineConfig } from "vite";

const server = process.env.RUVLLM_URL ?? "http://127.0.0.1:8080";

export default defineConfig({
  base: "/",
  build: {
    outDir: "../build/page",
    emptyOutDir: true,
    target: "es2022",
    cssCodeSplit: false,
    modulePreload: false,
    assetsInlineLimit: 0,
    rollupOptions: {
      output: {
        entryFileNames: "page.js",
        chunkFileNames: "page-[name].js",
        assetFileNames: "page.[ext]",
      },
    },
  },
  // `npm run dev` asks the server of RUVLLM_URL.
  server: { proxy: Object.fromEntries(["/v1", "/metrics", "/props", "/version"].map((p) => [p, server])) },
});

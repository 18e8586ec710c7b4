// Vercel's AI SDK with @ai-sdk/openai-compatible.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";

import { main } from "./ai_sdk.mjs";
import { KEY, MODEL } from "./cells.mjs";

await main((url) => createOpenAICompatible({
  name: "local", baseURL: url, apiKey: KEY, supportsStructuredOutputs: true,
  includeUsage: true })(MODEL));

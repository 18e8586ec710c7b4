// Vercel's AI SDK with @ai-sdk/anthropic.
import { createAnthropic } from "@ai-sdk/anthropic";

import { main } from "./ai_sdk.mjs";
import { KEY, MODEL } from "./cells.mjs";

await main((url) => createAnthropic({ baseURL: url, apiKey: KEY })(MODEL));

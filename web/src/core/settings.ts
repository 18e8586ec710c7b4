// What the user set, kept in this browser. A value that is null is left to the server.
import { Cell } from "./cell.ts";

export interface Sampling {
  temperature: number | null;
  top_p: number | null;
  top_k: number | null;
  min_p: number | null;
  repetition_penalty: number | null;
  presence_penalty: number | null;
  frequency_penalty: number | null;
  max_tokens: number | null;
  seed: number | null;
}

export interface Settings {
  theme: "system" | "light" | "dark";
  model: string;
  system: string;
  sampling: Sampling;
  effort: string; // reasoning_effort; "": the model's own
  tools: string; // JSON
  useTools: boolean;
  schema: string; // JSON Schema
  useSchema: boolean;
  sendOnEnter: boolean;
}

export const kNoSampling: Sampling = {
  temperature: null,
  top_p: null,
  top_k: null,
  min_p: null,
  repetition_penalty: null,
  presence_penalty: null,
  frequency_penalty: null,
  max_tokens: null,
  seed: null,
};

const kDefaults: Settings = {
  theme: "system",
  model: "",
  system: "",
  sampling: kNoSampling,
  effort: "",
  tools: "",
  useTools: false,
  schema: "",
  useSchema: false,
  sendOnEnter: true,
};

const kName = "ruvllm.settings";

// Members of another type than the default's are not taken.
export function readSettings(json: string | null): Settings {
  let found: Record<string, unknown> = {};
  try {
    found = (JSON.parse(json ?? "{}") ?? {}) as Record<string, unknown>;
  } catch {
    // Another version's, or damaged: the defaults.
  }
  const settings: Record<string, unknown> = { ...kDefaults, sampling: { ...kNoSampling } };
  for (const [name, usual] of Object.entries(kDefaults)) {
    if (name !== "sampling" && typeof found[name] === typeof usual) settings[name] = found[name];
  }
  if (!["system", "light", "dark"].includes(settings.theme as string)) settings.theme = "system";
  const sampling = (found.sampling ?? {}) as Record<string, unknown>;
  for (const name of Object.keys(kNoSampling)) {
    const value = sampling[name];
    if (typeof value === "number" && Number.isFinite(value)) (settings.sampling as Record<string, unknown>)[name] = value;
  }
  return settings as unknown as Settings;
}

function stored(): string | null {
  try {
    return localStorage.getItem(kName);
  } catch {
    return null; // a browser that keeps nothing
  }
}

export const settings = new Cell<Settings>(readSettings(stored()));

export function change(part: Partial<Settings>): void {
  settings.set({ ...settings.value, ...part });
  try {
    localStorage.setItem(kName, JSON.stringify(settings.value));
  } catch {
    // They hold until the page is closed.
  }
}

export function changeSampling(name: keyof Sampling, value: number | null): void {
  change({ sampling: { ...settings.value.sampling, [name]: value } });
}

// How answers are made: sampling, tools, the form of answers.
import { useState } from "preact/hooks";
import { useCell } from "../core/cell.ts";
import { change, changeSampling, kNoSampling, settings } from "../core/settings.ts";
import type { Sampling } from "../core/settings.ts";
import * as talk from "../core/talk.ts";
import { IconButton } from "./icons.tsx";

interface Slider {
  name: keyof Sampling;
  label: string;
  hint: string;
  min: number;
  max: number;
  step: number;
}

const kSliders: Slider[] = [
  { name: "temperature", label: "Temperature", hint: "0 picks the likeliest token", min: 0, max: 2, step: 0.05 },
  { name: "top_p", label: "Top p", hint: "keep the likeliest tokens up to this probability", min: 0, max: 1, step: 0.01 },
  { name: "top_k", label: "Top k", hint: "keep the k likeliest tokens; 0: all", min: 0, max: 200, step: 1 },
  { name: "min_p", label: "Min p", hint: "drop tokens below this share of the likeliest", min: 0, max: 1, step: 0.01 },
  { name: "repetition_penalty", label: "Repetition penalty", hint: "1: none", min: 0.5, max: 2, step: 0.01 },
  { name: "presence_penalty", label: "Presence penalty", hint: "once, for tokens that were generated", min: -2, max: 2, step: 0.05 },
  { name: "frequency_penalty", label: "Frequency penalty", hint: "each time a token was generated", min: -2, max: 2, step: 0.05 },
];

function SliderRow({ of, usual }: { of: Slider; usual: number | undefined }) {
  const value = useCell(settings).sampling[of.name];
  const shown = value ?? usual ?? of.min;
  const set = (text: string) => {
    const number = Number(text);
    if (text !== "" && Number.isFinite(number)) changeSampling(of.name, Math.min(of.max, Math.max(of.min, number)));
  };
  return (
    <div class={`slider ${value === null ? "usual" : ""}`}>
      <label for={`s-${of.name}`}>{of.label}</label>
      <input
        type="number"
        aria-label={`${of.label}, as a number`}
        min={of.min}
        max={of.max}
        step={of.step}
        value={Number(shown.toFixed(3))}
        onChange={(e) => set(e.currentTarget.value)}
      />
      <input
        id={`s-${of.name}`}
        type="range"
        min={of.min}
        max={of.max}
        step={of.step}
        value={shown}
        aria-describedby={`h-${of.name}`}
        onInput={(e) => set(e.currentTarget.value)}
      />
      <span class="hint" id={`h-${of.name}`}>
        {of.hint}
      </span>
      {value !== null && (
        <button type="button" class="quiet reset" aria-label={`${of.label} as the server has it`} onClick={() => changeSampling(of.name, null)}>
          reset
        </button>
      )}
    </div>
  );
}

// A whole number, or nothing.
function NumberRow({ name, label, hint }: { name: "seed" | "max_tokens"; label: string; hint: string }) {
  const value = useCell(settings).sampling[name];
  return (
    <label class="field narrow">
      <span>{label}</span>
      <input
        type="number"
        min={0}
        step={1}
        value={value ?? ""}
        placeholder={hint}
        onInput={(e) => {
          const text = e.currentTarget.value;
          const number = Number(text);
          changeSampling(name, text !== "" && Number.isSafeInteger(number) && number >= 0 ? number : null);
        }}
      />
    </label>
  );
}

function fault(text: string): string {
  if (text.trim() === "") return "";
  try {
    JSON.parse(text);
    return "";
  } catch (error) {
    return error instanceof Error ? error.message : "not JSON";
  }
}

const kToolExample = `[
  {
    "type": "function",
    "function": {
      "name": "weather",
      "description": "The weather of a place",
      "parameters": {
        "type": "object",
        "properties": { "place": { "type": "string" } },
        "required": ["place"]
      }
    }
  }
]`;
const kSchemaExample = `{
  "type": "object",
  "properties": {
    "name": { "type": "string" },
    "age": { "type": "integer" }
  },
  "required": ["name", "age"]
}`;

function JsonBox(props: {
  title: string;
  hint: string;
  example: string;
  text: string;
  isOn: boolean;
  onText: (text: string) => void;
  onSwitch: (on: boolean) => void;
}) {
  const wrong = fault(props.text);
  const id = `json-${props.title.replace(/\W/g, "-")}`;
  return (
    <fieldset>
      <legend>{props.title}</legend>
      <label class="switch">
        <input type="checkbox" checked={props.isOn} onChange={(e) => props.onSwitch(e.currentTarget.checked)} />
        <span>{props.hint}</span>
      </label>
      <textarea
        class="json"
        rows={props.text ? 10 : 3}
        spellcheck={false}
        aria-label={`${props.title} as JSON`}
        aria-invalid={wrong !== ""}
        aria-describedby={wrong ? id : undefined}
        value={props.text}
        onInput={(e) => props.onText(e.currentTarget.value)}
      />
      {wrong && (
        <p class="wrong" id={id}>
          {wrong}
        </p>
      )}
      {props.text === "" && (
        <button type="button" class="quiet" onClick={() => props.onText(props.example)}>
          Insert an example
        </button>
      )}
    </fieldset>
  );
}

function Effort() {
  const effort = useCell(settings).effort;
  if (!useCell(talk.props).reasoning) return null;
  return (
    <label class="field narrow">
      <span>Thinking</span>
      <select value={effort} onChange={(e) => change({ effort: e.currentTarget.value })}>
        <option value="">as the model does</option>
        <option value="none">none</option>
        <option value="low">low</option>
        <option value="medium">medium</option>
        <option value="high">high</option>
      </select>
    </label>
  );
}

export function Panel({ onClose }: { onClose: () => void }) {
  const of = useCell(settings);
  const usual = useCell(talk.props).default_generation_settings?.params ?? {};
  const [isMore, setMore] = useState(false);
  const isChanged = Object.values(of.sampling).some((value) => value !== null);
  const number = (name: string) => (typeof usual[name] === "number" ? (usual[name] as number) : undefined);
  return (
    <aside class="panel" aria-label="How answers are made">
      <header>
        <h2>Answers</h2>
        <IconButton name="close" label="Close settings" onClick={onClose} />
      </header>
      <fieldset>
        <legend>Sampling</legend>
        {kSliders.slice(0, isMore ? undefined : 4).map((slider) => (
          <SliderRow key={slider.name} of={slider} usual={number(slider.name)} />
        ))}
        <div class="row">
          <button type="button" class="quiet" aria-expanded={isMore} onClick={() => setMore(!isMore)}>
            {isMore ? "Fewer" : "Penalties"}
          </button>
          <button type="button" class="quiet" disabled={!isChanged} onClick={() => change({ sampling: kNoSampling })}>
            As the server has it
          </button>
        </div>
        <div class="pair">
          <NumberRow name="max_tokens" label="Most tokens" hint="no limit" />
          <NumberRow name="seed" label="Seed" hint="random" />
        </div>
        <Effort />
      </fieldset>
      <JsonBox
        title="Tools"
        hint="Offer these functions; you say what calls give"
        example={kToolExample}
        text={of.tools}
        isOn={of.useTools}
        onText={(tools) => change({ tools, useTools: tools.trim() !== "" })}
        onSwitch={(useTools) => change({ useTools })}
      />
      <JsonBox
        title="Form of answers"
        hint="Hold answers to this JSON Schema"
        example={kSchemaExample}
        text={of.schema}
        isOn={of.useSchema}
        onText={(schema) => change({ schema, useSchema: schema.trim() !== "" })}
        onSwitch={(useSchema) => change({ useSchema })}
      />
      <fieldset>
        <legend>Page</legend>
        <label class="field">
          <span>System prompt of new conversations</span>
          <textarea rows={3} value={of.system} onInput={(e) => change({ system: e.currentTarget.value })} />
        </label>
        <label class="switch">
          <input type="checkbox" checked={of.sendOnEnter} onChange={(e) => change({ sendOnEnter: e.currentTarget.checked })} />
          <span>Enter sends; Shift and Enter begin a line</span>
        </label>
      </fieldset>
    </aside>
  );
}

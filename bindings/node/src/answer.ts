// Answers and their pieces, with what the API says of them (docs/http.md).

export interface ToolCall {
  index?: number;
  id?: string;
  type?: string;
  function: { name?: string; arguments?: string };
}

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  [more: string]: unknown;
}

interface Message {
  content?: string | null;
  reasoning_content?: string | null;
  tool_calls?: ToolCall[];
}

interface Choice {
  text?: string;
  message?: Message;
  delta?: Message;
  finish_reason?: string | null;
}

/** The JSON of the API. */
export interface Raw {
  choices?: Choice[];
  usage?: Usage | null;
  [more: string]: unknown;
}

/** A piece of an answer as it comes; the text may be empty where a piece has something else. */
export class Piece {
  readonly text: string;
  readonly reasoning: string;
  readonly toolCalls: ToolCall[];
  /** "stop", "length", "tool_calls"; "" until the last piece. */
  readonly finishReason: string;
  /** Of the whole answer, where it was asked for. */
  readonly usage: Usage | undefined;
  readonly raw: Raw;

  constructor(raw: Raw) {
    const choice = raw.choices?.[0] ?? {};
    const message = choice.message ?? choice.delta ?? {};
    this.text = choice.text ?? message.content ?? "";
    this.reasoning = message.reasoning_content ?? "";
    this.toolCalls = message.tool_calls ?? [];
    this.finishReason = choice.finish_reason ?? "";
    this.usage = raw.usage ?? undefined;
    this.raw = raw;
  }

  get isEmpty(): boolean {
    return !(this.text || this.reasoning || this.toolCalls.length || this.finishReason ||
             this.usage);
  }

  toString(): string {
    return this.text;
  }
}

/** A whole answer. With several choices they are all in `raw`. */
export class Answer extends Piece {}

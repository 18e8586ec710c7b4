/** RuvLLM: runs large language models on your own processor.

    import { load } from "ruvllm";

    const model = await load();
    const answer = await model.chat([{role: "user", content: "What is the capital of France?"}]);
    console.log(answer.text);
*/
import { native } from "./native.js";

export { Answer, Piece, type Raw, type ToolCall, type Usage } from "./answer.js";
export { AnswerStream, type CallOptions } from "./call.js";
export {
  CancelledError, CorruptError, DeadlineError, InternalError, InvalidError, NotFoundError,
  OutOfMemoryError, RuvllmError, UnavailableError, UnsupportedError,
} from "./errors.js";
export { load, Model } from "./model.js";
export type { Fields, LoadOptions, Message, ModelInfo } from "./model.js";
export { Server, type ServerOptions } from "./server.js";

export const version: string = native.version;

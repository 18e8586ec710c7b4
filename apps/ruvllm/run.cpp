// ruvllm run: one prompt, one answer. A person sees the text as it comes; a program gets one JSON
// object with --json and nothing else on stdout. With --tools and --mcp the answer may need several
// rounds of calls (tool_talk.h).
#include <fmt/format.h>

#include "answer.h"
#include "answer_screen.h"
#include "base/json.h"
#include "command_line.h"
#include "commands.h"
#include "form_flags.h"
#include "lora_flag.h"
#include "open_engine.h"
#include "open_model.h"
#include "ruv/prompts.h"
#include "standard_input.h"
#include "terminal.h"
#include "tool_talk.h"

namespace ruv {
namespace {

struct RunCall {
  std::string model;
  LoadCall load;
  std::string prompt;
  std::vector<std::string> words;
  std::string system;
  bool raw = false;
  bool no_special = false;
  bool json = false;
  bool plain = false;
  EngineCall engine;
  GenerateParams params;
  FormCall form;
  ToolUse tools;
};

Conversation conversation(const RunCall& call) {
  Conversation asked;
  if (!call.system.empty()) asked.messages.push_back(text_message("system", call.system));
  asked.messages.push_back(text_message("user", call.prompt));
  return asked;
}

Result<std::vector<Token>> prompt_ids(const CommandLine& line, const RunCall& call,
                                      const Model& model) {
  const Status chats = can_chat(model);
  if (!call.raw && chats.ok()) {
    if (call.params.token_healing)
      return fail(Code::invalid,
                  "--token-healing continues a text, but here the chat template ends the prompt; "
                  "use --raw to continue it without the template");
    return tokenize_chat(model, conversation(call));
  }
  if (!call.raw) {
    // A template that is there but cannot be used is not the same as none.
    if (chats.code() != Code::not_found)
      return fail(Code::unsupported, "{}; use --raw to do without it", chats.message());
    if (!call.system.empty())
      return fail(Code::unsupported, "the model has no chat template, so --system cannot be used");
    line.note("the model has no chat template: the prompt is continued as it is (--raw)");
  }
  return tokenize(model, call.prompt, !call.no_special);
}

Json logprob_json(const TokenLogprob& token) {
  return {{"id", token.id}, {"logprob", token.logprob}};
}

Json answer_json(const RunCall& call, const std::vector<Token>& prompt, const Answer& answer) {
  Json out = {{"prompt_ids", prompt},
              {"ids", answer.ids},
              {"text", answer.text},
              {"finish_reason", std::string(finish_reason_name(answer.finish))},
              {"seed", answer.seed}};
  if (call.params.repair) out["n_repair_bytes"] = answer.n_repair_bytes;
  if (!call.load.ignored_keys.empty()) out["ignored_keys"] = call.load.ignored_keys;
  if (!answer.logprobs.empty()) {
    Json& list = out["logprobs"] = Json::array();
    for (const Event::Logprobs& row : answer.logprobs) {
      Json entry = logprob_json(row.chosen);
      entry["top"] = Json::array();
      for (const TokenLogprob& token : row.top) entry["top"].push_back(logprob_json(token));
      list.push_back(std::move(entry));
    }
  }
  const Timings& t = answer.timings;
  out["timings"] = {{"n_prompt_tokens", t.n_prompt_tokens},
                    {"n_cached_tokens", t.n_cached_tokens},
                    {"n_generated_tokens", t.n_generated_tokens},
                    {"queue_ms", t.queue_ms},
                    {"prefill_ms", t.prefill_ms},
                    {"decode_ms", t.decode_ms},
                    {"prefill_tokens_per_s", t.prefill_tokens_per_s},
                    {"decode_tokens_per_s", t.decode_tokens_per_s}};
  return out;
}

// What to say of an answer that was cut off before its form was complete; empty: nothing.
std::string cut_note(const RunCall& call, const Answer& answer) {
  if (!has_form(call.form) || answer.finish != FinishReason::length) return {};
  const std::string cut = "the answer was cut off before its form was complete";
  if (answer.n_repair_bytes > 0) {
    return fmt::format("{}; its last {} bytes complete it and are not the model's", cut,
                       answer.n_repair_bytes);
  }
  if (answer.n_repair_bytes < 0) return cut + ", and nothing short completes it";
  if (call.params.repair) return {};  // it happened to be complete
  return cut + "; raise --max-tokens, or add --repair";
}

// A text that is continued, or that has a form of its own, is shown as it is.
ScreenForm answer_look(const RunCall& call, const Model& model) {
  const bool is_chat = !call.raw && can_chat(model).ok() && !has_form(call.form);
  return screen_form(call.plain || !is_chat);
}

// The answer after all calls of tools.
Result<int> answer_with_tools(const CommandLine& line, const RunCall& call, Engine& engine,
                              std::shared_ptr<const Model> model) {
  const std::unique_ptr<ToolTalk> talk = TRY(ToolTalk::open(
      line, call.tools, engine, std::move(model), {screen_form(call.plain), !is_quiet()}));
  Conversation asked = conversation(call);
  const ToolTurn turn = TRY(talk->take_turn(asked, call.params));
  if (turn.end == ToolLoopEnd::cancelled) return kInterrupted;
  return turn.end == ToolLoopEnd::answered ? kDone : kJobFailed;
}

Result<int> answer_once(const CommandLine& line, RunCall& call) {
  const ChosenModel chosen = TRY(chosen_model(call.model));
  const std::shared_ptr<const Model> model =
      TRY(open_model(chosen, call.engine.n_threads, call.load));
  call.params = line.params_for(model_info(*model), call.params);
  call.engine.draft_model = TRY(open_draft_model(call.engine.n_threads, call.load));
  if (call.tools.any()) {
    TRY(with_context("--tools and --mcp", can_chat(*model)));
    const std::unique_ptr<Engine> engine = TRY(open_engine(line, chosen.path, model, call.engine));
    return answer_with_tools(line, call, *engine, model);
  }
  const std::vector<Token> prompt = TRY(prompt_ids(line, call, *model));
  const std::unique_ptr<Engine> engine = TRY(open_engine(line, chosen.path, model, call.engine));
  Request request = {.prompt = prompt, .params = call.params};
  if (const std::optional<AnswerForm> form = TRY(answer_form(call.form))) {
    request.form = TRY(engine->load_form(*form));
    for (const FormNote& note : form_notes(*request.form)) {
      line.note(fmt::format("{}: {}", note.pointer, note.reason));
    }
  }
  AnswerScreen screen(answer_look(call, *model));
  const auto show = [&](std::string_view text) {
    if (call.json) return;
    screen.add(text);
    std::fflush(stdout);
  };
  const Answer answer = TRY(ask(*engine, std::move(request), show));
  const int code = answer.finish == FinishReason::cancelled ? kInterrupted : kDone;
  if (call.json) {
    print_json_line(answer_json(call, prompt, answer));
    return code;
  }
  screen.finish();
  if (answer.text.empty()) fmt::print("\n");
  std::fflush(stdout);
  if (const std::string note = cut_note(call, answer); !note.empty()) line.note(note);
  if (is_quiet()) return code;
  const TerminalStyle style = style_of(stderr);
  fmt::print(stderr, "{}{}{}\n", style.dim, speed_line(answer.timings), style.reset);
  return code;
}

// The prompt of the call: what --prompt or the free arguments say, and what a pipe or file on stdin
// brings: "-" alone stands for it, else it comes first, then a blank line, then what was said, so
// that `cat letter | ruvllm run "summarise"` asks about the letter. Fails: as read_stdin.
Result<std::string> settled_prompt(const CommandLine& line, const RunCall& call) {
  const std::string said =
      line.given("--prompt") ? call.prompt : fmt::format("{}", fmt::join(call.words, " "));
  if (said == "-") return read_stdin();
  if (!stdin_is_given()) return said;
  std::string text = TRY(read_stdin());
  text.erase(text.find_last_not_of("\r\n") + 1);
  if (text.empty() || said.empty()) return text + said;
  return text + "\n\n" + said;
}

// Why the call is wrong, if so.
std::string objection_to(const CommandLine& line, const RunCall& call) {
  const bool flag = line.given("--prompt");
  if (flag && !call.words.empty())
    return fmt::format("give the prompt once: --prompt and '{}' are two", call.words.front());
  if (!flag && call.words.empty() && !stdin_is_given())
    return "give a prompt, or pipe one to stdin";
  if (call.raw && !call.system.empty()) return "--system cannot be used with --raw";
  if (const std::string forms = objection_to(call.form); !forms.empty()) return forms;
  if (call.params.repair && !has_form(call.form))
    return "--repair completes a form; add --schema, --grammar, --regex or --json-object";
  if (call.params.n_logprobs >= 0 && !call.json) return "--logprobs shows only with --json";
  if (call.tools.any()) {
    for (const char* flag : {"--raw", "--json", "--schema", "--grammar", "--regex", "--json-object",
                             "--token-healing"}) {
      if (line.given(flag)) return std::string(flag) + " cannot be used with --tools or --mcp";
    }
  }
  return objection_to(line, call.tools);
}

}  // namespace

int run_command(int argc, char** argv) {
  RunCall call;
  CommandLine line("run", "Answers one prompt.");
  line.example("ruvllm run why is the sky blue", "Words are joined");
  line.example("cat letter.txt | ruvllm run \"Summarise this letter\"",
               "What comes from stdin is put before the prompt");
  line.example("ruvllm run -m qwen.gguf --schema person.json \"Name a physicist\"",
               "JSON of a given form");
  line.alternatives({"--prompt", "text"});
  line.words("text", call.words, "The prompt; several words are joined by spaces");
  line.text("--model,-m", call.model, kModelHelp);
  call.load.quantize = "auto";
  add_load_flags(line, call.load);
  add_draft_flag(line, call.load);
  add_lora_flag(line, call.engine.lora);
  line.text("--prompt,-p", call.prompt, "The prompt; - reads it from stdin");
  line.text("--system,-s", call.system, "System message put before the prompt");
  line.flag("--raw", call.raw, "Continue the prompt as it is, without the chat template");
  line.flag("--no-special", call.no_special,
            "With --raw: control tokens written out in the prompt stay text");
  line.flag("--json", call.json, "Print one JSON object when the answer is complete");
  line.flag("--plain", call.plain,
            "Show answers as they are: Markdown is not rendered and long lines are not wrapped");
  line.threads(call.engine.n_threads);
  line.kv(call.engine.kv_type);
  line.integer("--ctx,-c", call.engine.n_ctx, 0, int64_t{1} << 24,
               "Longest prompt and answer in tokens; 0: what the model was trained for");
  add_cache_flags(line, call.engine.cache);
  add_form_flags(line, call.form);
  add_tool_flags(line, call.tools);
  line.generation(call.params);
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (const std::string objection = objection_to(line, call); !objection.empty())
    return line.wrong_call(objection);
  Result<std::string> prompt = settled_prompt(line, call);
  if (!prompt) return line.failed(prompt.error());
  if (prompt->empty() && !line.given("--prompt")) return line.wrong_call("the prompt is empty");
  call.prompt = std::move(*prompt);
  const Result<int> code = answer_once(line, call);
  return code ? *code : line.failed(code.error());
}

}  // namespace ruv

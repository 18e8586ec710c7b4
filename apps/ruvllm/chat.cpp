// ruvllm chat: a conversation. Each turn renders all messages anew; when they no longer fit the
// context the program says so with both numbers and drops nothing by itself.
#include <fmt/format.h>

#include "answer.h"
#include "base/json.h"
#include "command_line.h"
#include "commands.h"
#include "line_editor.h"
#include "model/model.h"
#include "open_model.h"
#include "terminal.h"

namespace ruv {
namespace {

constexpr const char* kChatHelp =
    "/reset         begin anew\n"
    "/system TEXT   set the system message and begin anew\n"
    "/help          this list\n"
    "/quit          leave, as Ctrl-D does\n"
    "Ctrl-C stops an answer. A line that begins with // is sent with one /.\n";

struct ChatCall {
  std::string model;
  std::string packed_cache;
  std::string system;
  int n_threads = 0;
  int64_t n_ctx = 0;
  KvType kv_type = KvType::f16;
  GenerateParams params;
};

class Conversation {
 public:
  Conversation(const CommandLine& line, Engine& engine, const ChatCall& call)
      : line_(line), engine_(engine), params_(call.params) {
    begin_anew(call.system);
  }

  void begin_anew() { begin_anew(std::exchange(system_, "")); }
  void begin_anew(std::string system) {
    system_ = std::move(system);
    messages_ = Json::array();
    if (!system_.empty()) say("system", system_);
  }

  // Answers on stdout. A turn that fails leaves the conversation as it was.
  void take_turn(const std::string& text) {
    say("user", text);
    const Result<Answer> answer = reply();
    if (!answer) {
      messages_.erase(messages_.size() - 1);
      line_.note(answer.error().message());
      return;
    }
    say("assistant", answer->text);
    if (!answer->text.ends_with('\n')) fmt::print("\n");
    std::fflush(stdout);
    remark(*answer);
  }

 private:
  void say(const char* role, const std::string& text) {
    messages_.push_back({{"role", role}, {"content", text}});
  }

  Result<Answer> reply() {
    const Json context = {{"messages", messages_}};
    const std::vector<Token> prompt = TRY(tokenize_chat(
        engine_.model(), context.dump(-1, ' ', false, Json::error_handler_t::replace)));
    if (static_cast<int64_t>(prompt.size()) + 1 > engine_.n_ctx())
      return fail(Code::invalid,
                  "the conversation takes {} tokens and the context holds {}: /reset begins anew, "
                  "--ctx makes room",
                  prompt.size(), engine_.n_ctx());
    return ask(engine_, prompt, params_, [](std::string_view text) {
      fmt::print("{}", text);
      std::fflush(stdout);
    });
  }

  void remark(const Answer& answer) const {
    const int64_t n_used = answer.timings.n_prompt_tokens + answer.timings.n_generated_tokens;
    if (answer.finish == FinishReason::length && n_used >= engine_.n_ctx())
      line_.note(
          fmt::format("the context is full: {} of {} tokens; the answer was cut, /reset "
                      "begins anew",
                      n_used, engine_.n_ctx()));
    if (!is_terminal(stderr)) return;
    const TerminalStyle style = style_of(stderr);
    fmt::print(stderr, "{}{}{}{}\n", style.dim, speed_line(answer.timings),
               answer.finish == FinishReason::cancelled ? "; stopped" : "", style.reset);
  }

  const CommandLine& line_;
  Engine& engine_;
  GenerateParams params_;
  std::string system_;
  Json messages_;
};

// Follows a line that begins with one "/". False: leave.
bool follow_command(const CommandLine& line, Conversation& conversation, const std::string& text) {
  constexpr std::string_view kSystem = "/system ";
  if (text == "/quit" || text == "/exit") return false;
  if (text == "/help")
    fmt::print(stderr, "{}", kChatHelp);
  else if (text == "/reset")
    conversation.begin_anew();
  else if (text.starts_with(kSystem))
    conversation.begin_anew(text.substr(kSystem.size()));
  else
    line.note(fmt::format("'{}' is no command; /help lists them", text));
  return true;
}

void converse(const CommandLine& line, Conversation& conversation) {
  LineEditor editor(history_path());
  // Between answers Ctrl-C must not end the program either.
  std::optional<InterruptScope> ctrl_c;
  if (editor.interactive()) {
    ctrl_c.emplace();
    fmt::print("/help lists the commands, Ctrl-D leaves\n");
  }
  while (true) {
    const TypedLine typed = editor.read("> ");
    if (typed.kind == TypedLine::Kind::end) return;
    if (typed.kind == TypedLine::Kind::interrupted || typed.text.empty()) continue;
    if (typed.text.starts_with("//"))
      conversation.take_turn(typed.text.substr(1));
    else if (!typed.text.starts_with('/'))
      conversation.take_turn(typed.text);
    else if (!follow_command(line, conversation, typed.text))
      return;
  }
}

Status hold_chat(const CommandLine& line, const ChatCall& call) {
  const std::shared_ptr<const Model> model =
      TRY(open_model(call.model, call.n_threads, call.packed_cache));
  if (!model->chat_template)
    return fail(Code::unsupported, "{}; `ruvllm run --raw` continues a text",
                model->chat_template_status.message());
  EngineOptions options;
  options.n_threads = call.n_threads;
  options.n_ctx = call.n_ctx;
  options.kv.type = call.kv_type;
  options.max_sequences = 1;
  const std::unique_ptr<Engine> engine = TRY(Engine::create(model, options));
  Conversation conversation(line, *engine, call);
  converse(line, conversation);
  return {};
}

}  // namespace

int chat_command(int argc, char** argv) {
  ChatCall call;
  CommandLine line("chat", "Holds a conversation.");
  line.text("--model,-m", call.model, kModelHelp);
  line.text("--packed-cache", call.packed_cache, kPackedCacheHelp);
  line.text("--system,-s", call.system, "System message");
  line.threads(call.n_threads);
  line.kv(call.kv_type);
  line.integer("--ctx,-c", call.n_ctx, 0, int64_t{1} << 24,
               "Longest conversation in tokens; 0: what the model was trained for");
  line.generation(call.params);
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (call.params.token_healing)
    return line.wrong_call("--token-healing has no place in a chat: the template ends each prompt");
  const Status status = hold_chat(line, call);
  return status.ok() ? kDone : line.failed(status);
}

}  // namespace ruv

// ruvllm chat: a conversation. Each turn renders all messages anew; when they no longer fit the
// context the program says so with both numbers and drops nothing by itself. With --session they
// are on disk before the next line is read. With --tools and --mcp a turn may call tools
// (tool_talk.h).
#include <fmt/format.h>

#include <filesystem>

#include "answer.h"
#include "base/clock.h"
#include "base/json.h"
#include "command_line.h"
#include "commands.h"
#include "line_editor.h"
#include "open_engine.h"
#include "open_model.h"
#include "ruv/prompts.h"
#include "terminal.h"
#include "tool_talk.h"

namespace ruv {
namespace {

constexpr const char* kChatHelp =
    "/reset         start over\n"
    "/system TEXT   set the system message and start over\n"
    "/help          this list\n"
    "/quit          leave; Ctrl-D does the same\n"
    "Ctrl-C stops an answer. A line that begins with // is sent with one /.\n";

struct ChatCall {
  std::string model;
  LoadCall load;
  std::string system;
  std::string session;
  EngineCall engine;
  GenerateParams params;
  ToolUse tools;
};

// A conversation's place on disk.
class SavedConversation {
 public:
  // Fails: as SessionStore, invalid (it has a system message, and another is given).
  static Result<SavedConversation> open(const CommandLine& line, const ChatCall& call) {
    std::unique_ptr<SessionStore> store = TRY(open_sessions(line, call.engine.cache));
    SessionStore::Hold hold = TRY(store->hold("", call.session));
    SavedConversation saved(std::move(store), std::move(hold));
    const Result<Session> before = saved.store_->load("", call.session);
    if (!before && before.error().code() != Code::not_found) return failure(Status(before.error()));
    saved.session_.info.name = call.session;
    saved.session_.info.created = unix_seconds();
    if (before) saved.session_ = *before;
    if (before) saved.messages_ = TRY(read_session_messages(*before));
    if (saved.messages_.empty() || call.system.empty() || call.system == saved.system())
      return saved;
    return fail(Code::invalid,
                "session '{}' was started without this --system: omit it, or type /system TEXT to "
                "start over",
                call.session);
  }

  const std::vector<Message>& messages() const { return messages_; }
  std::string system() const {
    const bool has_one = !messages_.empty() && messages_[0].role == "system";
    return has_one ? joined_text(messages_[0]) : std::string();
  }
  Status save(const std::vector<Message>& messages, const std::string& model,
              const Timings& timings) {
    set_session_messages(session_, messages);
    session_.info.model = model;
    session_.info.updated = unix_seconds();
    session_.info.n_tokens = timings.n_prompt_tokens + timings.n_generated_tokens;
    return store_->save(hold_, session_);
  }

 private:
  SavedConversation(std::unique_ptr<SessionStore> store, SessionStore::Hold hold)
      : store_(std::move(store)), hold_(std::move(hold)) {}
  std::unique_ptr<SessionStore> store_;
  SessionStore::Hold hold_;
  Session session_;
  std::vector<Message> messages_;
};

class Talk {
 public:
  // `saved` and `tools` may be null.
  Talk(const CommandLine& line, Engine& engine, const ChatCall& call, SavedConversation* saved,
       ToolTalk* tools)
      : line_(line),
        engine_(engine),
        params_(call.params),
        model_(call.model),
        saved_(saved),
        tools_(tools) {
    begin_anew(call.system);
    if (saved == nullptr || saved->messages().empty()) return;
    system_ = saved->system();
    conversation_.messages = saved->messages();
    line.note(fmt::format("session '{}' continues after {} messages", call.session,
                          conversation_.messages.size()));
  }

  void begin_anew() { begin_anew(std::exchange(system_, "")); }
  void begin_anew(std::string system) {
    system_ = std::move(system);
    conversation_.messages.clear();
    if (!system_.empty()) say("system", system_);
  }

  // Answers on stdout. A turn that fails leaves the conversation as it was.
  void take_turn(const std::string& text) {
    say("user", text);
    if (tools_ != nullptr) return take_tool_turn();
    const Result<Answer> answer = reply();
    if (!answer) {
      conversation_.messages.pop_back();
      line_.note(answer.error().message());
      return;
    }
    say("assistant", answer->text);
    if (!answer->text.ends_with('\n')) fmt::print("\n");
    std::fflush(stdout);
    remark(answer->finish, answer->timings);
    save(answer->timings);
  }
  // Whether the last answer could be saved.
  const Status& saved() const { return save_status_; }

 private:
  // The same where the answer may call tools.
  void take_tool_turn() {
    const Result<ToolTurn> turn = tools_->take_turn(conversation_, params_);
    if (!turn) {
      conversation_.messages.pop_back();
      line_.note(turn.error().message());
      return;
    }
    say_full(turn->last.finish, turn->last.timings);
    if (turn->end == ToolLoopEnd::cancelled) line_.note("stopped");
    save(turn->last.timings);
  }

  void say(const char* role, const std::string& text) {
    conversation_.messages.push_back(text_message(role, text));
  }

  void save(const Timings& timings) {
    if (saved_ == nullptr) return;
    save_status_ =
        with_context("the session was not saved",
                     saved_->save(conversation_.messages,
                                  std::filesystem::path(model_).stem().string(), timings));
    if (!save_status_.ok()) line_.note(save_status_.message());
  }

  Result<Answer> reply() {
    const std::vector<Token> prompt = TRY(tokenize_chat(engine_.model(), conversation_));
    if (static_cast<int64_t>(prompt.size()) + 1 > engine_.n_ctx())
      return fail(Code::invalid,
                  "the conversation takes {} tokens and the context holds {}: /reset starts over, "
                  "a larger --ctx holds more",
                  prompt.size(), engine_.n_ctx());
    return ask(engine_, {.prompt = prompt, .params = params_}, [](std::string_view text) {
      fmt::print("{}", text);
      std::fflush(stdout);
    });
  }

  void say_full(FinishReason finish, const Timings& timings) const {
    const int64_t n_used = timings.n_prompt_tokens + timings.n_generated_tokens;
    if (finish == FinishReason::length && n_used >= engine_.n_ctx())
      line_.note(
          fmt::format("the context is full: {} of {} tokens; the answer was cut, /reset "
                      "starts over",
                      n_used, engine_.n_ctx()));
  }

  void remark(FinishReason finish, const Timings& timings) const {
    say_full(finish, timings);
    if (!is_terminal(stderr)) return;
    const TerminalStyle style = style_of(stderr);
    fmt::print(stderr, "{}{}{}{}\n", style.dim, speed_line(timings),
               finish == FinishReason::cancelled ? "; stopped" : "", style.reset);
  }

  const CommandLine& line_;
  Engine& engine_;
  GenerateParams params_;
  std::string model_;
  SavedConversation* saved_;
  ToolTalk* tools_;
  Status save_status_;
  std::string system_;
  Conversation conversation_;
};

// Follows a line that begins with one "/". False: leave.
bool follow_command(const CommandLine& line, Talk& talk, const std::string& text) {
  constexpr std::string_view kSystem = "/system ";
  if (text == "/quit" || text == "/exit") return false;
  if (text == "/help")
    fmt::print(stderr, "{}", kChatHelp);
  else if (text == "/reset")
    talk.begin_anew();
  else if (text.starts_with(kSystem))
    talk.begin_anew(text.substr(kSystem.size()));
  else
    line.note(fmt::format("'{}' is not a command; /help lists them", text));
  return true;
}

void converse(const CommandLine& line, Talk& talk) {
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
      talk.take_turn(typed.text.substr(1));
    else if (!typed.text.starts_with('/'))
      talk.take_turn(typed.text);
    else if (!follow_command(line, talk, typed.text))
      return;
  }
}

Status hold_chat(const CommandLine& line, ChatCall& call) {
  std::optional<SavedConversation> saved;
  if (!call.session.empty()) saved.emplace(TRY(SavedConversation::open(line, call)));
  call.model = TRY(chosen_model(call.model));
  const std::shared_ptr<const Model> model =
      TRY(open_model(call.model, call.engine.n_threads, call.load));
  call.params = line.params_for(model_info(*model), call.params);
  call.engine.draft_model = TRY(open_draft_model(call.engine.n_threads, call.load));
  if (const Status chats = can_chat(*model); !chats.ok())
    return fail(Code::unsupported, "{}; `ruvllm run --raw` continues a text", chats.message());
  const std::unique_ptr<Engine> engine = TRY(open_engine(line, call.model, model, call.engine));
  std::unique_ptr<ToolTalk> tools;
  if (call.tools.any())
    tools = TRY(ToolTalk::open(line, call.tools, *engine, model, is_terminal(stderr)));
  Talk talk(line, *engine, call, saved ? &*saved : nullptr, tools.get());
  converse(line, talk);
  return talk.saved();
}

}  // namespace

int chat_command(int argc, char** argv) {
  ChatCall call;
  CommandLine line("chat", "Holds a conversation.");
  line.example("ruvllm chat -m qwen.gguf --session notes",
               "Goes back to a kept conversation, or starts it");
  line.example("ruvllm chat --tools tools.json",
               "The model may call programs, each after your consent");
  line.text("--model,-m", call.model, kModelHelp);
  add_load_flags(line, call.load);
  add_draft_flag(line, call.load);
  line.text("--system,-s", call.system, "System message");
  line.threads(call.engine.n_threads);
  line.kv(call.engine.kv_type);
  line.integer("--ctx,-c", call.engine.n_ctx, 0, int64_t{1} << 24,
               "Longest conversation in tokens; 0: what the model was trained for");
  line.text("--session", call.session,
            "Name of a conversation to continue where it stopped; kept in --cache-dir, "
            "else in $XDG_CACHE_HOME/ruvllm or ~/.cache/ruvllm");
  add_cache_flags(line, call.engine.cache);
  add_tool_flags(line, call.tools);
  line.generation(call.params, "logprobs");
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (const std::string objection = objection_to(line, call.tools); !objection.empty())
    return line.wrong_call(objection);
  if (call.params.token_healing)
    return line.wrong_call(
        "--token-healing does not apply to a chat: the template ends each prompt");
  if (line.given("--session")) {
    if (const Status named = check_session_name(call.session); !named.ok())
      return line.wrong_call("--session: " + named.message());
    if (call.engine.cache.path.empty()) call.engine.cache.path = default_cache_folder();
    if (call.engine.cache.path.empty())
      return line.wrong_call("there is no home directory: give --cache-dir");
  }
  const Status status = hold_chat(line, call);
  return status.ok() ? kDone : line.failed(status);
}

}  // namespace ruv

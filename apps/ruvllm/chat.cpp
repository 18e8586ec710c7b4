// ruvllm chat: a conversation at the terminal, or one question in each line of a pipe. What a line
// begins with decides: "/" is a command, three quotes a text of several lines.
#include <fmt/format.h>

#include <optional>

#include "command_line.h"
#include "commands.h"
#include "line_editor.h"
#include "lora_flag.h"
#include "talk.h"
#include "terminal.h"

namespace ruv {
namespace {

constexpr const char* kChatHelp =
    "/clear            start over; /reset does the same\n"
    "/system TEXT      set the system message and start over\n"
    "/set NAME VALUE   set an option of sampling, as temperature 0.5; /set alone lists them\n"
    "/model FILE       continue with another model\n"
    "/drop             forget the oldest question and its answer\n"
    "/save FILE        write the messages to a new file, as JSON\n"
    "/load FILE        continue with the messages of such a file\n"
    "/help             this list; /? does the same\n"
    "/bye              leave; /quit and Ctrl-D do the same\n"
    "\"\"\"               begins and ends a text of several lines; pasted lines are one text, and\n"
    "                  Alt-Enter begins a new line\n"
    "Ctrl-C stops an answer. A line that begins with // is sent with one /.\n";

// "/set NAME VALUE"; also "/set parameter NAME VALUE" and "/set system TEXT".
Status set_by_line(Talk& talk, std::string_view rest) {
  constexpr std::string_view kParameter = "parameter ";
  constexpr std::string_view kSystem = "system ";
  if (rest.starts_with(kParameter)) rest.remove_prefix(kParameter.size());
  if (rest.empty()) {
    fmt::print(stderr, "{}", talk.settings());
    return {};
  }
  if (rest.starts_with(kSystem)) {
    talk.begin_anew(std::string(rest.substr(kSystem.size())));
    return {};
  }
  const size_t space = rest.find(' ');
  if (space == rest.npos) return fail(Code::invalid, "/set needs a name and a value");
  return talk.set(std::string(rest.substr(0, space)), std::string(rest.substr(space + 1)));
}

// A command that needs the rest of its line.
Status follow_with_rest(Talk& talk, std::string_view name, const std::string& rest) {
  if (rest.empty()) return fail(Code::invalid, "{} needs a name or a text after it", name);
  if (name == "/system") {
    talk.begin_anew(rest);
    return {};
  }
  if (name == "/model") {
    TRY(talk.use_model(rest));
    fmt::print(stderr, "{}\n", talk.banner());
    return {};
  }
  if (name == "/save") {
    TRY(talk.save_to(rest));
    fmt::print(stderr, "{} messages written to {}\n", talk.n_messages(), rest);
    return {};
  }
  TRY(talk.load_from(rest));
  fmt::print(stderr, "{} messages read from {}\n", talk.n_messages(), rest);
  return {};
}

Status drop(Talk& talk) {
  if (!talk.drop_oldest()) return fail(Code::invalid, "there is nothing to forget");
  fmt::print(stderr, "{} messages are left\n", talk.n_messages());
  return {};
}

// Follows a line that begins with one "/". False: leave.
bool follow_command(const CommandLine& line, Talk& talk, const std::string& text) {
  const size_t space = std::min(text.find(' '), text.size());
  const std::string name = text.substr(0, space);
  std::string rest = text.substr(space);
  rest.erase(0, rest.find_first_not_of(' '));
  rest.erase(rest.find_last_not_of(' ') + 1);
  Status status;
  if (name == "/quit" || name == "/exit" || name == "/bye") return false;
  if (name == "/help" || name == "/?") {
    fmt::print(stderr, "{}", kChatHelp);
  } else if (name == "/reset" || name == "/clear") {
    talk.begin_anew();
  } else if (name == "/drop") {
    status = drop(talk);
  } else if (name == "/set") {
    status = set_by_line(talk, rest);
  } else if (name == "/system" || name == "/model" || name == "/save" || name == "/load") {
    status = follow_with_rest(talk, name, rest);
  } else {
    line.note(fmt::format("'{}' is not a command; /help lists them", text));
  }
  if (!status.ok()) line.error(status.message());
  return true;
}

// The rest of a text that began with three quotes; nothing: it was broken off.
std::optional<std::string> read_quoted(LineEditor& editor, const std::string& first) {
  constexpr std::string_view kQuotes = "\"\"\"";
  std::string text = first.substr(kQuotes.size());
  bool ends = text.ends_with(kQuotes);
  while (!ends) {
    const TypedLine typed = editor.read("... ");
    if (typed.kind != TypedLine::Kind::text) return std::nullopt;
    if (!text.empty()) text += '\n';
    text += typed.text;
    ends = text.ends_with(kQuotes);
  }
  text.resize(text.size() - kQuotes.size());
  text.erase(text.find_last_not_of('\n') + 1);
  return text;
}

void converse(const CommandLine& line, Talk& talk) {
  LineEditor editor(history_path());
  // Between answers Ctrl-C must not end the program either.
  std::optional<InterruptScope> ctrl_c;
  if (editor.interactive()) {
    ctrl_c.emplace();
    if (!is_quiet()) fmt::print("{}\n/help lists the commands, Ctrl-D leaves\n", talk.banner());
  }
  while (true) {
    const TypedLine typed = editor.read("> ");
    if (typed.kind == TypedLine::Kind::end) return;
    if (typed.kind == TypedLine::Kind::interrupted || typed.text.empty()) continue;
    if (typed.text.starts_with("\"\"\"")) {
      const std::optional<std::string> text = read_quoted(editor, typed.text);
      if (!text) {
        line.note("the text was not sent, as no \"\"\" ended it");
      } else if (!text->empty()) {
        talk.take_turn(*text);
      }
    } else if (typed.text.starts_with("//")) {
      talk.take_turn(typed.text.substr(1));
    } else if (!typed.text.starts_with('/')) {
      talk.take_turn(typed.text);
    } else if (!follow_command(line, talk, typed.text)) {
      return;
    }
  }
}

Status hold_chat(const CommandLine& line, ChatCall& call) {
  std::optional<SavedConversation> saved;
  if (!call.session.empty()) saved.emplace(TRY(SavedConversation::open(line, call)));
  const std::unique_ptr<Talk> talk = TRY(Talk::open(line, call, saved ? &*saved : nullptr));
  converse(line, *talk);
  return talk->saved();
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
  call.load.quantize = "auto";
  add_load_flags(line, call.load);
  add_draft_flag(line, call.load);
  add_lora_flag(line, call.engine.lora);
  line.text("--system,-s", call.system, "System message");
  line.flag("--plain", call.plain,
            "Show answers as they are: Markdown is not rendered and long lines are not wrapped");
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

#include "talk.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include "answer.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "chat/read_conversation.h"
#include "default_model.h"
#include "help_text.h"
#include "ruv/options.h"
#include "ruv/prompts.h"
#include "terminal.h"

namespace ruv {

Result<SavedConversation> SavedConversation::open(const CommandLine& line, const ChatCall& call) {
  std::unique_ptr<SessionStore> store = TRY(open_sessions(line, call.engine.cache));
  SessionStore::Hold hold = TRY(store->hold("", call.session));
  SavedConversation saved(std::move(store), std::move(hold));
  const Result<Session> before = saved.store_->load("", call.session);
  if (!before && before.error().code() != Code::not_found) return failure(Status(before.error()));
  saved.session_.info.name = call.session;
  saved.session_.info.created = unix_seconds();
  if (before) saved.session_ = *before;
  if (before) saved.messages_ = TRY(read_session_messages(*before));
  if (saved.messages_.empty() || call.system.empty() || call.system == saved.system()) return saved;
  return fail(Code::invalid,
              "session '{}' was started without this --system: omit it, or type /system TEXT to "
              "start over",
              call.session);
}

std::string SavedConversation::system() const {
  const bool has_one = !messages_.empty() && messages_[0].role == "system";
  return has_one ? joined_text(messages_[0]) : std::string();
}

Status SavedConversation::save(const std::vector<Message>& messages, const std::string& model,
                               const Timings& timings) {
  set_session_messages(session_, messages);
  session_.info.model = model;
  session_.info.updated = unix_seconds();
  session_.info.n_tokens = timings.n_prompt_tokens + timings.n_generated_tokens;
  return store_->save(hold_, session_);
}

Result<Talk::Voice> Talk::load(const CommandLine& line, const ChatCall& call,
                               const std::string& path) {
  Voice voice;
  const ChosenModel chosen = TRY(chosen_model(path));
  voice.path = chosen.path;
  voice.model = TRY(open_model(chosen, call.engine.n_threads, call.load));
  if (const Status chats = can_chat(*voice.model); !chats.ok())
    return fail(Code::unsupported, "{}; `ruvllm run --raw` continues a text", chats.message());
  EngineCall engine = call.engine;
  engine.draft_model = TRY(open_draft_model(engine.n_threads, call.load));
  voice.engine = TRY(open_engine(line, voice.path, voice.model, engine));
  if (call.tools.any()) {
    const bool speeds = is_terminal(stderr) && !is_quiet();
    voice.tools = TRY(ToolTalk::open(line, call.tools, *voice.engine, voice.model,
                                     {screen_form(call.plain), speeds}));
  }
  return voice;
}

Result<std::unique_ptr<Talk>> Talk::open(const CommandLine& line, const ChatCall& call,
                                         SavedConversation* saved) {
  Voice voice = TRY(load(line, call, call.model));
  return std::unique_ptr<Talk>(new Talk(line, call, saved, std::move(voice)));
}

Talk::Talk(const CommandLine& line, const ChatCall& call, SavedConversation* saved, Voice voice)
    : line_(line),
      call_(call),
      voice_(std::move(voice)),
      params_(line.params_for(model_info(*voice_.model), call.params)),
      saved_(saved) {
  begin_anew(call.system);
  if (saved == nullptr || saved->messages().empty()) return;
  system_ = saved->system();
  conversation_.messages = saved->messages();
  line.note(fmt::format("session '{}' continues after {} messages", call.session,
                        conversation_.messages.size()));
}

std::string Talk::banner() const {
  const ModelInfo info = model_info(*voice_.model);
  const bool is_toy = voice_.path == default_model_path();
  const std::string name =
      info.name.empty() ? std::filesystem::path(voice_.path).stem().string() : info.name;
  return fmt::format("{}, context {} tokens, keys and values in {}{}", name, voice_.engine->n_ctx(),
                     kv_type_name(voice_.engine->kv_stats().type),
                     is_toy
                         ? "\nThis is the built-in model, a toy to try the program with; --model "
                           "FILE or /model FILE takes a real one"
                         : "");
}

void Talk::begin_anew(std::string system) {
  system_ = std::move(system);
  conversation_.messages.clear();
  if (!system_.empty()) say("system", system_);
}

void Talk::take_turn(const std::string& text) {
  say("user", text);
  if (voice_.tools != nullptr) return take_tool_turn();
  const Result<Answer> answer = reply();
  if (!answer) {
    conversation_.messages.pop_back();
    line_.error(answer.error().message());
    return;
  }
  say("assistant", answer->text);
  std::fflush(stdout);
  remark(answer->finish, answer->timings);
  save(answer->timings);
}

// The same where the answer may call tools.
void Talk::take_tool_turn() {
  const Result<ToolTurn> turn = voice_.tools->take_turn(conversation_, params_);
  if (!turn) {
    conversation_.messages.pop_back();
    line_.error(turn.error().message());
    return;
  }
  say_full(turn->last.finish, turn->last.timings);
  if (turn->end == ToolLoopEnd::cancelled) line_.note("stopped");
  save(turn->last.timings);
}

void Talk::say(const char* role, const std::string& text) {
  conversation_.messages.push_back(text_message(role, text));
}

void Talk::save(const Timings& timings) {
  if (saved_ == nullptr) return;
  const std::string model = std::filesystem::path(voice_.path).stem().string();
  save_status_ = with_context("the session was not saved",
                              saved_->save(conversation_.messages, model, timings));
  if (!save_status_.ok()) line_.error(save_status_.message());
}

std::string Talk::ways_out() const {
  const bool can_grow = voice_.engine->n_ctx() < model_info(*voice_.model).n_ctx_train;
  return fmt::format("/drop forgets the oldest question and its answer, /clear starts over{}{}",
                     params_.context_shift ? "" : ", --context-shift does the first by itself",
                     can_grow ? ", a larger --ctx holds more" : "");
}

Result<std::vector<Token>> Talk::prompt() {
  size_t n_dropped = 0;
  while (true) {
    std::vector<Token> ids = TRY(tokenize_chat(voice_.engine->model(), conversation_));
    const int64_t n_ctx = voice_.engine->n_ctx();
    // With context_shift a quarter is left for the answer.
    const int64_t n_free = params_.context_shift ? n_ctx / 4 : 1;
    if (static_cast<int64_t>(ids.size()) + n_free <= n_ctx) {
      if (n_dropped > 0)
        line_.note(fmt::format("the context is full: {} messages at its beginning were dropped",
                               n_dropped));
      return ids;
    }
    const size_t before = n_messages();
    if (params_.context_shift && drop_oldest()) {
      n_dropped += before - n_messages();
      continue;
    }
    if (static_cast<int64_t>(ids.size()) + 1 <= n_ctx) return ids;
    return fail(Code::invalid, "the conversation takes {} tokens and the context holds {}: {}",
                ids.size(), n_ctx, ways_out());
  }
}

Result<Answer> Talk::reply() {
  const std::vector<Token> ids = TRY(prompt());
  AnswerScreen screen(screen_form(call_.plain));
  Result<Answer> answer =
      ask(*voice_.engine, {.prompt = ids, .params = params_}, [&](std::string_view text) {
        screen.add(text);
        std::fflush(stdout);
      });
  screen.finish();
  return answer;
}

void Talk::say_full(FinishReason finish, const Timings& timings) const {
  const int64_t n_used = timings.n_prompt_tokens + timings.n_generated_tokens;
  const int64_t n_ctx = voice_.engine->n_ctx();
  if (finish == FinishReason::length && n_used >= n_ctx)
    line_.note(fmt::format("the context is full: {} of {} tokens; the answer was cut; {}", n_used,
                           n_ctx, ways_out()));
}

void Talk::remark(FinishReason finish, const Timings& timings) const {
  say_full(finish, timings);
  if (!is_terminal(stderr) || is_quiet()) return;
  const TerminalStyle style = style_of(stderr);
  fmt::print(stderr, "{}{}{}{}\n", style.dim, speed_line(timings),
             finish == FinishReason::cancelled ? "; stopped" : "", style.reset);
}

Status Talk::use_model(const std::string& path) {
  Voice voice = TRY(load(line_, call_, path));
  voice_.tools.reset();  // before the engine that it asks
  voice_ = std::move(voice);
  params_ = line_.params_for(model_info(*voice_.model), call_.params);
  for (const auto& [name, value] : std::map(set_)) TRY(set(name, value));
  return {};
}

Status Talk::set(const std::string& name, const std::string& value) {
  std::string row_name = name;
  std::ranges::replace(row_name, '-', '_');
  const OptionRow* const row = find_generate_option(row_name);
  if (row == nullptr) return fail(Code::invalid, "there is no option '{}' to set", name);
  if (row->name == std::string_view("logprobs") || row->name == std::string_view("token_healing"))
    return fail(Code::invalid, "'{}' does not apply to a chat", name);
  TRY(with_context("/set", set_option_text(*row, params_, value)));
  set_.insert_or_assign(name, value);
  return {};
}

std::string Talk::settings() const {
  std::string out;
  for (const OptionRow& row : generate_options()) {
    const OptionValue value = row.get(params_);
    std::string text;
    if (const auto* whole = std::get_if<int64_t>(&value)) text = fmt::format("{}", *whole);
    if (const auto* number = std::get_if<double>(&value)) text = fmt::format("{:g}", *number);
    if (const auto* flag = std::get_if<bool>(&value)) text = *flag ? "true" : "false";
    if (!text.empty()) out += fmt::format("{:<24}{}\n", row.name, text);
  }
  return out;
}

Status Talk::save_to(const std::string& path) const {
  FileWriter file = TRY(FileWriter::create(path, {.readers = FileReaders::owner}));
  const Json json{{"model", std::filesystem::path(voice_.path).stem().string()},
                  {"messages", messages_json(conversation_.messages)}};
  const std::string text = json.dump() + '\n';
  TRY(file.write(std::as_bytes(std::span(text))));
  return file.commit();
}

Status Talk::load_from(const std::string& path) {
  const std::string text = TRY(read_text_file(path));
  const Json json = TRY(parse_json(text, path));
  const Json* const list = json.is_object() ? json.find("messages") : &json;
  if (list == nullptr || !list->is_array())
    return fail(Code::invalid, "{}: a list of messages, or an object with \"messages\", is needed",
                path);
  auto messages = read_messages(*list);
  if (!messages) return with_context(path, status_of(messages.error()));
  conversation_.messages = std::move(*messages);
  const bool has_system =
      !conversation_.messages.empty() && conversation_.messages.front().role == "system";
  system_ = has_system ? joined_text(conversation_.messages.front()) : std::string();
  return {};
}

bool Talk::drop_oldest() {
  std::vector<Message>& messages = conversation_.messages;
  const auto is_user = [](const Message& message) { return message.role == "user"; };
  const auto first = std::ranges::find_if(messages, is_user);
  if (first == messages.end()) return false;
  const auto next = std::find_if(first + 1, messages.end(), is_user);
  if (next == messages.end() && first + 1 == messages.end()) return false;  // it is asked now
  messages.erase(first, next);
  return true;
}

}  // namespace ruv

// ruvllm sessions: the kept conversations of a cache folder: list, show, delete.
#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/json.h"
#include "cache_folder.h"
#include "chat/read_conversation.h"
#include "command_line.h"
#include "commands.h"
#include "iso_time.h"

namespace ruv {
namespace {

struct SessionsCall {
  std::string action;
  std::string name;
  std::string user;
  bool all_users = true;
  bool json = false;
  CacheFolder cache;
};

Json info_json(const SessionInfo& info) {
  return {{"name", info.name},        {"user", info.user},       {"model", info.model},
          {"created", info.created},  {"updated", info.updated}, {"n_messages", info.n_messages},
          {"n_tokens", info.n_tokens}};
}

Status list(const CommandLine& line, const SessionsCall& call) {
  // The default folder need not be there yet; one that was named should.
  if (line.given("--cache-dir") && !is_directory(call.cache.path))
    return fail(Code::not_found, "{}: no such folder", call.cache.path);
  const auto store = TRY(open_sessions(line, call.cache, true));
  std::vector<SessionInfo> found = store->list_all();
  if (!call.all_users)
    std::erase_if(found, [&](const SessionInfo& info) { return info.user != call.user; });
  if (call.json) {
    Json sessions = Json::array();
    for (const SessionInfo& info : found) sessions.push_back(info_json(info));
    print_json_line(Json{{"sessions", std::move(sessions)}});
    return {};
  }
  size_t width = 4;
  for (const SessionInfo& info : found) width = std::max(width, info.name.size());
  fmt::print("{:<{}}  messages   tokens  last used (UTC)   model, user\n", "name", width);
  for (const SessionInfo& info : found)
    fmt::print("{:<{}}  {:>8} {:>8}  {:<16}  {}{}{}\n", info.name, width, info.n_messages,
               info.n_tokens, utc_text(info.updated), info.model, info.user.empty() ? "" : ", ",
               info.user);
  return {};
}

// The calls of a message, as JSON.
std::string calls_text(const Message& message) {
  const Json* members = message.members.json();
  const Json* calls = members == nullptr ? nullptr : members->find("tool_calls");
  return calls == nullptr ? "" : "[calls " + calls->dump() + "]";
}

Status show(const CommandLine& line, const SessionsCall& call) {
  const auto store = TRY(open_sessions(line, call.cache, true));
  const Session session = TRY(store->load(call.user, call.name));
  const std::vector<Message> messages = TRY(read_session_messages(session));
  if (call.json) {
    Json json = info_json(session.info);
    json["messages"] = messages_json(messages);
    print_json_line(json);
    return {};
  }
  for (const Message& message : messages) {
    fmt::print("{}: {}{}\n", message.role, joined_text(message), calls_text(message));
  }
  return {};
}

Status erase(const CommandLine& line, const SessionsCall& call) {
  const auto store = TRY(open_sessions(line, call.cache));
  const SessionStore::Hold hold = TRY(store->hold(call.user, call.name));
  TRY(store->erase(hold));
  if (call.json) print_json_line(Json{{"deleted", call.name}});
  return {};
}

}  // namespace

int sessions_command(int argc, char** argv) {
  SessionsCall call;
  CommandLine line("sessions", "Lists, shows and deletes kept conversations.");
  line.example("ruvllm sessions show notes", "The messages of one conversation");
  line.text("action", call.action, "list, show or delete");
  line.choices({"list", "show", "delete"});
  line.text("name", call.name, "The session to show or delete");
  line.text("--user", call.user,
            "Owner: the `user` of a server's requests; absent: sessions without an owner");
  line.flag("--json", call.json, "Print one JSON object");
  add_session_flags(line, call.cache);
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  call.all_users = !line.given("--user");
  const bool lists = call.action == "list";
  if (!lists && call.action != "show" && call.action != "delete")
    return line.wrong_call("say what to do: list, show NAME or delete NAME");
  if (lists == !call.name.empty())
    return line.wrong_call(lists ? "list takes no name" : call.action + " needs a name");
  if (call.cache.path.empty()) call.cache.path = default_cache_folder();
  if (call.cache.path.empty())
    return line.wrong_call("there is no home directory: give --cache-dir");
  const Status status = lists                   ? list(line, call)
                        : call.action == "show" ? show(line, call)
                                                : erase(line, call);
  return status.ok() ? kDone : line.failed(status);
}

}  // namespace ruv

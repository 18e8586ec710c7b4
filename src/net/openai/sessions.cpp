// The turn of a chat request in its session; GET, PUT and DELETE under /v1/sessions.
#include "net/openai/sessions.h"

#include <algorithm>
#include <new>

#include "chat/read_conversation.h"
#include "net/memory/session_search.h"
#include "net/openai/adapter_choice.h"
#include "net/openai/api_route.h"
#include "net/openai/conversation.h"
#include "net/openai/query.h"
#include "net/openai/routes.h"

namespace ruv {
namespace {

constexpr int64_t kMaxListed = 1000;

// The HTTP status of a failure of the store.
ApiError session_error(const Status& status) {
  ApiError error = api_error(status, "session");
  if (status.code() == Code::unavailable) {
    error = {409, "invalid_request_error", status.message(), "session", "session_busy"};
  } else if (status.code() == Code::corrupt) {
    error = {500, "server_error", status.message(), "session", "session_damaged"};
  } else if (status.code() == Code::not_found) {
    error.code = "session_not_found";
  }
  return error;
}

template <class T>
ApiResult<T> answered(Result<T> result) {
  if (!result) return tl::unexpected(session_error(result.error()));
  return std::move(*result);
}
ApiResult<void> answered(const Status& status) {
  if (!status.ok()) return tl::unexpected(session_error(status));
  return {};
}

// The limit of a stored conversation.
ApiResult<void> check_size(const Session& session) {
  if (session.messages.size() <= kMaxSessionTextBytes) return {};
  return tl::unexpected(bad_request(
      "session",
      fmt::format("session '{}' would have {} bytes of messages, at most {} are kept; begin "
                  "another",
                  session.info.name, session.messages.size(), kMaxSessionTextBytes),
      "session_too_long"));
}

// Puts members of an answer into the message that it continues.
void add_members(Message& message, const Json& members) {
  const Json* before = message.members.json();
  Json joined = before != nullptr ? *before : Json::object();
  joined.update(members);
  message.members = TemplateValue(std::move(joined));
}

// The query of a path under /v1/sessions.
struct SessionQuery {
  std::string user;
  SessionStore::Which which = {.limit = kMaxListed};
};

// A parameter of a list. False: there is none of this name.
ApiResult<bool> read_list_parameter(const QueryParameter& parameter, SessionStore::Which& which) {
  const auto& [name, value] = parameter;
  if (name == "after") {
    which.after = value;
    TRY(answered(check_session_name(value)));
  } else if (name == "limit") {
    which.limit = static_cast<size_t>(TRY(query_integer(parameter, {1, kMaxListed})));
  } else if (name == "model") {
    which.model = value;
  } else if (name == "adapter") {
    which.adapter = value;
  } else if (name == "since") {
    which.since_s = TRY(query_integer(parameter, {0, INT64_MAX}));
  } else if (name == "until") {
    which.until_s = TRY(query_integer(parameter, {0, INT64_MAX}));
  } else {
    return false;
  }
  return true;
}

ApiResult<void> read_parameter(const QueryParameter& parameter, bool lists, SessionQuery& query) {
  const auto& [name, value] = parameter;
  if (name == "user") {
    query.user = value;
    if (value.size() <= kMaxTermBytes && value.find('\0') == std::string::npos) return {};
    return tl::unexpected(bad_request(
        "user", fmt::format("'user' must have at most {} bytes, none of them NUL", kMaxTermBytes)));
  }
  if (lists && TRY(read_list_parameter(parameter, query.which))) return {};
  return tl::unexpected(unknown_parameter(
      name, lists ? "user, after, limit, model, adapter, since or until" : "user"));
}

// Unknown parameters are refused.
ApiResult<SessionQuery> read_query(const HttpRequest& http, bool lists) {
  SessionQuery query;
  for (const QueryParameter& parameter : query_parameters(http.query)) {
    TRY(read_parameter(parameter, lists, query));
  }
  query.user = TRY(tenant_of(http, query.user));
  return query;
}

// GET /v1/sessions.
ApiResult<Json> list_sessions(const ServerParts& server, const HttpRequest& http) {
  const SessionStore* const store = TRY(kept_sessions(server));
  SessionQuery query = TRY(read_query(http, true));
  const size_t limit = query.which.limit++;
  std::vector<SessionInfo> found = store->list(query.user, query.which);
  const bool has_more = found.size() > limit;
  if (has_more) found.pop_back();
  Json list = Json::array();
  for (const SessionInfo& info : found) list.push_back(session_json(info));
  return Json{{"object", "list"}, {"data", std::move(list)}, {"has_more", has_more}};
}

// GET /v1/sessions/{name}.
ApiResult<Json> get_session(const ServerParts& server, const HttpRequest& http) {
  const SessionStore* const store = TRY(kept_sessions(server));
  const SessionQuery query = TRY(read_query(http, false));
  const Session session = TRY(answered(store->load(query.user, http.path_tail)));
  Json json = session_json(session.info);
  json["messages"] = messages_json(TRY(answered(read_session_messages(session))));
  return json;
}

// Replaces the whole conversation. The session is free when this returns.
ApiResult<Json> replace_session(const ServerCall& call, const std::string& model) {
  const HttpRequest& http = call.http;
  SessionStore* const store = TRY(kept_sessions(call.server));
  const SessionQuery query = TRY(read_query(http, false));
  const Conversation conversation = TRY(read_chat(call.body, MessageCheck::members));
  TRY(check_awaited(http));
  const SessionStore::Hold hold = TRY(answered(store->hold(query.user, http.path_tail)));
  const Result<Session> before = store->load(query.user, http.path_tail);
  const int64_t now = call.server.unix_time();
  Session session;
  session.info = {.user = query.user,
                  .name = http.path_tail,
                  .model = model,
                  .created = before ? before->info.created : now,
                  .updated = now};
  if (before) session.info.adapters = before->info.adapters;
  set_session_messages(session, conversation.messages);
  TRY(check_size(session));
  TRY(answered(store->save(hold, session)));
  // It may look the same from outside.
  TRY(forget_session(call.server.memory, query.user, http.path_tail));
  return session_json(session.info);
}

// DELETE /v1/sessions/{name}.
ApiResult<Json> delete_session(const ServerParts& server, const HttpRequest& http) {
  SessionStore* const store = TRY(kept_sessions(server));
  const SessionQuery query = TRY(read_query(http, false));
  const SessionStore::Hold hold = TRY(answered(store->hold(query.user, http.path_tail)));
  TRY(answered(store->erase(hold)));
  TRY(forget_session(server.memory, query.user, http.path_tail));
  return Json{{"object", "session.deleted"}, {"name", http.path_tail}, {"deleted", true}};
}

using SessionAnswer = ApiResult<Json> (*)(const ServerParts&, const HttpRequest&);

Route session_route(ServedModels& models, const char* method, const char* path,
                    SessionAnswer answer) {
  Route route = simple_route(method, path, [&models, answer](const HttpRequest& http) {
    const ApiResult<Json> json = answer(models.parts(), http);
    if (!json) return error_response(json.error());
    return HttpResponse{.body = json->dump()};
  });
  route.scope = KeyScope::sessions;
  return route;
}

}  // namespace

ApiResult<SessionStore*> kept_sessions(const ServerParts& server) {
  if (server.sessions != nullptr) return &server.sessions->store();
  return tl::unexpected(bad_request("session",
                                    "this server keeps no sessions: it was started without "
                                    "--cache-dir",
                                    "sessions_off"));
}

Json session_json(const SessionInfo& info) {
  Json json = {{"object", "session"},       {"name", info.name},
               {"model", info.model},       {"created", info.created},
               {"updated", info.updated},   {"n_messages", info.n_messages},
               {"n_tokens", info.n_tokens}, {"lora", Json::array()}};
  for (const SessionAdapter& adapter : info.adapters) {
    json["lora"].push_back({{"name", adapter.name}, {"scale", adapter.scale}});
  }
  return json;
}

SessionKeeper::~SessionKeeper() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

// Jobs run in the order of the calls.
void SessionKeeper::post(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  wake_.notify_one();
}

void SessionKeeper::keep_for(int64_t seconds, std::function<int64_t()> unix_time,
                             std::function<void(const SessionInfo&)> removed) {
  const std::lock_guard lock(mutex_);
  hourly_ = [this, seconds, unix_time = std::move(unix_time), removed = std::move(removed)] {
    store_.erase_before(unix_time() - seconds, removed);
  };
  next_ = std::chrono::steady_clock::now();
  wake_.notify_one();
}

// Until there is a job, or the thread stops; what is due each hour becomes a job.
void SessionKeeper::wait_for_work(std::unique_lock<std::mutex>& lock) {
  while (!stopping_ && jobs_.empty()) {
    if (!hourly_) {
      wake_.wait(lock);
    } else if (std::chrono::steady_clock::now() >= next_) {
      next_ = std::chrono::steady_clock::now() + std::chrono::hours(1);
      jobs_.push_back(hourly_);
    } else {
      wake_.wait_until(lock, next_);
    }
  }
}

// Runs jobs in order; on stop, the waiting ones first.
void SessionKeeper::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wait_for_work(lock);
    if (jobs_.empty()) return;
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    job = nullptr;  // what it holds goes before the lock is taken again
    lock.lock();
  }
}

ApiResult<std::shared_ptr<SessionTurn>> SessionTurn::begin(const OpenAiService& service,
                                                           GenerateRequest& request) {
  SessionStore* const store = TRY(kept_sessions(service));
  const std::string& user = request.terms.tenant;
  SessionStore::Hold hold = TRY(answered(store->hold(user, request.session)));
  std::shared_ptr<SessionTurn> turn(new SessionTurn(service, std::move(hold)));
  Result<Session> before = store->load(user, request.session);
  if (!before && before.error().code() != Code::not_found)
    return tl::unexpected(session_error(before.error()));
  if (!before) {
    before.emplace();
    before->info.user = user;
    before->info.name = request.session;
    before->info.created = service.unix_time();
  }
  TRY(turn->join(*before, request));
  TRY(turn->choose_adapters(request));
  return turn;
}

// The name that an adapter has where the request gave its number; unknown numbers are refused with
// the answer.
std::string SessionTurn::name_of(const AdapterChoice& choice) const {
  if (choice.id < 0 || service_.adapters == nullptr) return choice.name;
  for (const AdapterRecord& record : service_.adapters->list()) {
    if (id_of(record) == choice.id) return record.name;
  }
  return choice.name;
}

ApiResult<void> SessionTurn::choose_adapters(GenerateRequest& request) {
  model_ = shown_model(service_, request.model);
  std::vector<SessionAdapter>& kept = session_.info.adapters;
  if (request.lora) {
    kept.clear();
    for (const AdapterChoice& choice : *request.lora) {
      kept.push_back({name_of(choice), choice.scale});
    }
    return {};
  }
  if (kept.empty() || names_adapter(service_, request.model)) return {};
  request.lora.emplace();
  for (const SessionAdapter& adapter : kept) {
    if (!names_adapter(service_, adapter.name)) {
      return tl::unexpected(bad_request(
          "session",
          fmt::format("session '{}' is answered with the adapter '{}', which is not loaded: load "
                      "it, or say in 'lora' which to use",
                      session_.info.name, adapter.name),
          "session_adapter_missing"));
    }
    request.lora->push_back({.name = adapter.name, .scale = adapter.scale});
  }
  return {};
}

ApiResult<void> SessionTurn::join(const Session& before, GenerateRequest& request) {
  session_ = before;
  std::vector<Message> messages = TRY(answered(read_session_messages(before)));
  std::vector<Message>& added = request.conversation.messages;
  add_session_messages(session_, added);
  TRY(check_size(session_));
  std::ranges::move(added, std::back_inserter(messages));
  added = std::move(messages);
  if (request.conversation.end == PromptEnd::open_message) open_ = added;
  return {};
}

void SessionTurn::keep(const Message& answer, int64_t n_tokens, std::function<void(Status)> kept) {
  if (open_.empty()) {
    add_session_messages(session_, {&answer, 1});
  } else {
    std::get<TextContent>(open_.back().parts.back()).text += joined_text(answer);
    if (answer.members.json() != nullptr) add_members(open_.back(), *answer.members.json());
    set_session_messages(session_, open_);
  }
  session_.info.model = model_;
  session_.info.updated = service_.unix_time();
  session_.info.n_tokens = n_tokens;
  service_.sessions->post([self = shared_from_this(), kept = std::move(kept)] {
    const Status status = self->save();
    self->hold_.reset();
    kept(status);
  });
}

// The keeper's thread must survive running out of memory.
Status SessionTurn::save() const {
  try {
    return service_.sessions->store().save(*hold_, session_);
  } catch (const std::bad_alloc&) {
    return fail(Code::out_of_memory, "no memory left to save session '{}'", session_.info.name);
  }
}

std::vector<Route> session_routes(ServedModels& models) {
  const auto put_session = [&models](const ServerCall& call,
                                     const std::shared_ptr<Reply>& reply) -> ApiResult<void> {
    const Json json = TRY(replace_session(call, models.list().front().names.front()));
    send_response(reply, {.body = json.dump()});
    return {};
  };
  Route put = server_route(models, "PUT", "/v1/sessions/{name}", session_fields(), put_session);
  put.scope = KeyScope::sessions;
  return {session_route(models, "GET", "/v1/sessions", list_sessions),
          session_route(models, "GET", "/v1/sessions/{name}", get_session), std::move(put),
          session_route(models, "DELETE", "/v1/sessions/{name}", delete_session)};
}

}  // namespace ruv

// For tests of the HTTP layer: a real server over TCP with a scripted engine, which answers
// requests that are written in JSON, and says what the engine was asked.
#pragma once

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <limits>

#include "base/hash.h"
#include "learn/teaching.h"
#include "net/http/server.h"
#include "net/http/test_client.h"
#include "net/memory/served_memory.h"
#include "net/one_model.h"
#include "net/openai/routes.h"
#include "net/scripted_engine.h"

namespace ruv {

// A list of {"id", "logprob", "top": [[id, logprob], …], "rank"?}.
inline std::vector<Event::Logprobs> to_logprobs(const Json& json) {
  std::vector<Event::Logprobs> all;
  for (const Json& row : json) {
    Event::Logprobs logprobs;
    logprobs.chosen = {row.at("id").get<Token>(), row.at("logprob").get<float>()};
    for (const Json& pair : row.at("top")) {
      logprobs.top.push_back({pair[0].get<Token>(), pair[1].get<float>()});
    }
    logprobs.rank = row.value("rank", 1);
    all.push_back(std::move(logprobs));
  }
  return all;
}

// {"text", "ids"?, "n_healed_bytes"?, "logprobs"?, "prompt_logprobs"?}
inline Event to_event(const Json& json) {
  Event event;
  event.text = json.value("text", "");
  event.ids = json.value("ids", std::vector<Token>{0});
  event.n_healed_bytes = json.value("n_healed_bytes", 0);
  event.logprobs = to_logprobs(json.value("logprobs", Json::array()));
  event.prompt_logprobs = to_logprobs(json.value("prompt_logprobs", Json::array()));
  return event;
}

inline Script to_script(const Json& json) {
  Script script;
  for (const Json& event : json.at("events")) script.events.push_back(to_event(event));
  const std::string finish = json.value("finish", "stop");
  if (finish == "length") script.finish = FinishReason::length;
  if (finish == "error") {
    script.finish = FinishReason::error;
    script.status = Status(Code::internal, "the script fails here");
  }
  if (finish == "cancelled") script.finish = FinishReason::cancelled;
  return script;
}

inline Json scales_of(const std::vector<AdapterUse>& adapters) {
  Json scales = Json::array();
  for (const AdapterUse& use : adapters) scales.push_back(use.scale);
  return scales;
}

// What the engine was asked, where it differs from what the API asks by default.
inline Json asked(const Request& request) {
  std::string prompt;
  for (const Token id : request.prompt) {
    prompt += id < 256 ? std::string(1, static_cast<char>(id)) : fmt::format("[{}]", id);
  }
  Json json = {{"prompt", prompt}};
  const auto note = [&](const char* name, const auto& value, const auto& ordinary) {
    if (value != ordinary) json[name] = value;
  };
  const auto note_terms = [&, &terms = request.terms] {
    note("tenant", terms.tenant, std::string());
    note("cache_salt", terms.cache_salt, std::string());
    note("priority", static_cast<int>(terms.priority), static_cast<int>(Priority::normal));
    note("timeout_ms", terms.timeout_ms, int64_t{0});
  };
  if (request.output == RequestOutput::hidden) {
    note_terms();
    json["pooling"] = pooling_name(request.pooling);
    return json;
  }
  const GenerateParams usual;
  const GenerateParams& p = request.params;
  note("max_tokens", p.max_tokens, usual.max_tokens);
  note("min_tokens", p.min_tokens, usual.min_tokens);
  note("bad_words", p.bad_words, usual.bad_words);
  note("allowed_token_ids", p.allowed_token_ids, usual.allowed_token_ids);
  note("temperature", p.temperature, usual.temperature);
  note("top_k", p.top_k, usual.top_k);
  note("top_p", p.top_p, usual.top_p);
  note("min_p", p.min_p, usual.min_p);
  note("typical_p", p.typical_p, usual.typical_p);
  note("top_n_sigma", p.top_n_sigma, usual.top_n_sigma);
  note("xtc_probability", p.xtc_probability, usual.xtc_probability);
  note("xtc_threshold", p.xtc_threshold, usual.xtc_threshold);
  note("dynatemp_range", p.dynatemp_range, usual.dynatemp_range);
  note("dynatemp_exponent", p.dynatemp_exponent, usual.dynatemp_exponent);
  note("repetition_penalty", p.repetition_penalty, usual.repetition_penalty);
  note("repetition_window", p.repetition_window, usual.repetition_window);
  note("presence_penalty", p.presence_penalty, usual.presence_penalty);
  note("frequency_penalty", p.frequency_penalty, usual.frequency_penalty);
  note("dry_multiplier", p.dry_multiplier, usual.dry_multiplier);
  note("dry_base", p.dry_base, usual.dry_base);
  note("dry_allowed_length", p.dry_allowed_length, usual.dry_allowed_length);
  note("dry_penalty_last_n", p.dry_penalty_last_n, usual.dry_penalty_last_n);
  note("dry_sequence_breakers", p.dry_sequence_breakers, usual.dry_sequence_breakers);
  note("mirostat", p.mirostat, usual.mirostat);
  note("mirostat_tau", p.mirostat_tau, usual.mirostat_tau);
  note("mirostat_eta", p.mirostat_eta, usual.mirostat_eta);
  note("adaptive_target", p.adaptive_target, usual.adaptive_target);
  note("adaptive_decay", p.adaptive_decay, usual.adaptive_decay);
  if (p.samplers) json["samplers"] = *p.samplers;
  note("stop", p.stop, usual.stop);
  note("include_stop", p.include_stop, usual.include_stop);
  note("min_indent", p.min_indent, usual.min_indent);
  note("max_predict_ms", p.max_predict_ms, usual.max_predict_ms);
  note("context_shift", p.context_shift, usual.context_shift);
  note("n_keep", p.n_keep, usual.n_keep);
  note("stop_tokens", p.stop_tokens, usual.stop_tokens);
  note("shown_tokens", p.shown_tokens, usual.shown_tokens);
  note("ignore_eos", p.ignore_eos, usual.ignore_eos);
  note("n_logprobs", p.n_logprobs, usual.n_logprobs);
  note("n_prompt_logprobs", p.n_prompt_logprobs, usual.n_prompt_logprobs);
  note("token_healing", p.token_healing, usual.token_healing);
  note("cache_prefix", p.cache_prefix, usual.cache_prefix);
  note("min_cache_tokens", p.min_cache_tokens, usual.min_cache_tokens);
  note("speculative", p.speculative, usual.speculative);
  note("repair", p.repair, usual.repair);
  note_terms();
  if (request.adapters) json["adapters"] = scales_of(*request.adapters);
  if (p.token_healing) json["n_fixed_tokens"] = request.n_fixed_tokens;
  if (p.seed) json["seed"] = *p.seed;
  if (request.reasoning) {
    json["reasoning"] = {{"begin", request.reasoning->begin},
                         {"end", request.reasoning->end},
                         {"is_open", request.reasoning->is_open},
                         {"max_tokens", request.reasoning->max_tokens}};
  }
  for (const auto& [id, bias] : p.logit_bias) json["logit_bias"][std::to_string(id)] = bias;
  return json;
}

// Which of a request's choices an event is about; what is about all of them comes last.
inline int choice_index(const Json& event) {
  const bool of_one = event.is_object() && event.contains("choices") && !event["choices"].empty();
  return of_one ? event["choices"][0].value("index", 0) : std::numeric_limits<int>::max();
}

// Events of a stream as JSON, "[DONE]" as text; a frame that is not exactly one event is kept as
// it came, so that it fails the comparison. Choices run at the same time: their events are sorted
// here, each choice's own keep their order.
inline Json stream_events(std::string_view body) {
  std::vector<Json> events;
  while (!body.empty()) {
    const size_t end = body.find("\n\n");
    std::string_view frame = body.substr(0, end);
    body.remove_prefix(end == std::string_view::npos ? body.size() : end + 2);
    // Anthropic's events have a name before their data.
    std::string name;
    if (frame.starts_with("event: ")) {
      name = frame.substr(7, frame.find('\n') - 7);
      frame.remove_prefix(std::min(frame.find('\n') + 1, frame.size()));
    }
    const auto json = frame.starts_with("data: ") ? parse_json(frame.substr(6), "event")
                                                  : Result<Json>(Json(std::string(frame)));
    events.push_back(json ? *json : Json(std::string(frame.substr(6))));
    if (!name.empty() && events.back()["type"] != name) events.back()["event"] = name;
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const Json& a, const Json& b) { return choice_index(a) < choice_index(b); });
  return events;
}

// Objects of a stream that has one a line.
inline Json stream_lines(std::string_view body) {
  Json lines = Json::array();
  while (!body.empty()) {
    const std::string_view line = body.substr(0, body.find('\n'));
    body.remove_prefix(std::min(line.size() + 1, body.size()));
    const auto json = parse_json(line, "line");
    lines.push_back(json ? *json : Json(std::string(line)));
  }
  return lines;
}

inline std::string request_bytes(const Json& request) {
  const std::string method = request.value("method", "POST");
  const std::string path = request.at("path").get<std::string>();
  if (method == "GET") return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const std::string body =
      request.contains("raw") ? request.at("raw").get<std::string>() : request.at("body").dump();
  const std::string type = request.value("content_type", "application/json");
  const std::string origin = request.contains("origin")
                                 ? "Origin: " + request.at("origin").get<std::string>() + "\r\n"
                                 : "";
  return post_bytes(path, body, "Content-Type: " + type + "\r\n" + origin)
      .replace(0, std::string_view("POST").size(), method);
}

// {"dialect": a name of the table, "reasoning_end"?, "region"?, "tail"?, "switch"?, "effort"?}
inline void set_format(ByteText& text, const Json& json) {
  AnswerFormat format;
  for (const ToolDialect& dialect : tool_dialects()) {
    if (dialect.name == json.value("dialect", "")) format.dialect = dialect;
  }
  format.has_calls = format.dialect.shape != ToolDialect::Shape::plain;
  for (const ReasoningMarks& marks : reasoning_marks()) {
    if (mark_core(marks.end) == json.value("reasoning_end", "")) format.dialect.reasoning = marks;
  }
  if (format.has_parts()) format.shown = {256};
  if (json.contains("region")) {
    format.region = ReasoningRegion{.begin = json.at("region").at("begin").get<Token>(),
                                    .end = {json.at("region").at("end").get<Token>()}};
  }
  format.thinking_switch = json.value("switch", "");
  format.reasoning_effort = json.value("effort", false);
  text.set_format(format, json.value("tail", ""));
}

// Learns nothing: its number says what it was taught.
class ScriptedTeaching final : public Teaching {
 public:
  Result<uint64_t> adapt(const std::string&, const AdaptFeedback& feedback) override {
    std::string all = fmt::format("{}|{}|{}|{}", feedback.prompt, feedback.answer, feedback.task,
                                  feedback.rating.value_or(7));
    if (feedback.conversation) {
      for (const Message& m : feedback.conversation->messages) all += "|" + joined_text(m);
      all += feedback.conversation->tools.to_string();
      all += feedback.conversation->variables.to_string();
    }
    for (const int32_t id : feedback.ids) all += fmt::format("|{}", id);
    return hash_bytes(as_bytes(all)) % 1'000'000;
  }
  Result<uint64_t> undo(const std::string& name, uint64_t n) override {
    if (name == "ann" && n < 10) return 10 - n;
    return fail(Code::not_found, "there is no instance '{}' with {} steps", name, n);
  }
  std::vector<InstanceSummary> summaries() const override {
    return {{.name = "ann", .generation = 10, .n_feedback = 12, .n_accepted = 10, .n_refused = 2}};
  }
};

// What an answer has of the system's clock and of the machine's memory.
inline void fix_times(Json& json) {
  if (json.is_array()) {
    for (Json& one : json) fix_times(one);
  } else if (json.is_object()) {
    for (const auto& [name, value] : json.items()) {
      if (name == "added_at" || name == "n_memory_bytes") value = 1'700'000'001;
      fix_times(value);
    }
  }
}

// For a server of tests: a memory in a folder of its own, whose ids are counted.
class CaseMemory {
 public:
  CaseMemory() {
    std::string name = (std::filesystem::temp_directory_path() / "ruv-memory-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    ServedMemoryOptions options{.folder = folder_};
    options.new_id = [this](std::string_view prefix) {
      return std::string(prefix) + std::to_string(++n_ids_);
    };
    memory_ = *ServedMemory::open(options);
  }
  ~CaseMemory() {
    memory_.reset();
    std::filesystem::remove_all(folder_);
  }
  ServedMemory* get() const { return memory_.get(); }
  // Counts again from the first id.
  void count_anew() { n_ids_ = 0; }

 private:
  std::string folder_;
  std::atomic<int> n_ids_ = 0;
  std::unique_ptr<ServedMemory> memory_;
};

class CaseServer {
 public:
  // `sessions`: null: none are kept.
  // `adapters`: null: there are none; clients may load others from `adapter_folder`.
  explicit CaseServer(SessionKeeper* sessions = nullptr, AdapterRegistry* adapters = nullptr,
                      const std::string& adapter_folder = "", ServedMemory* memory = nullptr) {
    service_ = make_service(make_server_parts(), engine_, text_, {"scripted", "an-alias"});
    service_.created = 1'700'000'000;
    service_.unix_time = [] { return 1'700'000'001; };
    service_.unique_name = [] { return std::string("0123456789abcdefghijklmn"); };
    service_.sessions = sessions;
    service_.adapters = adapters;
    service_.memory = memory;
    service_.adapter_folder = adapter_folder;
    service_.teaching = &teaching_;
    server_ = *HttpServer::create({.port = 0}, api_routes(models_));
    thread_ = std::thread([this] { EXPECT_TRUE(server_->run()); });
  }
  ~CaseServer() {
    server_->stop();
    thread_.join();
    service_.beside.reset();  // its last answers go to the server
  }

  uint16_t port() const { return server_->port(); }
  // Before the first request.
  void keep_audit(AuditLog& log) { service_.audit = &log; }
  // {"request": {"method"?, "path", "body" or "raw"?, "content_type"?, "origin"?}, "scripts"?,
  // "engine_is_full"?, "cannot_rank"?, "lenient"?, "format"?, "bos"?, "marks"?} → {"status",
  // "events", "lines" or "body", "ignored"?, "kept"?, "asked"?}
  Json answer(const Json& one) {
    std::vector<Script> scripts;
    for (const Json& script : one.value("scripts", Json::array())) {
      scripts.push_back(to_script(script));
    }
    if (scripts.empty()) scripts.emplace_back();
    engine_.set_scripts(std::move(scripts));
    if (one.value("engine_is_full", false)) {
      engine_.refuse_after(0, Status(Code::unavailable, "the queue is full"));
    }
    if (one.value("cannot_rank", false)) text_.refuse_ranking();
    service_.lenient = one.value("lenient", false);
    set_format(text_, one.value("format", Json::object()));
    text_.set_bos(one.value("bos", false));
    text_.set_marks(one.value("marks", std::vector<std::string>()));
    TestClient client(server_->port());
    const TestResponse response = client.ask(request_bytes(one.at("request")));
    Json found = {{"status", response.status}};
    if (response.headers.find("text/event-stream") != std::string::npos) {
      found["events"] = stream_events(response.body);
    } else if (response.headers.find("application/x-ndjson") != std::string::npos) {
      found["lines"] = stream_lines(response.body);
    } else {
      const auto body = parse_json(response.body, "answer");
      found["body"] = body ? *body : Json(response.body);
      fix_times(found["body"]);
    }
    constexpr std::string_view kIgnored = "X-Ignored-Fields: ";
    if (const size_t at = response.headers.find(kIgnored); at != std::string::npos) {
      const size_t from = at + kIgnored.size();
      found["ignored"] = response.headers.substr(from, response.headers.find('\r', from) - from);
    }
    if (const KeepSeconds kept = models_.take_kept()) found["kept"] = *kept;
    for (const Request& request : engine_.submitted()) found["asked"].push_back(asked(request));
    return found;
  }

 private:
  ByteText text_;
  ScriptedTeaching teaching_;
  OpenAiService service_;
  OneModel models_{service_};
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
  ScriptedEngine engine_;  // destroyed before the server
};

}  // namespace ruv

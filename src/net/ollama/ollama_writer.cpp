#include <fmt/chrono.h>

#include "base/json.h"
#include "net/ollama/ollama.h"

namespace ruv {
namespace {

// Durations are whole nanoseconds here.
int64_t to_ns(double ms) { return static_cast<int64_t>(ms * 1e6); }

// Calls as its clients read them: arguments are an object.
Json calls_json(const std::vector<ToolCall>& calls) {
  Json list = Json::array();
  for (const ToolCall& call : calls) {
    const Result<Json> arguments = parse_json(call.arguments, "arguments");
    list.push_back(
        Json{{"id", call.id},
             {"function",
              {{"name", call.name}, {"arguments", arguments ? *arguments : Json::object()}}}});
  }
  return list;
}

// A line for each piece; calls come whole, before the last.
class OllamaWriter final : public AnswerWriter {
 public:
  OllamaWriter(OllamaRoute route, AnswerHead head) : route_(route), head_(std::move(head)) {}

  std::string begin(size_t, std::string_view) override { return {}; }

  std::string piece(const AnswerPiece& piece) override {
    using Kind = ToolDelta::Kind;
    const bool is_text = piece.delta == nullptr;
    if (piece.text.empty() || (!is_text && piece.delta->kind != Kind::reasoning)) return {};
    Json line = is_text ? object(piece.text, {}) : object({}, piece.text);
    line["done"] = false;
    return line.dump() + "\n";
  }

  // Calls are known to be whole only now.
  std::string close(const FinishedChoice& choice) override {
    finish_ = choice.finish;
    if (choice.calls.empty()) return {};
    Json line = object({}, {});
    line["message"]["tool_calls"] = calls_json(choice.calls);
    line["done"] = false;
    return line.dump() + "\n";
  }
  bool keeps_text() const override { return true; }

  std::string end(const AnswerUsage& usage) override {
    Json line = object({}, {});
    add_end(line, finish_, usage);
    return line.dump() + "\n";
  }

  std::string failure(const ApiError& error) override { return ollama_error(error).body + "\n"; }
  std::string_view stream_type() const override { return "application/x-ndjson"; }

  std::string whole(std::span<const FinishedChoice> choices, const AnswerUsage& usage) override {
    const FinishedChoice& choice = choices.front();
    Json answer = object(choice.text, choice.reasoning);
    if (!choice.calls.empty()) answer["message"]["tool_calls"] = calls_json(choice.calls);
    add_end(answer, choice.finish, usage);
    return answer.dump();
  }

  HttpResponse refusal(const ApiError& error) const override { return ollama_error(error); }
  void add_logprobs(const ModelText&, const Event::Logprobs&, LogprobsText&) const override {}

 private:
  // The members that every line has; thinking is beside the text.
  Json object(std::string_view text, std::string_view thinking) const {
    Json line = {{"model", head_.model}, {"created_at", iso_time(head_.created)}};
    Json* place = &line;
    if (route_ == OllamaRoute::chat) {
      line["message"] = {{"role", "assistant"}, {"content", text}};
      place = &line["message"];
    } else {
      line["response"] = text;
    }
    if (!thinking.empty()) (*place)["thinking"] = thinking;
    return line;
  }

  // The counts and times of the last line. Loading took place before.
  static void add_end(Json& line, std::string_view finish, const AnswerUsage& usage) {
    line["done"] = true;
    line["done_reason"] = finish == "length" ? "length" : "stop";
    line["total_duration"] = to_ns(usage.queue_ms + usage.prefill_ms + usage.decode_ms);
    line["load_duration"] = 0;
    line["prompt_eval_count"] = usage.n_prompt_tokens;
    line["prompt_eval_duration"] = to_ns(usage.prefill_ms);
    line["eval_count"] = usage.n_generated_tokens;
    line["eval_duration"] = to_ns(usage.decode_ms);
  }

  OllamaRoute route_;
  AnswerHead head_;
  std::string finish_;
};

}  // namespace

std::string iso_time(int64_t unix_time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(static_cast<std::time_t>(unix_time)));
}

MakeWriter ollama_writer(OllamaRoute route) {
  return
      [route](AnswerHead head) { return std::make_unique<OllamaWriter>(route, std::move(head)); };
}

// The model is always loaded, so the answer comes at once.
std::string ollama_loaded(OllamaRoute route, const std::string& model, int64_t unix_time) {
  Json answer = {{"model", model}, {"created_at", iso_time(unix_time)}};
  if (route == OllamaRoute::chat) {
    answer["message"] = {{"role", "assistant"}, {"content", ""}};
  } else {
    answer["response"] = "";
  }
  answer["done"] = true;
  answer["done_reason"] = "load";
  return answer.dump();
}

// Its clients read the message and the status.
HttpResponse ollama_error(const ApiError& error) {
  HttpResponse response = error_response(error);
  const Json json = *parse_json(response.body, "error");
  response.body = Json{{"error", json.at("error").at("message")}}.dump();
  return response;
}

}  // namespace ruv

#include "base/json.h"
#include "base/json_writer.h"
#include "net/anthropic/messages.h"

namespace ruv {
namespace {

// Why an answer ended, in this API's words.
std::string_view stop_reason(const FinishedChoice& choice) {
  if (choice.finish == "tool_calls") return "tool_use";
  if (choice.finish == "length") return "max_tokens";
  return choice.stop_text.empty() ? "end_turn" : "stop_sequence";
}

// Tokens that the prefix cache had are counted apart, as here.
Json messages_usage(const AnswerUsage& usage) {
  return {{"input_tokens", usage.n_prompt_tokens - usage.n_cached_tokens},
          {"cache_creation_input_tokens", 0},
          {"cache_read_input_tokens", usage.n_cached_tokens},
          {"output_tokens", usage.n_generated_tokens}};
}

// A server-sent event with a name.
std::string event(std::string_view name, const Json& data) { return sse_event(name, data.dump()); }

// A stream is a list of blocks, one open at a time; a piece of another kind closes it.
class MessagesWriter final : public AnswerWriter {
 public:
  explicit MessagesWriter(AnswerHead head) : head_(std::move(head)) {}

  std::string begin(size_t, std::string_view) override {
    Json message = frame(nullptr, nullptr);
    message["content"] = Json::array();
    AnswerUsage usage;
    usage.n_prompt_tokens = head_.n_prompt_tokens;
    message["usage"] = messages_usage(usage);
    return event("message_start", {{"type", "message_start"}, {"message", std::move(message)}});
  }

  std::string piece(const AnswerPiece& piece) override {
    using Kind = ToolDelta::Kind;
    if (piece.delta == nullptr) {
      if (piece.text.empty()) return {};
      std::string out = block(Block::text, {{"type", "text"}, {"text", ""}});
      return out += delta("text_delta", "text", piece.text);
    }
    std::string out;
    switch (piece.delta->kind) {
      case Kind::reasoning:
        out = block(Block::thinking, {{"type", "thinking"}, {"thinking", ""}, {"signature", ""}});
        return out += delta("thinking_delta", "thinking", piece.text);
      case Kind::call_begin:
        out = close_block();
        return out += block(Block::tool_use, {{"type", "tool_use"},
                                              {"id", piece.call_id},
                                              {"name", piece.text},
                                              {"input", Json::object()}});
      case Kind::arguments:
        return delta("input_json_delta", "partial_json", piece.text);
      default:
        return {};
    }
  }

  std::string close(const FinishedChoice& choice) override {
    reason_ = stop_reason(choice);
    stop_text_ = choice.stop_text;
    return close_block();
  }

  std::string end(const AnswerUsage& usage) override {
    const Json delta = {{"type", "message_delta"},
                        {"delta", {{"stop_reason", reason_}, {"stop_sequence", stop_sequence()}}},
                        {"usage", messages_usage(usage)}};
    return event("message_delta", delta) + event("message_stop", {{"type", "message_stop"}});
  }

  std::string failure(const ApiError& error) override {
    return sse_event("error", messages_error(error).body);
  }

  // Thinking comes first, calls last.
  std::string whole(std::span<const FinishedChoice> choices, const AnswerUsage& usage) override {
    const FinishedChoice& choice = choices.front();
    stop_text_ = choice.stop_text;
    Json message = frame(std::string(stop_reason(choice)), stop_sequence());
    Json& content = message["content"] = Json::array();
    if (!choice.reasoning.empty()) {
      content.push_back(
          Json{{"type", "thinking"}, {"thinking", choice.reasoning}, {"signature", ""}});
    }
    if (!choice.text.empty()) content.push_back(Json{{"type", "text"}, {"text", choice.text}});
    for (const ToolCall& call : choice.calls) {
      const Result<Json> input = parse_json(call.arguments, "arguments");
      content.push_back(Json{{"type", "tool_use"},
                             {"id", call.id},
                             {"name", call.name},
                             {"input", input ? *input : Json::object()}});
    }
    message["usage"] = messages_usage(usage);
    return message.dump();
  }

  HttpResponse refusal(const ApiError& error) const override { return messages_error(error); }
  void add_logprobs(const ModelText&, const Event::Logprobs&, LogprobsText&) const override {}

 private:
  enum class Block { none, text, thinking, tool_use };

  // A message without its content.
  Json frame(const Json& reason, const Json& stop) const {
    return {{"id", "msg_" + head_.name}, {"type", "message"},     {"role", "assistant"},
            {"model", head_.model},      {"stop_reason", reason}, {"stop_sequence", stop}};
  }
  Json stop_sequence() const { return stop_text_.empty() ? Json() : Json(stop_text_); }

  // Ends the open block, if there is one.
  std::string close_block() {
    if (open_ == Block::none) return {};
    open_ = Block::none;
    return event("content_block_stop", {{"type", "content_block_stop"}, {"index", index_++}});
  }

  // Opens a block of this kind where none is open.
  std::string block(Block kind, const Json& content) {
    if (open_ == kind) return {};
    std::string text = close_block();
    open_ = kind;
    return text +
           event("content_block_start",
                 {{"type", "content_block_start"}, {"index", index_}, {"content_block", content}});
  }

  // More of the open block.
  std::string delta(const char* type, const char* member, std::string_view text) const {
    return event("content_block_delta", {{"type", "content_block_delta"},
                                         {"index", index_},
                                         {"delta", Json{{"type", type}, {member, text}}}});
  }

  AnswerHead head_;
  Block open_ = Block::none;
  int64_t index_ = 0;
  std::string reason_;
  std::string stop_text_;
};

// The error's type by its status.
const char* error_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    default:
      return status < 500 ? "invalid_request_error" : "api_error";
  }
}

}  // namespace

std::unique_ptr<AnswerWriter> messages_writer(AnswerHead head) {
  return std::make_unique<MessagesWriter>(std::move(head));
}

HttpResponse messages_error(const ApiError& error) {
  HttpResponse response = error_response(error);
  const Json json = *parse_json(response.body, "error");
  Json body{{"type", error_type(error.status)}, {"message", json.at("error").at("message")}};
  // By this a client knows that it may ask again without a thread.
  if (error.param == kThreadField) {
    body["details"] = {{"error_code", "thread_unsupported_request"},
                       {"unsupported", Json::array({kThreadField})}};
  }
  response.body = Json{{"type", "error"}, {"error", std::move(body)}}.dump();
  return response;
}

}  // namespace ruv

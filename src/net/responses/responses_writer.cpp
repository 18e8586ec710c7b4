#include <algorithm>

#include "net/responses/responses.h"
#include "net/responses/tool_namespaces.h"

namespace ruv {
namespace {

// Counts in this API's words.
Json responses_usage(const AnswerUsage& usage) {
  return {{"input_tokens", usage.n_prompt_tokens},
          {"input_tokens_details", {{"cached_tokens", usage.n_cached_tokens}}},
          {"output_tokens", usage.n_generated_tokens},
          {"output_tokens_details", {{"reasoning_tokens", usage.n_reasoning_tokens}}},
          {"total_tokens", usage.n_prompt_tokens + usage.n_generated_tokens}};
}

// The item of a message with one part of text.
Json message_item(const std::string& id, std::string_view text, const char* status) {
  return {{"id", id},
          {"type", "message"},
          {"status", status},
          {"role", "assistant"},
          {"content", Json::array({Json{{"type", "output_text"},
                                        {"text", text},
                                        {"annotations", Json::array()},
                                        {"logprobs", Json::array()}}})}};
}

// Reasoning in plain text.
Json reasoning_item(const std::string& id, std::string_view text, const char* status) {
  return {{"id", id},
          {"type", "reasoning"},
          {"status", status},
          {"summary", Json::array()},
          {"content", Json::array({Json{{"type", "reasoning_text"}, {"text", text}}})}};
}

// One call; its own id is not that of the call. Its function is one of these tools.
Json call_item(const std::string& id, const ToolCall& call, const char* status, const Json& tools) {
  const auto [group, name] = function_of_call(tools, call.name);
  Json item = {{"id", id},         {"type", "function_call"},
               {"status", status}, {"call_id", call.id},
               {"name", name},     {"arguments", call.arguments}};
  if (!group.empty()) item["namespace"] = group;
  return item;
}

// The function that an item calls, as the model knows it.
std::string name_in_chat(const Json& item) {
  const Json* group = find_field(item, "namespace");
  return grouped_name(group == nullptr ? "" : group->text(), item.at("name").text());
}

// A stream is a list of items, one open at a time; a piece of another kind closes it.
class ResponsesWriter final : public AnswerWriter {
 public:
  ResponsesWriter(std::shared_ptr<const ResponseFrame> frame, AnswerHead head)
      : frame_owner_(std::move(frame)), frame_(*frame_owner_), head_(std::move(head)) {}

  std::string begin(size_t, std::string_view) override {
    if (frame_.background != nullptr) return begin_waiting();
    std::string out = whole_event("response.created", "in_progress");
    return out += whole_event("response.in_progress", "in_progress");
  }

  std::string piece(const AnswerPiece& piece) override {
    std::string out = begin_progress();  // before it, as events are numbered
    return out += item_piece(piece);
  }

  // As in an answer that is not streamed, there is a message or a call.
  std::string close(const FinishedChoice& choice) override {
    finish_ = choice.finish;
    std::string out = begin_progress();
    if (open_ == Item::none || open_ == Item::reasoning) {
      const auto is_answer = [](const Json& item) { return item.at("type") != "reasoning"; };
      if (std::ranges::none_of(output_, is_answer)) out += open(Item::message);
    }
    // A call that is still open is whole: one that is not was taken back.
    return out += close_item(open_ == Item::call ? "completed" : status());
  }

  std::string end(const AnswerUsage& usage) override {
    usage_ = responses_usage(usage);
    const bool is_whole = finish_ != "length";
    const char* const type = is_whole ? "response.completed" : "response.incomplete";
    text_ = response(status()).dump();
    return sse_event(type, fmt::format(R"({{"type":"{}","sequence_number":{},"response":{}}})",
                                       type, n_events_++, text_));
  }

  std::string failure(const ApiError& error) override {
    error_ = {{"code", error.code}, {"message", error.message}};
    if (!has_begun_) return whole_event("response.failed", "failed");
    std::string out = close_item("incomplete");
    out += whole_event("response.failed", "failed");
    keep(response("failed").dump(), {}, [] {});
    return out;
  }

  // Streams have no event of their own for responses that were cancelled.
  void give_up() override {
    if (!has_begun_) return;
    BackgroundReply& background = *frame_.background;
    using GivenUp = BackgroundReply::GivenUp;
    const char* const status = background.given_up() == GivenUp::cancelled ? "cancelled" : "failed";
    if (background.given_up() == GivenUp::stopped) {
      error_ = {{"code", "server_stopped"}, {"message", "the server stopped before the end"}};
    } else if (background.given_up() == GivenUp::broken) {
      error_ = {{"code", "internal_error"}, {"message", "the server could not continue"}};
    }
    std::string out = close_item("incomplete");
    out += whole_event("response.failed", status);
    // They are called later, when it has ended.
    keep(response(status).dump(), {},
         [reply = frame_.background, waiting = background.take_waiting()] {
           reply->post([waiting] {
             for (const auto& done : waiting) done();
           });
         });
    background.finish(std::move(out));
  }

  std::string whole(std::span<const FinishedChoice> choices, const AnswerUsage& usage) override {
    const FinishedChoice& choice = choices.front();
    finish_ = choice.finish;
    if (!choice.reasoning.empty()) {
      output_.push_back(reasoning_item(next_id("rs_"), choice.reasoning, "completed"));
    }
    if (!choice.text.empty() || choice.calls.empty()) {
      output_.push_back(message_item(next_id("msg_"), choice.text, status()));
    }
    for (const ToolCall& call : choice.calls) {
      output_.push_back(call_item(next_id("fc_"), call, "completed", tools()));
    }
    usage_ = responses_usage(usage);
    text_ = response(status()).dump();
    return text_;
  }

  // The end is sent when the answer is kept, so that the client can ask for it.
  void when_kept(std::function<void()> send) override {
    if (frame_.store == nullptr) return send();
    std::string messages = frame_.messages;
    messages.back() = messages.size() > 2 ? ',' : ' ';
    messages += answer_message().dump() + "]";
    keep(std::move(text_), std::move(messages), std::move(send));
  }

  std::string take_back_call() override { return close_item("incomplete"); }

  void add_logprobs(const ModelText&, const Event::Logprobs&, LogprobsText&) const override {}

 private:
  enum class Item { none, message, reasoning, call };

  // Keeps the response. `messages`: the conversation with it; empty: it cannot be continued.
  void keep(std::string response, std::string messages, std::function<void()> kept,
            bool is_unfinished = false) const {
    if (messages.empty()) messages = "[]";
    frame_.store->put(id(),
                      {.response = std::move(response),
                       .input = frame_.input,
                       .messages = std::move(messages),
                       .created = head_.created,
                       .is_unfinished = is_unfinished,
                       .owner = frame_.owner},
                      std::move(kept));
  }

  // The engine has the request. Its client hears of the response when that is kept as one that has
  // not ended, as which it is found after a crash.
  std::string begin_waiting() {
    has_begun_ = is_queued_ = true;
    const std::string queued = response("queued").dump();
    frame_.background->show(id(), queued);
    keep(
        queued, {}, [background = frame_.background] { background->answer_client(); }, true);
    std::string out = whole_event("response.created", "queued");
    return out += whole_event("response.queued", "queued");
  }

  // The first tokens of a response that was queued are there.
  std::string begin_progress() {
    if (!std::exchange(is_queued_, false)) return {};
    frame_.background->show(id(), response("in_progress").dump());
    return whole_event("response.in_progress", "in_progress");
  }

  std::string item_piece(const AnswerPiece& piece) {
    using Kind = ToolDelta::Kind;
    if (piece.delta == nullptr) {
      if (piece.text.empty()) return {};
      std::string out = open_ == Item::message ? "" : open(Item::message);
      text_ += piece.text;
      return out += delta("response.output_text.delta", piece.text);
    }
    if (piece.delta->kind == Kind::reasoning) {
      std::string out = open_ == Item::reasoning ? "" : open(Item::reasoning);
      text_ += piece.text;
      return out += delta("response.reasoning_text.delta", piece.text);
    }
    if (piece.delta->kind == Kind::call_begin) {
      std::string out = close_item("completed");
      call_ = {.name = std::string(piece.text), .id = std::string(piece.call_id), .arguments = ""};
      return out += open(Item::call);
    }
    if (piece.delta->kind != Kind::arguments || open_ != Item::call) return {};
    call_.arguments += piece.text;
    return delta("response.function_call_arguments.delta", piece.text);
  }

  std::string id() const { return "resp_" + head_.name; }
  // Ids of items follow from the answer's.
  std::string next_id(const char* prefix) const {
    return fmt::format("{}{}{}", prefix, head_.name, output_.size());
  }
  const char* status() const { return finish_ == "length" ? "incomplete" : "completed"; }

  // A member of the request as it came, or what it is without.
  Json asked(const char* name, Json absent) const {
    const Json* value = find_field(frame_.body, name);
    return value == nullptr ? std::move(absent) : *value;
  }

  const Json& tools() const {
    static const Json kNone = Json::array();
    const Json* value = find_field(frame_.body, "tools");
    return value == nullptr ? kNone : *value;
  }

  // The whole answer as it is now.
  Json response(std::string_view status) const {
    Json json = {{"id", id()},
                 {"object", "response"},
                 {"created_at", head_.created},
                 {"status", status},
                 {"error", error_},
                 {"incomplete_details", nullptr},
                 {"model", head_.model},
                 {"output", output_},
                 {"usage", usage_},
                 {"store", frame_.store != nullptr},
                 {"text", asked("text", {{"format", {{"type", "text"}}}})},
                 {"tool_choice", asked("tool_choice", "auto")},
                 {"tools", tools()},
                 {"parallel_tool_calls", asked("parallel_tool_calls", true)},
                 {"metadata", asked("metadata", Json::object())},
                 {"truncation", "disabled"},
                 {"background", frame_.background != nullptr}};
    if (status == "incomplete") json["incomplete_details"] = {{"reason", "max_output_tokens"}};
    for (const char* name : {"instructions", "previous_response_id", "max_output_tokens",
                             "temperature", "top_p", "reasoning", "user"}) {
      json[name] = asked(name, nullptr);
    }
    return json;
  }

  // Events are numbered, so that a client notices a lost one.
  std::string event(std::string_view type, Json data) {
    Json json = {{"type", type}, {"sequence_number", n_events_++}};
    json.update(data);
    return sse_event(type, json.dump());
  }
  std::string whole_event(const char* type, std::string_view status) {
    return event(type, {{"response", response(status)}});
  }
  // The members that events of the open item share.
  Json place() const { return {{"item_id", item_id_}, {"output_index", output_.size()}}; }
  std::string place_event(const char* type, const Json& more) {
    Json data = place();
    if (open_ != Item::call) data["content_index"] = 0;
    data.update(more);
    return event(type, std::move(data));
  }
  // More of the open item.
  std::string delta(const char* type, std::string_view text) {
    Json more = {{"delta", text}};
    if (open_ == Item::message) more["logprobs"] = Json::array();
    return place_event(type, more);
  }

  // The open item with what it has so far.
  Json open_item(const char* status) const {
    if (open_ == Item::message) return message_item(item_id_, text_, status);
    if (open_ == Item::reasoning) return reasoning_item(item_id_, text_, status);
    return call_item(item_id_, call_, status, tools());
  }

  // The events that begin an item.
  std::string open(Item kind) {
    std::string out = close_item("completed");
    open_ = kind;
    item_id_ = next_id(kind == Item::message ? "msg_" : kind == Item::reasoning ? "rs_" : "fc_");
    Json item = open_item("in_progress");
    if (kind != Item::call) item["content"] = Json::array();
    out += event("response.output_item.added",
                 {{"output_index", output_.size()}, {"item", std::move(item)}});
    if (kind == Item::call) return out;
    return out += place_event("response.content_part.added",
                              {{"part", open_item("in_progress").at("content")[0]}});
  }

  // The events that end the open item, if there is one.
  std::string close_item(const char* status) {
    if (open_ == Item::none) return {};
    const Json item = open_item(status);
    std::string out;
    if (open_ == Item::call) {
      // The arguments of an incomplete call cannot be read.
      if (std::string_view(status) == "completed") {
        out = place_event("response.function_call_arguments.done",
                          {{"name", item.at("name")}, {"arguments", call_.arguments}});
      }
    } else {
      const bool is_message = open_ == Item::message;
      Json done = {{"text", text_}};
      if (is_message) done["logprobs"] = Json::array();
      out = place_event(is_message ? "response.output_text.done" : "response.reasoning_text.done",
                        done);
      out += place_event("response.content_part.done", {{"part", item.at("content")[0]}});
    }
    out += event("response.output_item.done", {{"output_index", output_.size()}, {"item", item}});
    output_.push_back(item);
    open_ = Item::none;
    text_.clear();
    return out;
  }

  // The answer as a message of a chat.
  Json answer_message() const {
    Json message = {{"role", "assistant"}, {"content", nullptr}};
    for (const Json& item : output_) {
      if (item.at("type") == "message") {
        message["content"] = item.at("content")[0].at("text");
      } else if (item.at("type") == "reasoning") {
        message["reasoning_content"] = item.at("content")[0].at("text");
      } else if (item.at("status") == "completed") {
        message["tool_calls"].push_back(Json{
            {"id", item.at("call_id")},
            {"type", "function"},
            {"function", {{"name", name_in_chat(item)}, {"arguments", item.at("arguments")}}}});
      }
    }
    if (message.at("content").is_null() && !message.contains("tool_calls")) message["content"] = "";
    return message;
  }

  std::shared_ptr<const ResponseFrame> frame_owner_;
  const ResponseFrame& frame_;
  AnswerHead head_;
  Json output_ = Json::array();
  Json usage_;
  Json error_;
  Item open_ = Item::none;
  std::string item_id_;
  std::string text_;  // of the open item; at the end, the whole answer as JSON
  ToolCall call_;
  std::string finish_;
  int64_t n_events_ = 0;
  bool has_begun_ = false;  // in the background: clients may know of it
  bool is_queued_ = false;
};

}  // namespace

MakeWriter responses_writer(ResponseFrame frame) {
  auto owned = std::make_shared<const ResponseFrame>(std::move(frame));
  return [owned](AnswerHead head) {
    return std::make_unique<ResponsesWriter>(owned, std::move(head));
  };
}

}  // namespace ruv

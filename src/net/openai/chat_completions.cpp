// POST /v1/chat/completions.
#include "base/json.h"
#include "net/openai/chat_answer.h"
#include "net/openai/openai_writer.h"
#include "net/openai/routes.h"
#include "net/openai/token_text.h"

namespace ruv {
namespace {

// The members of a token's entry; its object stays open.
void write_token(JsonWriter& out, const ModelText& text, const TokenLogprob& token) {
  const std::string bytes = token_bytes(text, token.id);
  out.begin_object();
  out.key("token");
  out.text(bytes);
  out.key("logprob");
  out.real(finite_logprob(token.logprob));
  out.key("bytes");
  out.begin_array();
  for (const char c : bytes) out.integer(static_cast<unsigned char>(c));
  out.end_array();
}

// Chunks have a delta, whole answers a message.
class ChatShape final : public ChoiceShape {
 public:
  const char* id_prefix() const override { return "chatcmpl-"; }
  const char* object_name(bool stream) const override {
    return stream ? "chat.completion.chunk" : "chat.completion";
  }
  bool has_opening() const override { return true; }
  bool has_one_prompt() const override { return true; }

  void write(JsonWriter& out, const Choice& choice) const override {
    out.begin_object();
    out.key("index");
    out.integer(choice.index);
    out.key(choice.part == ChoicePart::whole ? "message" : "delta");
    write_message(out, choice);
    out.key("logprobs");
    if (choice.logprobs == nullptr) {
      out.null();
    } else {
      out.begin_object();
      out.key("content");
      out.written_array(choice.logprobs->lists[0]);
      out.key("refusal");
      out.null();
      out.end_object();
    }
    out.key("finish_reason");
    out.text_or_null(choice.finish);
    write_extras(out, choice.finished);
    out.end_object();
  }

  void add_logprobs(const ModelText& text, const Event::Logprobs& token,
                    LogprobsText& logprobs) const override {
    std::string& list = logprobs.lists[0];
    begin_element(list);
    JsonWriter out(list);
    write_token(out, text, token.chosen);
    out.key("top_logprobs");
    out.begin_array();
    for (const TokenLogprob& other : token.top) {
      write_token(out, text, other);
      out.end_object();
    }
    out.end_array();
    out.end_object();
  }

 private:
  // A call without a text beside it has no content.
  static void write_content(JsonWriter& out, const Choice& choice) {
    const bool calls = choice.parts != nullptr && !choice.parts->calls.empty();
    out.key("content");
    if (calls && choice.text.empty()) {
      out.null();
    } else {
      out.text(choice.text);
    }
    if (choice.parts == nullptr) return;
    if (!choice.parts->reasoning.empty()) {
      out.key("reasoning_content");
      out.text(choice.parts->reasoning);
    }
    if (!calls) return;
    out.key("tool_calls");
    out.begin_array();
    for (const ToolCall& call : choice.parts->calls) {
      out.begin_object();
      write_call(out, call.id, call.name, call.arguments);
      out.end_object();
    }
    out.end_array();
  }

  // A call's members.
  static void write_call(JsonWriter& out, std::string_view id, std::string_view name,
                         std::string_view arguments) {
    out.key("id");
    out.text(id);
    out.key("type");
    out.text("function");
    out.key("function");
    out.begin_object();
    out.key("name");
    out.text(name);
    out.key("arguments");
    out.text(arguments);
    out.end_object();
  }

  // Reasoning, or the name of a call, or a piece of its arguments.
  static void write_delta(JsonWriter& out, const ToolDelta& delta, std::string_view call_id) {
    if (delta.kind == ToolDelta::Kind::reasoning) {
      out.key("reasoning_content");
      out.text(delta.text);
      return;
    }
    out.key("tool_calls");
    out.begin_array();
    out.begin_object();
    out.key("index");
    out.integer(static_cast<int64_t>(delta.call));
    if (delta.kind == ToolDelta::Kind::call_begin) {
      write_call(out, call_id, delta.text, "");
    } else {
      out.key("function");
      out.begin_object();
      out.key("arguments");
      out.text(delta.text);
      out.end_object();
    }
    out.end_object();
    out.end_array();
  }

  static void write_message(JsonWriter& out, const Choice& choice) {
    out.begin_object();
    if (choice.part == ChoicePart::opening || choice.part == ChoicePart::whole) {
      out.key("role");
      out.text("assistant");
    }
    if (choice.delta != nullptr) {
      write_delta(out, *choice.delta, choice.call_id);
    } else if (choice.part != ChoicePart::closing) {
      write_content(out, choice);
    }
    if (choice.part == ChoicePart::whole) {
      out.key("refusal");
      out.null();
    }
    out.end_object();
  }
};

ApiResult<void> answer_chat(const ApiCall& call, const std::shared_ptr<Reply>& reply) {
  static const ChatShape kShape;
  return answer_conversation(call, TRY(read_chat_request(call.body, call.service.usual)),
                             openai_writer(kShape), reply);
}

}  // namespace

Route chat_completions_route(ServedModels& models) {
  return api_route(models, "POST", "/v1/chat/completions", chat_fields(), answer_chat);
}

}  // namespace ruv

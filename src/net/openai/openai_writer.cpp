#include "net/openai/openai_writer.h"

#include <algorithm>

#include "base/json.h"
#include "net/openai/token_text.h"

namespace ruv {
namespace {

// Notes of a form that an answer lists.
constexpr size_t kMaxNotes = 64;

// OpenAI's counts; `miss` is ours.
Json usage_json(const AnswerUsage& usage) {
  Json json = {
      {"prompt_tokens", usage.n_prompt_tokens},
      {"completion_tokens", usage.n_generated_tokens},
      {"total_tokens", usage.n_prompt_tokens + usage.n_generated_tokens},
      {"prompt_tokens_details",
       {{"cached_tokens", usage.n_cached_tokens}, {"miss", cache_miss_name(usage.cache_miss)}}},
      {"completion_tokens_details",
       {{"reasoning_tokens", usage.n_reasoning_tokens},
        {"accepted_prediction_tokens", usage.n_accepted_tokens},
        {"rejected_prediction_tokens", usage.n_drafted_tokens - usage.n_accepted_tokens}}}};
  if (usage.n_cut_tokens > 0) {
    json["prompt_tokens_details"]["truncated_tokens"] = usage.n_cut_tokens;
  }
  if (usage.n_dropped_tokens > 0) {
    json["completion_tokens_details"]["context_shift_tokens"] = usage.n_dropped_tokens;
  }
  return json;
}

// Frames around what the shape writes.
class OpenAiWriter final : public AnswerWriter {
 public:
  OpenAiWriter(const ChoiceShape& shape, AnswerHead head) : shape_(shape), head_(std::move(head)) {}

  std::string begin(size_t choice, std::string_view echo) override {
    if (echo.empty() && !shape_.has_opening()) return {};
    return event({.part = ChoicePart::opening, .index = choice, .text = echo});
  }

  std::string piece(const AnswerPiece& piece) override {
    const bool is_plain = piece.delta == nullptr && piece.logprobs == nullptr;
    if (is_plain && piece.text.empty()) return {};
    if (is_plain) return plain_piece(piece);
    return event({.part = ChoicePart::piece,
                  .index = piece.choice,
                  .text = piece.text,
                  .logprobs = piece.logprobs,
                  .delta = piece.delta,
                  .call_id = piece.call_id});
  }

  std::string close(const FinishedChoice& choice) override {
    return event({.part = ChoicePart::closing,
                  .index = choice.choice,
                  .finish = choice.finish,
                  .finished = &choice});
  }

  // The usage where it was asked for, and the mark that ends every stream.
  std::string end(const AnswerUsage& usage) override {
    const std::string tail = head_.include_usage ? event_of(nullptr, usage_json(usage)) : "";
    return tail + sse_event("[DONE]");
  }

  std::string failure(const ApiError& error) override { return sse_event(error_json(error)); }

  // Choices hold most of the bytes, so room for them is made at once.
  std::string whole(std::span<const FinishedChoice> choices, const AnswerUsage& usage) override {
    size_t n_bytes = 0;
    for (const FinishedChoice& choice : choices) n_bytes += choice.text.size();
    std::string text;
    text.reserve(n_bytes + n_bytes / 8);
    JsonWriter out(text);
    begin_frame(out);
    for (const FinishedChoice& choice : choices) {
      const AnswerParts parts{choice.reasoning, choice.calls};
      shape_.write(out, {.part = ChoicePart::whole,
                         .index = choice.choice,
                         .text = choice.text,
                         .logprobs = choice.logprobs,
                         .finish = choice.finish,
                         .finished = &choice,
                         .parts = &parts});
    }
    const bool says_once = shape_.has_one_prompt() && !choices.empty();
    end_frame(out, true, usage_json(usage),
              says_once ? choices.front().prompt_logprobs : std::string_view());
    return text;
  }

  void add_logprobs(const ModelText& text, const Event::Logprobs& token,
                    LogprobsText& logprobs) const override {
    shape_.add_logprobs(text, token, logprobs);
  }
  void add_unscored(const ModelText& text, Token id, LogprobsText& logprobs) const override {
    shape_.add_unscored(text, id, logprobs);
  }

 private:
  // The parts of a server-sent event before and after its text.
  struct Surround {
    size_t choice;
    std::string before, behind;
  };

  // Most pieces of most streams: what surrounds their text is made once.
  std::string plain_piece(const AnswerPiece& piece) {
    auto found = std::ranges::find(surrounds_, piece.choice, &Surround::choice);
    if (found == surrounds_.end()) {
      surrounds_.push_back(surround_of(piece.choice));
      found = surrounds_.end() - 1;
    }
    std::string text = found->before;
    append_json_text(text, piece.text);
    return text += found->behind;
  }

  // After the text a chunk has only numbers and nulls, so the last mark is the text's.
  Surround surround_of(size_t index) const {
    constexpr std::string_view kMark = "\"?\"";
    const std::string frame = event({.part = ChoicePart::piece, .index = index, .text = "?"});
    const size_t at = frame.rfind(kMark);
    return {index, frame.substr(0, at), frame.substr(at + kMark.size())};
  }

  std::string event(const Choice& choice) const { return event_of(&choice, nullptr); }

  // A chunk with one choice or none; the usage is null until the last.
  std::string event_of(const Choice* choice, const Json& usage) const {
    std::string chunk;
    JsonWriter out(chunk);
    begin_frame(out);
    if (choice != nullptr) shape_.write(out, *choice);
    const bool has_notes = choice != nullptr && choice->part == ChoicePart::closing;
    end_frame(out, has_notes, usage);
    return sse_event(chunk);
  }

  // Up to the choices, whose array stays open.
  void begin_frame(JsonWriter& out) const {
    out.begin_object();
    out.key("id");
    out.text(shape_.id_prefix() + head_.name);
    out.key("object");
    out.text(shape_.object_name(head_.stream));
    out.key("created");
    out.integer(head_.created);
    out.key("model");
    out.text(head_.model);
    out.key("choices");
    out.begin_array();
  }

  // From the end of the choices on.
  void end_frame(JsonWriter& out, bool has_notes, const Json& usage,
                 std::string_view prompt_logprobs = {}) const {
    out.end_array();
    write_prompt_logprobs(out, prompt_logprobs);
    if (has_notes) write_notes(out);
    if (!head_.stream || head_.include_usage) {
      out.key("usage");
      out.value(usage);
    }
    out.end_object();
  }

  // Keywords of the asked schema that the answer was not held to; nothing where there are none.
  void write_notes(JsonWriter& out) const {
    if (head_.notes.empty()) return;
    out.key("form_notes");
    out.begin_array();
    for (const FormNote& note :
         std::span(head_.notes).first(std::min(head_.notes.size(), kMaxNotes))) {
      out.begin_object();
      out.key("pointer");
      out.text(note.pointer);
      out.key("keyword");
      out.text(note.keyword);
      out.key("reason");
      out.text(note.reason);
      out.end_object();
    }
    out.end_array();
  }

  const ChoiceShape& shape_;
  AnswerHead head_;
  std::vector<Surround> surrounds_;
};

}  // namespace

void write_prompt_logprobs(JsonWriter& out, std::string_view list) {
  if (list.empty()) return;
  out.key("prompt_logprobs");
  out.written_array(list);
}

void write_extras(JsonWriter& out, const FinishedChoice* choice) {
  if (choice == nullptr) return;
  if (choice->stop_token >= 0) {
    out.key("stop_reason");
    out.integer(choice->stop_token);
  } else if (!choice->stop_text.empty()) {
    out.key("stop_reason");
    out.text(choice->stop_text);
  }
  if (choice->warnings.empty()) return;
  out.key("warnings");
  out.begin_array();
  for (const AnswerWarning& warning : choice->warnings) {
    out.begin_object();
    out.key("type");
    out.text(warning.type);
    out.key("offset");
    out.integer(warning.offset);
    out.end_object();
  }
  out.end_array();
}

MakeWriter openai_writer(const ChoiceShape& shape) {
  return
      [&shape](AnswerHead head) { return std::make_unique<OpenAiWriter>(shape, std::move(head)); };
}

}  // namespace ruv

// Answers as OpenAI's API has them: one JSON object with a list of choices, or server-sent events
// with one choice each. Its two endpoints differ in how they write a choice.
#pragma once

#include <optional>

#include "base/json_writer.h"
#include "net/openai/answer_writer.h"

namespace ruv {

// Which part of a choice is written: the opening chunk of a stream, a piece, the closing chunk, or
// all of an answer that is not streamed.
enum class ChoicePart { opening, piece, closing, whole };

// What a whole answer has besides its text.
struct AnswerParts {
  std::string_view reasoning = {};
  std::span<const ToolCall> calls = {};
};

// One element of `choices` to be written.
struct Choice {
  ChoicePart part;
  size_t index;
  std::string_view text = {};
  const LogprobsText* logprobs = nullptr;    // null: not asked for
  std::string_view finish = {};              // the reason; empty: not finished
  const FinishedChoice* finished = nullptr;  // where it is
  // A piece that is not text: reasoning, or a part of a call, whose id is written with its name.
  const ToolDelta* delta = nullptr;
  std::string_view call_id = {};
  const AnswerParts* parts = nullptr;  // a whole answer's; null: it is text
};

// What a finished choice has besides OpenAI's members, each where there is something to say:
// stop_reason as vLLM has it, and warnings.
void write_extras(JsonWriter& out, const FinishedChoice* choice);

// The member prompt_logprobs; nothing where the list is empty.
void write_prompt_logprobs(JsonWriter& out, std::string_view list);

// What the two endpoints have of their own.
class ChoiceShape {
 public:
  virtual ~ChoiceShape() = default;
  virtual const char* id_prefix() const = 0;               // "chatcmpl-"
  virtual const char* object_name(bool stream) const = 0;  // "chat.completion.chunk"
  // Whether a stream begins with an `opening` part, which has no text.
  virtual bool has_opening() const = 0;
  // Whether all choices answer one prompt, so that what is said of it is said once.
  virtual bool has_one_prompt() const = 0;
  // One element of `choices`.
  virtual void write(JsonWriter& out, const Choice& choice) const = 0;
  virtual void add_logprobs(const ModelText& text, const Event::Logprobs& token,
                            LogprobsText& logprobs) const = 0;
  // See AnswerWriter.
  virtual void add_unscored(const ModelText& /*text*/, Token /*id*/,
                            LogprobsText& /*logprobs*/) const {}
};

// Writes answers in this shape, which must outlive them.
MakeWriter openai_writer(const ChoiceShape& shape);

}  // namespace ruv

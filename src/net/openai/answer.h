// Answers a checked request: submits its choices to the engine, collects their events, and sends
// them as one JSON object or as server-sent events. What must be kept until the end is kept as the
// JSON text that it will become. The two endpoints differ only in AnswerShape.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "net/openai/answer_reader.h"
#include "net/openai/generate_request.h"
#include "net/openai/service.h"

namespace ruv {

// Log-probabilities of the tokens so far.
struct LogprobsText {
  std::array<std::string, 4> lists = {};  // the endpoint's lists: JSON values with commas between
  int64_t text_offset = 0;                // characters of the answer before the next token

  // Memory held by the lists.
  uint64_t n_bytes() const;
};

// Which part of a choice is written: the opening chunk of a stream, a piece, the closing chunk, or
// all of an answer that is not streamed.
enum class ChoicePart { opening, piece, closing, whole };

// What a whole answer has besides its text.
struct AnswerParts {
  std::string_view reasoning = {};
  std::vector<ToolCall> calls = {};
};

// What a client should know of a finished choice, and where in the model's text, in bytes.
struct AnswerWarning {
  std::string_view type;
  int64_t offset;
};
// Nothing where there are none.
void write_warnings(JsonWriter& out, std::span<const AnswerWarning> warnings);

// One element of `choices` to be written.
struct Choice {
  ChoicePart part;
  int64_t index;
  std::string_view text = {};
  const LogprobsText* logprobs = nullptr;  // null: not asked for
  std::string_view finish = {};            // the reason; empty: not finished
  // A piece that is not text: reasoning, or a part of a call, whose id is written with its name.
  const ToolDelta* delta = nullptr;
  std::string_view call_id = {};
  const AnswerParts* parts = nullptr;            // a whole answer's; null: it is text
  std::span<const AnswerWarning> warnings = {};  // of a finished choice
};

// How an endpoint writes its answers.
class AnswerShape {
 public:
  virtual ~AnswerShape() = default;
  virtual const char* id_prefix() const = 0;               // "chatcmpl-"
  virtual const char* object_name(bool stream) const = 0;  // "chat.completion.chunk"
  // Whether a stream begins with an `opening` part, which has no text.
  virtual bool has_opening() const = 0;
  // One element of `choices`.
  virtual void write(JsonWriter& out, const Choice& choice) const = 0;
  // Adds a token. If it begins inside the prompt (token healing), so does its offset.
  virtual void add_logprobs(const ModelText& text, const Event::Logprobs& token,
                            LogprobsText& logprobs) const = 0;
};

// A prompt in tokens, ready for the engine.
struct ReadyPrompt {
  std::vector<Token> ids;
  std::string echo = {};  // put before the answer's text
  // Tokens at the start that token healing keeps.
  int64_t n_fixed = 0;
  // Null: the answers are text.
  std::shared_ptr<const AnswerReading> reading = nullptr;
  // Where the model thinks before the form begins, or within a budget.
  std::optional<ReasoningRegion> reasoning = {};
};

// Fails: 400 context_length_exceeded (both numbers are named), 400 for a prompt without tokens or
// an id outside the vocabulary. `field` is named in the error.
ApiResult<void> check_prompt(const OpenAiService& service, const std::vector<Token>& ids,
                             const std::string& field);
// Reads the form that the request asks for. Fails: 400 naming the field.
ApiResult<void> load_form(const OpenAiService& service, GenerateRequest& request);
ApiResult<void> check_biases(const OpenAiService& service, const GenerateParams& params);

class SessionTurn;

// May be called from any thread. `shape` and `service` must outlive the answer. With a turn, the
// one answer is stored in its session before its end is sent.
void answer_request(const OpenAiService& service, const AnswerShape& shape,
                    const GenerateRequest& request, std::vector<ReadyPrompt> prompts,
                    const std::shared_ptr<Reply>& reply,
                    std::shared_ptr<SessionTurn> turn = nullptr);

// One server-sent event: "data: …\n\n".
std::string sse_event(std::string_view text);

}  // namespace ruv

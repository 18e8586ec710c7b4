// AnswerWriter: how an API writes answers. AnswerJob (answer.h) collects what the engine generates
// and asks the writer of the request's API for the bytes; a further API is a further writer.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/api_error.h"
#include "net/model_text.h"
#include "net/openai/answer_reader.h"
#include "ruv/engine.h"
#include "ruv/form.h"

namespace ruv {

// Log-probabilities of the tokens so far.
struct LogprobsText {
  std::array<std::string, 4> lists = {};  // the endpoint's lists: JSON values with commas between
  std::string prompt = {};                // the list of prompt_logprobs
  int64_t text_offset = 0;                // characters of the answer before the next token

  // Memory held by the lists.
  uint64_t n_bytes() const;
};

// What a client should know of a finished choice, and where in the model's text, in bytes.
struct AnswerWarning {
  std::string_view type;
  int64_t offset;
};

// What is known when an answer begins.
struct AnswerHead {
  std::string name;     // 24 characters, different for each answer
  int64_t created = 0;  // unix seconds
  std::string model;
  bool stream = false;
  bool include_usage = false;        // at the end of a stream
  int64_t n_prompt_tokens = 0;       // of all prompts
  std::vector<FormNote> notes = {};  // keywords of the asked schema that are not enforced
};

// A piece of a stream: text or a part of a call, whose id comes with its name.
struct AnswerPiece {
  size_t choice;
  std::string_view text = {};
  const ToolDelta* delta = nullptr;  // null: the piece is text
  std::string_view call_id = {};
  const LogprobsText* logprobs = nullptr;  // null: not asked for
};

// A choice at its end. Text, reasoning and calls are there where the answer is not streamed, or the
// writer keeps them.
struct FinishedChoice {
  size_t choice;
  std::string_view finish;  // "stop", "length" or "tool_calls"
  // What the request asked the answer to end at, and it did: a text, or an id.
  std::string_view stop_text = {};
  Token stop_token = -1;
  std::string_view text = {};
  std::string_view reasoning = {};
  std::vector<ToolCall> calls = {};
  const LogprobsText* logprobs = nullptr;
  std::string_view prompt_logprobs = {};  // a list of JSON values; empty: not asked for
  std::vector<AnswerWarning> warnings = {};
};

// Sums over all choices; times are those of the slowest. A prompt with several answers counts once.
struct AnswerUsage : Timings {
  int64_t n_reasoning_tokens = 0;  // of the generated ones, with the marks around reasoning
  int64_t n_cut_tokens = 0;        // that prompts lost, as the request wanted
};

// One object for each answer, used on the network thread only.
class AnswerWriter {
 public:
  virtual ~AnswerWriter() = default;

  // A stream's bytes, or none: at its beginning, for each piece, at the end of each choice, at the
  // end of all, and instead of that where the answer fails.
  virtual std::string begin(size_t choice, std::string_view echo) = 0;
  virtual std::string piece(const AnswerPiece& piece) = 0;
  virtual std::string close(const FinishedChoice& choice) = 0;
  // The call that the last pieces began turned out to be none: all of its text follows as text.
  virtual std::string take_back_call() { return {}; }
  virtual std::string end(const AnswerUsage& usage) = 0;
  virtual std::string failure(const ApiError& error) = 0;
  // The answer is given up where it is, as its reply counts as disconnected: none of these follows.
  virtual void give_up() {}
  // Whether close() wants the choice's text as a whole, which then is kept.
  virtual bool keeps_text() const { return false; }
  virtual std::string_view stream_type() const { return "text/event-stream; charset=utf-8"; }

  // The body of an answer that is not streamed.
  virtual std::string whole(std::span<const FinishedChoice> choices, const AnswerUsage& usage) = 0;
  // Calls `send` when the end of an answer, which end() or whole() has made, may be sent: from
  // within or from another thread.
  virtual void when_kept(std::function<void()> send) { send(); }
  // The answer to a request that failed before its first byte.
  virtual HttpResponse refusal(const ApiError& error) const { return error_response(error); }

  // Adds a token. If it begins inside the prompt (token healing), so does its offset.
  virtual void add_logprobs(const ModelText& text, const Event::Logprobs& token,
                            LogprobsText& logprobs) const = 0;
  // Adds the first token of a prompt that is part of the answer's text, which has no score.
  virtual void add_unscored(const ModelText& /*text*/, Token /*id*/,
                            LogprobsText& /*logprobs*/) const {}
};

// The elements of a prompt_logprobs, JSON values with commas between: `scores` are of the prompt's
// tokens from the second on, each with at least n_top alternatives.
std::string prompt_logprobs_list(const ModelText& text, std::span<const Event::Logprobs> scores,
                                 size_t n_top);

using MakeWriter = std::function<std::unique_ptr<AnswerWriter>(AnswerHead)>;

// One server-sent event: "data: …\n\n", or with a name before it: "event: …\ndata: …\n\n".
std::string sse_event(std::string_view text);
std::string sse_event(std::string_view name, std::string_view text);

}  // namespace ruv

// Answers a checked request: submits its choices to the engine, collects their events, and sends
// what the API's writer makes of them, as one body or as a stream.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/openai/answer_reader.h"
#include "net/openai/answer_writer.h"
#include "net/openai/generate_request.h"
#include "net/openai/service.h"

namespace ruv {

// A prompt in tokens, ready for the engine.
struct ReadyPrompt {
  std::vector<Token> ids;
  int64_t n_cut = 0;      // tokens that it lost at its beginning
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
// Drops the beginning of a prompt that is longer than the request allows.
void cut_prompt(const OpenAiService& service, const GenerateRequest& request, ReadyPrompt& prompt);
// Reads the form and the adapters that the request asks for. Fails: 400 naming the field.
ApiResult<void> load_named(const OpenAiService& service, GenerateRequest& request);
// Ids of logit_bias, stop_token_ids and allowed_token_ids, and min_tokens. Fails: 400, naming the
// field.
ApiResult<void> check_token_params(const OpenAiService& service, const GenerateParams& params);

class SessionTurn;

// May be called from any thread. `service` must outlive the answer. With a turn, the one answer is
// stored in its session before its end is sent.
void answer_request(const OpenAiService& service, MakeWriter make_writer,
                    const GenerateRequest& request, std::vector<ReadyPrompt> prompts,
                    const std::shared_ptr<Reply>& reply,
                    std::shared_ptr<SessionTurn> turn = nullptr);

}  // namespace ruv

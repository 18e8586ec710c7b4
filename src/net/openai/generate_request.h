// Turns the body of POST /v1/chat/completions or /v1/completions into a checked request: every
// field has been understood, or the request is refused with the field's name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "net/api_error.h"
#include "net/http/message.h"
#include "net/openai/adapter_choice.h"
#include "net/openai/answer_form.h"
#include "ruv/conversation.h"
#include "ruv/engine.h"
#include "ruv/token.h"

namespace ruv {

// A raw prompt: text, or the caller's own ids.
struct RawPrompt {
  std::string text = {};
  std::vector<Token> ids = {};
  bool is_ids = false;
};

// A checked request of either endpoint; fields of the other endpoint keep their defaults.
struct GenerateRequest {
  GenerateParams params;
  int64_t n = 1;
  int64_t best_of = 1;  // answers that are generated for each prompt; the best n are returned
  // Longer prompts lose their beginning; -1: as many tokens as the context allows, 0: none is cut.
  int64_t max_prompt_tokens = 0;
  bool stream = false;
  bool include_usage = false;
  ServiceTerms terms;
  std::string model;                                     // as the request names it
  AdapterChoices lora;                                   // its field
  std::optional<std::vector<AdapterUse>> adapters = {};  // the same, once they were found
  std::optional<AskedForm> form;                         // of the answers
  std::shared_ptr<const LoadedForm> loaded = {};         // the same, once it was read
  int32_t n_prompt_top = -1;       // alternatives in prompt_logprobs; -1: not asked for
  bool echo = false;               // completions only
  std::vector<RawPrompt> prompts;  // completions only, at least one
  std::string suffix;              // completions only; empty: there is no gap
  Conversation conversation;       // chat only
  std::string session;             // chat only; empty: none
  // Chat only. Whether the answer may call the conversation's tools, and whether more than once.
  bool may_call = false;
  bool parallel_calls = true;
  // The answer consists of calls, of one of these tools; none: of any. Or its calls follow schemas.
  bool must_call = false;
  bool strict_calls = false;
  std::vector<std::string> call_names;
  std::string reasoning_effort;  // empty: not given
  bool wants_thinking = false;   // thinking is to be switched on
  int64_t thinking_budget = -1;  // tokens of reasoning; -1: not given
  bool reasoning_apart = true;   // false: reasoning is content

  // Whether the prompt's tokens are among those of the answer's log-probabilities.
  bool scores_echo() const { return echo && params.n_logprobs >= 0; }
};

// The member "model"; empty: the server's first. Fails: 400.
ApiResult<std::string> read_model(const Json& body);
// The owner and urgency of a request: user, safety_identifier, cache_salt, timeout_ms and priority.
// Fails: 400.
ApiResult<ServiceTerms> read_terms(const Json& body);
// The owner of what a request does: its `user`, apart for each key that has a name. Fails: 400
// where both together are too long.
ApiResult<std::string> tenant_of(const HttpRequest& http, const std::string& user);
// Gives the terms of a request, whose tenant is its `user`, the owner by tenant_of() and the id
// that logs have. Fails: 400.
ApiResult<void> claim_terms(const HttpRequest& http, ServiceTerms& terms);
// The member `field`: a text, a list of ids, or a list of at most `most` of either; at least one.
// Fails: 400.
ApiResult<std::vector<RawPrompt>> read_prompts(const Json& body, const char* field, size_t most);

// The largest number of choices of one request: prompts · n.
inline constexpr int64_t kMaxChoices = 128;

// Require: a checked body (fields.h). `usual`: the params where the body says nothing. Fail with
// 400. Ranges of sampling options are those of the options table.
ApiResult<GenerateRequest> read_chat_request(const Json& body, const GenerateParams& usual);
ApiResult<GenerateRequest> read_completion_request(const Json& body, const GenerateParams& usual);

}  // namespace ruv

// GenerateParams: everything a request may ask of sampling and stopping. The defaults are what a
// request gets that asks for nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ruv/kv_cache.h"
#include "ruv/token.h"

namespace ruv {

struct GenerateParams {
  // Tokens to generate at most; -1: until the context is full.
  int64_t max_tokens = -1;
  // 0 picks the likeliest token (greedy); ties go to the lower id.
  double temperature = 0.8;
  // Keep the k likeliest tokens; 0 keeps all.
  int64_t top_k = 40;
  // Keep the likeliest tokens whose probabilities reach this sum; 1 keeps all.
  double top_p = 0.95;
  // Drop tokens less likely than this share of the likeliest; 0 keeps all.
  double min_p = 0.05;
  // Divides positive and multiplies negative logits of tokens seen in the last
  // `repetition_window` tokens of prompt and answer (Keskar et al., 2019); 1 changes nothing.
  double repetition_penalty = 1.0;
  int64_t repetition_window = 64;
  // OpenAI's: subtracted once per token already generated / once per occurrence.
  double presence_penalty = 0.0;
  double frequency_penalty = 0.0;
  // Added to the logits of single tokens before anything else.
  std::vector<std::pair<Token, float>> logit_bias;
  // Same seed, prompt and params: same bytes. Unset: drawn for each request and reported.
  std::optional<uint64_t> seed;
  // The answer ends before the first of these texts; it is not part of the answer.
  std::vector<std::string> stop;
  // The answer ends at one of these ids, besides the model's own end tokens.
  std::vector<Token> stop_tokens;
  // Do not stop at the model's own end tokens (to measure speed).
  bool ignore_eos = false;
  // The prompt may end inside a word: its last tokens, where other text could replace them, are
  // taken back, and their bytes are a prefix that the first tokens must reproduce. The answer's
  // text, ids and counts begin after these bytes; its first token may begin in them.
  bool token_healing = false;
  // -1: no log-probabilities. n >= 0: of each chosen token and the n likeliest (at most 20).
  // They are of the model's own distribution, before bias, penalties, temperature and healing.
  int32_t n_logprobs = -1;
  // Reuse the beginning of the prompt where an earlier request had it, and keep this one's for
  // others. The bytes of the answer are the same either way.
  bool cache_prefix = true;
  // Beginnings shorter than this are neither reused nor kept.
  int64_t min_cache_tokens = 16;
  // Guess tokens ahead and check the guesses in one step. The bytes are the same either way.
  bool speculative = true;
};

// Who goes first where not all can. Requests that wait long count as one higher.
enum class Priority : uint8_t { low, normal, high, critical };

enum class FinishReason { none, stop, length, cancelled, error };
// "stop", "length", "cancelled", "error".
std::string_view finish_reason_name(FinishReason reason);

struct TokenLogprob {
  Token id = 0;
  float logprob = 0;
};

struct Timings {
  int64_t n_prompt_tokens = 0;
  int64_t n_generated_tokens = 0;
  double queue_ms = 0;    // from submit to the first step
  double prefill_ms = 0;  // from the first step to the first generated token
  double decode_ms = 0;   // from the first generated token to the last
  double prefill_tokens_per_s = 0;
  double decode_tokens_per_s = 0;
  int64_t n_cached_tokens = 0;  // of the prompt, taken from the prefix cache
  CacheMiss cache_miss = CacheMiss::none;
  int64_t n_drafted_tokens = 0;   // guessed ahead
  int64_t n_accepted_tokens = 0;  // of them, right
};

}  // namespace ruv

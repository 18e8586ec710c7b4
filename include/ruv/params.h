// GenerateParams: what a request can set about sampling and stopping. The defaults apply to a
// request that sets nothing.
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
  // Maximum number of tokens to generate; -1: until the context is full.
  int64_t max_tokens = -1;
  // 0 picks the likeliest token (greedy; ties go to the lower id). Higher values make less likely
  // tokens more frequent; 1 samples the model's own distribution.
  double temperature = 0.8;
  // Sample among the k likeliest tokens only; 0 keeps all.
  int64_t top_k = 40;
  // Sample among the likeliest tokens whose probabilities add up to this sum; 1 keeps all.
  double top_p = 0.95;
  // Drop tokens less likely than this share of the likeliest token's probability; 0 keeps all.
  double min_p = 0.05;
  // Keep the tokens whose information is nearest to that of the whole distribution, until their
  // probabilities add up to this sum (locally typical sampling); 1 keeps all. After top_k and
  // before top_p.
  double typical_p = 1.0;
  // Keep the tokens whose logits are at most this many standard deviations of all logits below the
  // likeliest one's; 0 or less keeps all. Before top_k.
  double top_n_sigma = 0.0;
  // With this probability, drawn for each token, drop all tokens that reach xtc_threshold but the
  // least likely of them (XTC, exclude top choices); 0 never does, and neither does a threshold
  // above 0.5. After all other cuts.
  double xtc_probability = 0.0;
  double xtc_threshold = 0.1;
  // Above 0, the temperature of a token lies up to this much below `temperature` where the cuts
  // leave a certain choice and up to this much above where all that they leave are equally likely:
  // the share of the largest possible entropy, to the power of dynatemp_exponent, says where. It
  // then comes after the cuts, which are made at temperature 1.
  double dynatemp_range = 0.0;
  double dynatemp_exponent = 1.0;
  // Divides positive and multiplies negative logits of tokens seen in the last
  // `repetition_window` tokens of prompt and answer (Keskar et al., 2019); 1 changes nothing.
  double repetition_penalty = 1.0;
  int64_t repetition_window = 64;
  // As in OpenAI's API: subtracted once per distinct token already generated, and once per
  // occurrence.
  double presence_penalty = 0.0;
  double frequency_penalty = 0.0;
  // DRY ("don't repeat yourself"): a token that would continue a repetition of the last n tokens,
  // n >= dry_allowed_length, loses dry_multiplier · dry_base^(n - dry_allowed_length) of its logit.
  // Looked for in the last dry_penalty_last_n tokens of prompt and answer; -1: in all. Repetitions
  // do not reach over a text of dry_sequence_breakers. 0 of dry_multiplier: none.
  double dry_multiplier = 0.0;
  double dry_base = 1.75;
  int64_t dry_allowed_length = 2;
  int64_t dry_penalty_last_n = -1;
  std::vector<std::string> dry_sequence_breakers = {"\n", ":", "\"", "*"};
  // 1, 2: Mirostat of that version (Basu et al., 2021) instead of all cuts: the sampler aims at
  // mirostat_tau bits of surprise per token and learns from each token at the rate mirostat_eta.
  int64_t mirostat = 0;
  double mirostat_tau = 5.0;
  double mirostat_eta = 0.1;
  // From 0 to 1: after all cuts, tokens near this probability are preferred; the mean of the chosen
  // ones' probabilities, in which older ones fade by adaptive_decay per token, is steered towards
  // it. Below 0: not.
  double adaptive_target = -1.0;
  double adaptive_decay = 0.9;
  // The steps that choose a token, by name and in this order; those that are not named are left
  // out: "penalties", "dry", "top_n_sigma", "top_k", "typ_p" or "typical_p", "top_p", "min_p",
  // "xtc", "temperature" or "temp", "adaptive_p" at the end, "tfs_z", which does nothing, and
  // "infill" for gaps in texts: it ends the answer where the model is in doubt, and wants a "top_k"
  // from 1 to 256 before it.
  // Unset: as the comments above say. Not with mirostat.
  std::optional<std::vector<std::string>> samplers = {};
  // Only these tokens may come, and the ends of an answer only where they are among them; empty:
  // all may.
  std::vector<Token> allowed_token_ids = {};
  // The answer does not contain one of these texts as the tokens that it encodes to alone or after
  // a space. Other tokens may spell it.
  std::vector<std::string> bad_words = {};
  // No end of the answer before this many tokens: neither the model's own end tokens nor
  // stop_tokens may come, and stop texts within them end nothing.
  int64_t min_tokens = 0;
  // Added to the logits of single tokens before anything else.
  std::vector<std::pair<Token, float>> logit_bias = {};
  // Equal seed, prompt and params give equal bytes. Unset: drawn for each request and reported.
  std::optional<uint64_t> seed = {};
  // The answer ends before the first occurrence of one of these texts, which is not part of it.
  std::vector<std::string> stop = {};
  // That text is part of the answer, at its end.
  bool include_stop = false;
  // From its second line on, the answer ends before a line that is indented by fewer spaces and
  // tabs; 0: it does not.
  int64_t min_indent = 0;
  // The answer ends with the first line that is complete more than this many milliseconds after its
  // first token; 0 or less: it may take its time. How long answers are then depends on the machine.
  int64_t max_predict_ms = -1;
  // The answer ends at one of these ids, besides the model's own end tokens.
  std::vector<Token> stop_tokens = {};
  // Control tokens whose texts are part of the answer's text, as what parses calls of tools needs
  // them. Other control tokens have no text.
  std::vector<Token> shown_tokens = {};
  // Continue past the model's own end tokens (for speed measurements).
  bool ignore_eos = false;
  // Where the context is full the answer continues: tokens between the first n_keep and the newest
  // leave the context, half of what may, and the rest is computed anew, which costs its prefill.
  // Penalties then see what is left. Not with media or a model that reads a source text. Otherwise
  // such an answer ends with `length`. With max_tokens -1 it may never end.
  bool context_shift = false;
  // Tokens at the beginning of the prompt that stay, besides the one that begins every text, at
  // most half of the context; -1: all of the prompt.
  int64_t n_keep = 0;
  // Allows a prompt that ends inside a word. Its last tokens, where other text could replace them,
  // are taken back, and their bytes become a prefix that the first generated tokens must reproduce.
  // The answer's text, ids and counts begin after these bytes; its first token may begin inside
  // them.
  bool token_healing = false;
  // -1: no log-probabilities. n >= 0: natural logarithms of the probability of each chosen token
  // and of the n likeliest (at most 20), from the model's own distribution, before bias, penalties,
  // temperature and healing.
  int32_t n_logprobs = -1;
  // The same for the prompt's tokens from the second on (Event::prompt_logprobs). All of such a
  // prompt is computed, nothing of it comes from the prefix cache, and each of its tokens costs a
  // row of logits. Not with token_healing, media, or a model that reads a source text.
  int32_t n_prompt_logprobs = -1;
  // Reuse the beginning of the prompt from the cache, and cache this prompt for later requests.
  // Does not change the bytes of the answer.
  bool cache_prefix = true;
  // Prefixes shorter than this are neither reused nor cached.
  int64_t min_cache_tokens = 16;
  // Draft tokens ahead and verify them in one step. Does not change the bytes of the answer.
  bool speculative = true;
  // Completes an answer that max_tokens or the context cuts off inside its form, with few bytes
  // that the model did not write: Event::n_repair_bytes. For answers with a form.
  bool repair = false;
};

// Scheduling priority. A waiting request rises by one class for every two seconds it waits.
enum class Priority : uint8_t { low, normal, high, critical };

enum class FinishReason { none, stop, length, cancelled, error };
// "stop", "length", "cancelled", "error".
std::string_view finish_reason_name(FinishReason reason);

struct TokenLogprob {
  Token id = 0;
  float logprob = 0;  // natural logarithm of the probability
};

struct Timings {
  int64_t n_prompt_tokens = 0;
  int64_t n_generated_tokens = 0;
  double queue_ms = 0;    // from submit to the first step
  double prefill_ms = 0;  // from the first step to the first generated token
  double decode_ms = 0;   // from the first generated token to the last
  double prefill_tokens_per_s = 0;
  double decode_tokens_per_s = 0;
  int64_t n_cached_tokens = 0;   // of the prompt, taken from the prefix cache
  int64_t n_dropped_tokens = 0;  // by context_shift
  CacheMiss cache_miss = CacheMiss::none;
  int64_t n_drafted_tokens = 0;   // drafted and checked
  int64_t n_accepted_tokens = 0;  // of these, right
};

}  // namespace ruv

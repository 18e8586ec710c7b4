// Engine: runs many requests on one model at once. Submit a prompt, receive its answer as events:
// pulled from a Stream (ruv/stream.h) or by a callback on the engine's thread.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ruv/adapter.h"
#include "ruv/classify.h"
#include "ruv/embed.h"
#include "ruv/form.h"
#include "ruv/kv_cache.h"
#include "ruv/model.h"
#include "ruv/params.h"
#include "ruv/reasoning.h"

namespace ruv {

struct EngineOptions {
  // Threads that compute, including the engine's own; 0: one per core. More threads than cores make
  // every step slower.
  int n_threads = 0;
  // Longest sequence, prompt and answer together, in tokens; 0: the length the model was trained
  // for, at most 32,768.
  int64_t n_ctx = 0;
  // Sequences that run at the same time; more wait in the queue. Raising it increases throughput,
  // slows each stream, and needs more KV memory.
  int64_t max_sequences = 8;
  // Requests that may wait; further ones are refused with `unavailable`.
  int64_t max_queue = 1024;
  // Largest number of tokens in one step; longer prompts are split into chunks of at most this
  // size. Raising it speeds up prefill a little and makes running streams wait longer for each
  // step.
  int64_t max_batch_tokens = 512;
  KvCacheConfig kv = {};
  // Those of requests that do not say which.
  std::vector<AdapterUse> adapters = {};
  // Largest rank of the requests' adapters; `adapters` raise it. 0: they have none. Raising it
  // takes a little memory for each step's rows.
  int64_t max_adapter_rank = 0;
  // A smaller model that drafts tokens, preferably with the same vocabulary; null: drafts come from
  // the texts alone.
  std::shared_ptr<const Model> draft_model = nullptr;
};

// The longest text that completes an answer's form.
inline constexpr size_t kMaxRepairBytes = 16 << 10;

// One piece of an answer. Several tokens may pass before text becomes certain (unfinished
// characters, a possible stop string); their events have empty text.
struct Event {
  std::vector<Token> ids;  // tokens that this event reports
  std::string text;        // whole UTF-8 characters, never part of a stop string
  // One per id, when asked for: its log-probability and the likeliest alternatives.
  struct Logprobs {
    TokenLogprob chosen;
    std::vector<TokenLogprob> top;
    int64_t rank = 0;  // of the chosen one among all tokens; 1: the likeliest
  };
  std::vector<Logprobs> logprobs;
  // In an answer's first event, where asked for (GenerateParams::n_prompt_logprobs): of each token
  // of the prompt but the first, which nothing comes before.
  std::vector<Logprobs> prompt_logprobs;
  // How many bytes of the first of these ids the prompt already had
  // (GenerateParams::token_healing); they are not in `text`. Only in an answer's first token.
  int64_t n_healed_bytes = 0;
  // In the last event of an answer that was cut off (GenerateParams::repair): how many bytes at the
  // end of `text` complete its form and are not the model's; -1: nothing of at most kMaxRepairBytes
  // was found to complete it.
  int64_t n_repair_bytes = 0;
  // In the last event of an answer that one of the request's own ends ended: the text of
  // GenerateParams::stop, or the id of stop_tokens; empty and -1 elsewhere.
  std::string stop_text;
  Token stop_token = -1;
  // In the last event of a request for hidden states, after the last norm: (n_embd) numbers, or
  // with Pooling::none (n_prompt, n_embd).
  std::vector<float> hidden;
  // Different from `none` only in the last event of a request.
  FinishReason finish = FinishReason::none;
  // Set in the last event: the time it took, the seed that was used, the reason of `error`.
  Timings timings;
  uint64_t seed = 0;
  Status status;
};

// Longest tenant name and longest salt, in bytes; they must not contain NUL.
inline constexpr size_t kMaxTermBytes = 160;

// The owner and the urgency of a request.
struct ServiceTerms {
  Priority priority = Priority::normal;
  // Tenants get equal service and share no cached prefixes with each other.
  std::string tenant = {};
  // Cached prefixes are shared only among requests with equal salts.
  std::string cache_salt = {};
  // The answer ends with an error (deadline) when it is not finished after this time; 0: never.
  int64_t timeout_ms = 0;
  // What the request is called where it is noted; has no effect on the answer.
  std::string request_id = {};
};

struct LoadedForm;
struct LoadedMedia;

// What a request is answered with: generated tokens, or hidden states of the prompt's tokens and
// nothing else.
enum class RequestOutput : uint8_t { tokens, hidden };

struct Request {
  std::vector<Token> prompt;  // at least one token
  GenerateParams params = {};
  // Called on the engine's thread, in order, for each event; all answers wait until it returns. It
  // may call cancel and submit. It must not wait for an answer (Stream::next, generate) or destroy
  // the engine: both would wait for the thread that they are called on. May be null.
  std::function<void(const Event&)> on_event = {};
  // Token healing keeps this many tokens at the start of the prompt.
  int64_t n_fixed_tokens = 0;
  // Where the second text of a pair begins, for models with token types (cross-encoders of the BERT
  // kind); 0: there is no second text.
  int64_t second_text = 0;
  ServiceTerms terms = {};
  // With `hidden`, the params have no effect.
  RequestOutput output = RequestOutput::tokens;
  // Which hidden states the answer is made of. Only `last` uses and keeps cached prefixes.
  Pooling pooling = Pooling::last;
  // What its steps add to the model's products, in this order; nothing: EngineOptions::adapters,
  // empty: the model as it is. Requests with different adapters share steps and the model's
  // weights, but no cached prefixes.
  std::optional<std::vector<AdapterUse>> adapters = {};
  // Images and sounds in the prompt, which has placeholders in their places: ids that decide
  // nothing. Null: none. What makes them of files is not there yet.
  std::shared_ptr<const LoadedMedia> media = {};
  // The form that the answer has, of this engine's load_form(). It ends when the form is complete;
  // an answer cut off by max_tokens or a stop text is an unfinished one. Null: any text.
  std::shared_ptr<const LoadedForm> form = {};
  // Where the model thinks; `form` begins after it. Such a prompt is not healed.
  std::optional<ReasoningRegion> reasoning = {};
};

using RequestId = uint64_t;

// Counters of drafts: guesses of next tokens, which do not change the bytes of an answer.
struct SpeculativeStats {
  int64_t n_drafted = 0;                                  // tokens drafted and checked
  int64_t n_accepted = 0;                                 // of these, right
  int64_t n_drafted_by_head = 0, n_accepted_of_head = 0;  // by the head of the file
  int64_t n_passes = 0;  // sequences' turns in a step that decodes, with or without drafts
  int64_t n_tokens = 0;  // generated in these passes
  // What plain steps cost for the same tokens, as measured, over the time that it took. 0: unknown.
  double speed_up = 0;

  // n_accepted / n_drafted; 0 when nothing was drafted.
  double acceptance() const {
    return n_drafted > 0 ? static_cast<double>(n_accepted) / static_cast<double>(n_drafted) : 0;
  }
  double tokens_per_pass() const {
    return n_passes > 0 ? static_cast<double>(n_tokens) / static_cast<double>(n_passes) : 0;
  }
};

// How long it took to find which tokens may come next, where a form, a budget of reasoning or token
// healing limits them: once for each generated token and each draft that is checked.
struct MaskTimes {
  // Seconds.
  static constexpr std::array kBounds{1e-6, 2.5e-6, 5e-6,   1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4,
                                      5e-4, 1e-3,   2.5e-3, 5e-3, 1e-2,   1e-1, 1.0};
  // Masks by the first bound that their time does not exceed; the last: above all.
  std::array<uint64_t, kBounds.size() + 1> counts = {};
  double seconds = 0;  // of all masks

  // n masks that took `each_seconds` on average.
  void add(double each_seconds, int64_t n) {
    const auto bound = std::ranges::lower_bound(kBounds, each_seconds) - kBounds.begin();
    counts[static_cast<size_t>(bound)] += static_cast<uint64_t>(n);
    seconds += each_seconds * static_cast<double>(n);
  }
};

class Stream;

// Thread safety: every function may be called from any thread at any time, but the destructor only
// when no other call is in progress. One thread of the engine's own computes, with the workers that
// EngineOptions::n_threads asks for.
class Engine {
 public:
  // Allocates all memory that steps need. Fails: out_of_memory, invalid (options).
  static Result<std::unique_ptr<Engine>> create(std::shared_ptr<const Model> model,
                                                const EngineOptions& options = {});
  // Bytes of keys and values that create() would allocate without a draft model's; a model
  // whose weights were not read will do. Fails: invalid (options).
  static Result<int64_t> kv_bytes(const Model& model, const EngineOptions& options = {});
  // Ends every open request, queued ones too, with finish `cancelled` before it returns; their
  // on_event is not called afterwards.
  virtual ~Engine() = default;

  // Fails: invalid (empty prompt, id out of range, prompt + 1 longer than n_ctx, without the 1 for
  // hidden states: both numbers are named; parameters out of range; an adapter of another model or
  // of a larger rank), unavailable (queue full), internal (condition()).
  virtual Result<RequestId> submit(Request request) = 0;
  // Ends a request with finish `cancelled` within one step; unknown ids are ignored.
  virtual void cancel(RequestId id) = 0;

  // Submits and returns the answer to read from. Request::on_event, when set, is called as well.
  // Fails: as submit.
  Result<Stream> stream(Request request);
  // The vector of a text, whose ids tokenize_embedding() gives: pooled, and what follows pooling in
  // the model (ruv/embed.h). Only models trained for it give vectors whose distance means much.
  // Waits. Fails: as stream, check_embed_params, deadline, invalid (a text above the model's own
  // limit).
  Result<Embedding> embed(std::vector<Token> text, const EmbedParams& params = {},
                          const ServiceTerms& terms = {});
  // The same for many texts, in their order. Steps compute several at once, without padding; at
  // most 32 are in the queue at a time. The first failure ends all.
  Result<std::vector<Embedding>> embed_all(std::vector<std::vector<Token>> texts,
                                           const EmbedParams& params = {},
                                           const ServiceTerms& terms = {});

  // The scores that the model's classifier gives a text, or a pair of texts (Request::second_text).
  // Waits. Fails: as stream, deadline, unsupported (the model has no classifier).
  Result<std::vector<float>> classify(std::vector<Token> text, int64_t second_text = 0,
                                      const ServiceTerms& terms = {});

  // Reads the form of answers (ruv/form.h), on the caller's thread: mostly less than a millisecond,
  // the first time some hundred for a large vocabulary. Forms that were read lately are kept.
  // Fails: corrupt, unsupported (what cannot be held exactly, by name).
  virtual Result<std::shared_ptr<const LoadedForm>> load_form(const AnswerForm& form);

  struct Load {
    int64_t n_running = 0;
    int64_t n_waiting = 0;
    int64_t free_pages = 0;
    int64_t total_pages = 0;
    int64_t n_steps = 0;
    int64_t n_refused = 0;  // requests refused because the queue was full
  };
  virtual Load load() const = 0;
  virtual KvCacheStats kv_stats() const = 0;
  virtual SpeculativeStats speculative_stats() const = 0;
  virtual MaskTimes mask_times() const { return {}; }
  virtual const Model& model() const = 0;
  virtual int64_t n_ctx() const = 0;
  // Ok, or the reason why every further request is refused (internal: a file of the model was
  // truncated while in use). Any thread.
  virtual Status condition() const { return {}; }
};

}  // namespace ruv

// Engine: runs many requests on one model at once. Submit a prompt, receive its answer as events.
// One engine thread does all the work; submit and cancel may be called from any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ruv/kv_cache.h"
#include "ruv/model.h"
#include "ruv/params.h"

namespace ruv {

struct EngineOptions {
  // Threads that compute, the engine's own included; 0: one per core.
  int n_threads = 0;
  // Longest sequence, prompt and answer, in tokens; 0: what the model was trained for, at most
  // 32,768.
  int64_t n_ctx = 0;
  // Sequences that decode at the same time; more wait in the queue.
  int64_t max_sequences = 8;
  // Requests that may wait; one more is refused with `unavailable`.
  int64_t max_queue = 1024;
  // Tokens of one step at most; longer prompts are cut into chunks of this size.
  int64_t max_batch_tokens = 512;
  KvCacheConfig kv = {};
  // A smaller model that guesses ahead, best with the same vocabulary; null: guesses come from the
  // texts alone.
  std::shared_ptr<const Model> draft_model = nullptr;
};

// One piece of an answer. Several tokens may pass before text becomes certain (unfinished
// characters, a possible stop string); their events have empty text.
struct Event {
  std::vector<Token> ids;  // tokens that this event reports
  std::string text;        // whole UTF-8 characters, never part of a stop string
  // One per id, when asked for: its log-probability and the likeliest alternatives.
  struct Logprobs {
    TokenLogprob chosen;
    std::vector<TokenLogprob> top;
  };
  std::vector<Logprobs> logprobs;
  // Bytes of the first of these ids that the prompt had already (GenerateParams::token_healing);
  // they are not in `text`. Only ever of an answer's first token.
  int64_t n_healed_bytes = 0;
  // Not `none` exactly in the last event of a request.
  FinishReason finish = FinishReason::none;
  // Set in the last event: what it took; the seed that was used; the reason of `error`.
  Timings timings;
  uint64_t seed = 0;
  Status status;
};

// Bytes of a tenant's name and of a salt at most; none may be NUL.
inline constexpr size_t kMaxTermBytes = 160;

// Whose request it is and how urgent.
struct ServiceTerms {
  Priority priority = Priority::normal;
  // Tenants get equal service, and share no kept prefixes.
  std::string tenant = {};
  // Prefixes are shared among requests with one salt only.
  std::string cache_salt = {};
  // The answer ends with an error (deadline) when it is not finished after so long; 0: never.
  int64_t timeout_ms = 0;
};

struct Request {
  std::vector<Token> prompt;  // at least one token
  GenerateParams params;
  // Called on the engine thread, in order, for each event. Must return quickly and not call into
  // the engine other than cancel.
  std::function<void(const Event&)> on_event;
  // Token healing leaves this many tokens at the prompt's beginning alone.
  int64_t n_fixed_tokens = 0;
  ServiceTerms terms = {};
};

using RequestId = uint64_t;

// What drafting brought. Drafts are guesses of the next tokens that one step checks together; the
// answer's bytes are the same with and without them.
struct SpeculativeStats {
  int64_t n_drafted = 0;   // tokens guessed and checked
  int64_t n_accepted = 0;  // of them right
  int64_t n_passes = 0;    // sequences' turns in a step that decodes, with or without drafts
  int64_t n_tokens = 0;    // generated in these passes
  // Speed with drafts over speed without: the time that plain steps measured in between would have
  // taken for the same tokens over the time it took. 0: nothing to compare yet.
  double speed_up = 0;

  // n_accepted / n_drafted; 0 when nothing was drafted.
  double acceptance() const {
    return n_drafted > 0 ? static_cast<double>(n_accepted) / static_cast<double>(n_drafted) : 0;
  }
  double tokens_per_pass() const {
    return n_passes > 0 ? static_cast<double>(n_tokens) / static_cast<double>(n_passes) : 0;
  }
};

class Engine {
 public:
  // Allocates all memory that steps need. Fails: out_of_memory, invalid (options).
  static Result<std::unique_ptr<Engine>> create(std::shared_ptr<const Model> model,
                                                const EngineOptions& options = {});
  virtual ~Engine() = default;

  // Fails: invalid (empty prompt, id out of range, prompt + 1 longer than n_ctx: both numbers are
  // named; parameters out of range), unavailable (queue full), internal (condition()).
  virtual Result<RequestId> submit(Request request) = 0;
  // Ends a request with finish `cancelled` within one step; unknown ids are ignored.
  virtual void cancel(RequestId id) = 0;

  struct Load {
    int64_t n_running = 0;
    int64_t n_waiting = 0;
    int64_t free_pages = 0;
    int64_t total_pages = 0;
    int64_t n_steps = 0;
    int64_t n_refused = 0;  // requests, as the queue was full
  };
  virtual Load load() const = 0;
  virtual KvCacheStats kv_stats() const = 0;
  virtual SpeculativeStats speculative_stats() const = 0;
  virtual const Model& model() const = 0;
  virtual int64_t n_ctx() const = 0;
  // Ok, or why every request is refused from now on (internal: a file of the model was cut while
  // it was in use). Any thread.
  virtual Status condition() const { return {}; }
};

// A finished answer.
struct Answer {
  std::vector<Token> ids;
  std::string text;
  std::vector<Event::Logprobs> logprobs;
  FinishReason finish = FinishReason::none;
  Timings timings;
  uint64_t seed = 0;
};

// Submits and waits. `on_text` sees the text as it comes. Fails: as Engine::submit, and with the
// status of an answer that ended with `error`.
Result<Answer> generate(Engine& engine, std::vector<Token> prompt, const GenerateParams& params,
                        const std::function<void(std::string_view)>& on_text = {});

}  // namespace ruv

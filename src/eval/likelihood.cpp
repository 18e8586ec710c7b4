#include "eval/likelihood.h"

#include <algorithm>
#include <cmath>
#include <deque>

#include <map>
#include "eval/collect_answers.h"

#include "model/model.h"
#include "ruv/logits.h"
#include "ruv/stream.h"

namespace ruv {
namespace {

// Requests open at once: enough that steps are full.
constexpr size_t kMostOpen = 32;
// A continuation of n tokens is chosen token by token where the context has at least as many times
// n tokens: each choice costs a request.
constexpr int64_t kContextPerChoice = 8;
// Pairs whose contexts are kept in the prefix cache together.
constexpr size_t kBlock = 64;

// A token to choose after a prompt.
struct ForcedToken {
  std::vector<Token> prompt;
  Token token = 0;
  bool operator<(const ForcedToken& other) const {
    return std::tie(prompt, token) < std::tie(other.prompt, other.token);
  }
};
// What the model's own distribution says of it.
struct ChosenScore {
  double logprob = 0;
  bool likeliest = false;
};

// Both parts with the context's beginning cut off, so that all but the last token fit.
Result<TokenPair> fitted(const TokenPair& pair, int64_t max_tokens, size_t number) {
  const int64_t n = std::ssize(pair.continuation);
  if (n > max_tokens) {
    return fail(Code::invalid, "pair {}: a continuation of {} tokens, but the model sees {}",
                number + 1, n, max_tokens);
  }
  TokenPair fit = pair;
  const int64_t extra = std::ssize(fit.context) + n - (max_tokens + 1);
  if (extra > 0) fit.context.erase(fit.context.begin(), fit.context.begin() + extra);
  return fit;
}

// Scores pairs block by block, so that shared contexts are still cached when they are needed.
class LikelihoodRun {
 public:
  LikelihoodRun(Engine& engine, const EvalLimits& limits, size_t n)
      : engine_(&engine), limits_(&limits), likelihoods_(n) {}

  Status run(std::span<const TokenPair> pairs) {
    for (size_t begin = 0; begin < pairs.size(); begin += kBlock) {
      const size_t end = std::min(begin + kBlock, pairs.size());
      TRY(run_block(pairs, begin, end));
    }
    return {};
  }
  std::vector<Likelihood> take() { return std::move(likelihoods_); }

 private:
  // Logits of the engine have no rows beyond the vocabulary, which others count.
  bool is_chosen(const TokenPair& pair) const {
    const Model& model = engine_->model();
    const int64_t n = std::ssize(pair.continuation);
    const int64_t n_context = std::ssize(pair.context);
    return limits_->exact == nullptr && model.n_usable_tokens() == model.h.n_vocab &&
           n_context + n < engine_->n_ctx() && (n == 1 || n * kContextPerChoice <= n_context);
  }

  Status run_block(std::span<const TokenPair> pairs, size_t begin, size_t end) {
    // By how many of the pair's own tokens the prompt has; in each such round a context's first
    // choice before the others, which find it in the cache.
    std::vector<std::vector<ForcedToken>> firsts, others;
    std::map<ForcedToken, ChosenScore> scores;
    std::vector<TokenPair> fits;
    for (size_t i = begin; i < end; ++i) {
      const TokenPair& fit = fits.emplace_back(TRY(fitted(pairs[i], limits_->max_tokens, i)));
      if (is_chosen(fit)) plan(fit, scores, firsts, others);
    }
    for (size_t k = 0; k < firsts.size(); ++k) {
      TRY(choose(firsts[k], scores));
      TRY(choose(others[k], scores));
    }
    for (size_t i = begin; i < end; ++i) {
      const TokenPair& fit = fits[i - begin];
      if (is_chosen(fit)) {
        collect(fit, scores, likelihoods_[i]);
      } else {
        TRY(compute(fit, likelihoods_[i]));
      }
      TRY(report(i + 1));
    }
    return {};
  }

  // Adds what has to be asked for a pair; a token after the same prompt is asked for once.
  static void plan(const TokenPair& pair, std::map<ForcedToken, ChosenScore>& scores,
                   std::vector<std::vector<ForcedToken>>& firsts,
                   std::vector<std::vector<ForcedToken>>& others) {
    ForcedToken choice{pair.context, 0};
    for (size_t k = 0; k < pair.continuation.size(); ++k) {
      choice.token = pair.continuation[k];
      if (firsts.size() == k) {
        firsts.emplace_back();
        others.emplace_back();
      }
      if (!scores.contains(choice)) {
        const auto next = scores.lower_bound(ForcedToken{choice.prompt, 0});
        const bool is_first = next == scores.end() || next->first.prompt != choice.prompt;
        (is_first ? firsts : others)[k].push_back(choice);
        scores.emplace(choice, ChosenScore{});
      }
      choice.prompt.push_back(choice.token);
    }
  }

  // Sums up what was asked.
  static void collect(const TokenPair& pair, const std::map<ForcedToken, ChosenScore>& scores,
                      Likelihood& likelihood) {
    ForcedToken choice{pair.context, 0};
    for (const Token token : pair.continuation) {
      choice.token = token;
      const ChosenScore& score = scores.at(choice);
      likelihood.add(score.logprob, score.likeliest);
      choice.prompt.push_back(token);
    }
  }

  // One token is allowed; what is reported of it is the model's own distribution.
  static Request request_of(const ForcedToken& choice) {
    Request request;
    request.prompt = choice.prompt;
    request.params.temperature = 0;
    request.params.max_tokens = 1;
    request.params.ignore_eos = true;
    request.params.speculative = false;
    request.params.n_logprobs = 0;
    request.params.allowed_token_ids = {choice.token};
    return request;
  }

  // Asks with a window of open requests. Where the queue is full the oldest is waited for.
  Status choose(const std::vector<ForcedToken>& choices,
                std::map<ForcedToken, ChosenScore>& scores) {
    std::deque<Stream> open;
    for (size_t next = 0, done = 0; done < choices.size();) {
      if (next < choices.size() && open.size() < kMostOpen) {
        Result<Stream> stream = engine_->stream(request_of(choices[next]));
        if (stream) {
          open.push_back(std::move(*stream));
          ++next;
          continue;
        }
        if (stream.error().code() != Code::unavailable || open.empty()) return stream.error();
      }
      const Answer answer = TRY(open.front().collect());
      open.pop_front();
      const ForcedToken& choice = choices[done++];
      if (answer.logprobs.size() != 1 || answer.logprobs.front().chosen.id != choice.token) {
        return fail(Code::internal, "token {} was not scored", choice.token);
      }
      const Event::Logprobs& score = answer.logprobs.front();
      scores[choice] = {double{score.chosen.logprob}, score.rank == 1};
    }
    return {};
  }

  // All positions of the pair in passes of their own, beside the engine.
  Status compute(const TokenPair& pair, Likelihood& likelihood) {
    std::vector<Token> ids = pair.context;
    ids.insert(ids.end(), pair.continuation.begin(), pair.continuation.end() - 1);
    const int64_t first = std::ssize(pair.context) - 1;
    const auto take = [&](int64_t position, std::span<const float> logits) {
      if (position < first) return;
      add_token(logits, pair.continuation[static_cast<size_t>(position - first)], likelihood);
    };
    if (limits_->exact != nullptr) return limits_->exact->each_logits(ids, first, take);
    LogitsOptions options;
    options.n_threads = limits_->n_threads;
    options.kv_type = limits_->kv_type;
    options.all = true;
    return compute_logits(engine_->model(), ids, options, take);
  }

  // Adds what a token's logits say of it.
  static void add_token(std::span<const float> logits, Token token, Likelihood& likelihood) {
    const auto likeliest = std::ranges::max_element(logits);
    const double max = *likeliest;
    double sum = 0;
    for (const float x : logits) sum += std::exp(static_cast<double>(x) - max);
    likelihood.add(double{logits[static_cast<size_t>(token)]} - max - std::log(sum),
                   likeliest - logits.begin() == token);
  }

  // Says how far the work is, and whether it should stop.
  Status report(size_t n_done) const {
    const double share = static_cast<double>(n_done) / static_cast<double>(likelihoods_.size());
    if (!limits_->go_on || limits_->go_on(share)) return {};
    return fail(Code::cancelled, "stopped after {} of {} pairs", n_done, likelihoods_.size());
  }

  Engine* engine_;
  const EvalLimits* limits_;
  std::vector<Likelihood> likelihoods_;
};

// The text before the first of `until`, tried in their order, each on what is left.
std::string cut(std::string text, const std::vector<std::string>& until) {
  for (const std::string& stop : until) {
    if (!stop.empty()) text.resize(std::min(text.size(), text.find(stop)));
  }
  return text;
}

// A greedy request whose context is cut from the left, so that the whole answer fits.
Result<Request> request_of(const GenerateTask& task, const PairEncoder& encoder,
                           const EvalLimits& limits, int64_t n_ctx) {
  const int64_t room = std::min(limits.max_tokens, n_ctx) - task.max_new_tokens;
  if (room <= 0) {
    return fail(Code::invalid, "an answer of {} tokens leaves no room in a context of {}",
                task.max_new_tokens, std::min(limits.max_tokens, n_ctx));
  }
  Request request;
  request.prompt = encoder.encode(task.context);
  const int64_t extra = std::ssize(request.prompt) - room;
  if (extra > 0) request.prompt.erase(request.prompt.begin(), request.prompt.begin() + extra);
  if (request.prompt.empty()) return fail(Code::invalid, "the context has no tokens");
  request.params.temperature = 0;
  request.params.max_tokens = task.max_new_tokens;
  request.params.stop = task.until;
  return request;
}

}  // namespace

void Likelihood::add(double logprob, bool likeliest) {
  log_likelihood += logprob;
  is_greedy = is_greedy && likeliest;
  token_logprobs.push_back(logprob);
}

Result<std::vector<Likelihood>> log_likelihoods(Engine& engine, std::span<const TokenPair> pairs,
                                                const EvalLimits& limits) {
  LikelihoodRun run(engine, limits, pairs.size());
  TRY(run.run(pairs));
  return run.take();
}

Result<std::vector<std::string>> generate_all(Engine& engine, const PairEncoder& encoder,
                                              std::span<const GenerateTask> tasks,
                                              const EvalLimits& limits) {
  const auto make = [&](size_t i) { return request_of(tasks[i], encoder, limits, engine.n_ctx()); };
  std::vector<std::string> texts = TRY(collect_answers(engine, tasks.size(), make, limits));
  for (size_t i = 0; i < texts.size(); ++i) texts[i] = cut(std::move(texts[i]), tasks[i].until);
  return texts;
}

}  // namespace ruv

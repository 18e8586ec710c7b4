#include "engine/sample/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/elementary.h"

namespace ruv {
namespace {

// e^x for -87 <= x <= 0 within 3e-7 of it, 0 below: without a branch, so that compilers turn loops
// of it into vectors. 2^n times a polynomial of what is left, |r| <= ln 2 / 2.
float exp_below_zero(float x) {
  constexpr float kRound = 12582912;  // 1.5 · 2^23: adding it rounds to whole numbers
  const float shifted = x * 1.44269504F + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  float p = 1.0F / 720;
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = p * r + 1;
  p = p * r + 1;
  const uint32_t power = (std::bit_cast<uint32_t>(shifted) << 23) + 0x3F800000U;
  const uint32_t result = std::bit_cast<uint32_t>(p * std::bit_cast<float>(power));
  const uint32_t is_below = 0U - (std::bit_cast<uint32_t>(x + 87) >> 31);
  return std::bit_cast<float>(result & ~is_below);
}

bool is_likelier(const SampleScratch::Candidate& a, const SampleScratch::Candidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

// The last n tokens of a history, sorted.
void sort_last(const SampleHistory& history, size_t n, std::vector<Token>& to) {
  const size_t n_draft = std::min(n, history.draft.size());
  const std::span<const Token> tokens = history.tokens.last(n - n_draft);
  const std::span<const Token> draft = history.draft.last(n_draft);
  to.assign(tokens.begin(), tokens.end());
  to.insert(to.end(), draft.begin(), draft.end());
  std::sort(to.begin(), to.end());
  to.erase(to.begin(), std::ranges::lower_bound(to, 0));  // rows of media have no token
}

// Nothing is cut, so the order of the tokens does not matter: that of their ids needs no sorting.
Token draw_of_all(double total, Token likeliest, double uniform, const SampleScratch& from) {
  double at = uniform * total;
  size_t block = 0;
  while (block + 1 < from.block_sums.size() && at >= from.block_sums[block]) {
    at -= from.block_sums[block++];
  }
  const size_t begin = block * kArgmaxBlock;
  const size_t end = std::min<size_t>(begin + kArgmaxBlock, from.all_weights.size());
  Token last = likeliest;  // where rounding leaves something over
  for (size_t i = begin; i < end; ++i) {
    if (from.all_weights[i] == 0) continue;
    last = static_cast<Token>(i);
    at -= double{from.all_weights[i]};
    if (at < 0) break;
  }
  return last;
}

// An index, in the order of the tokens.
size_t draw_of_kept_tokens(std::span<const WeighedToken> tokens, double total, double uniform) {
  double at = uniform * total;
  size_t last = 0;  // where rounding leaves something over
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].weight == 0) continue;
    last = i;
    at -= tokens[i].weight;
    if (at < 0) break;
  }
  return last;
}

}  // namespace

// The largest of a block first, in lanes that compilers turn into vectors, then its place: several
// times as fast as comparing one by one, which took 8 % of a step of 8 sequences.
Token argmax(std::span<const float> logits) {
  constexpr size_t kLanes = 16;
  constexpr size_t kBlock = kArgmaxBlock;
  size_t best_begin = 0;
  float best = -std::numeric_limits<float>::infinity();
  for (size_t begin = 0; begin < logits.size(); begin += kBlock) {
    const std::span<const float> block =
        logits.subspan(begin, std::min(kBlock, logits.size() - begin));
    float lanes[kLanes];
    std::fill_n(lanes, kLanes, block[0]);
    size_t i = 0;
    for (; i + kLanes <= block.size(); i += kLanes) {
      for (size_t lane = 0; lane < kLanes; ++lane) {
        lanes[lane] = block[i + lane] > lanes[lane] ? block[i + lane] : lanes[lane];
      }
    }
    float most = *std::max_element(lanes, lanes + kLanes);
    for (; i < block.size(); ++i) most = std::max(most, block[i]);
    if (!(most > best)) continue;
    best = most;
    best_begin = begin;
  }
  const auto from = logits.begin() + static_cast<int64_t>(best_begin);
  const auto place = std::find(from, logits.end(), best);
  return place == logits.end() ? 0 : static_cast<Token>(place - logits.begin());
}

bool Sampler::takes_likeliest() const {
  return !draws() && params_.logit_bias.empty() && params_.repetition_penalty == 1.0 &&
         params_.presence_penalty == 0 && params_.frequency_penalty == 0 && !dry_.is_needed();
}

// Lists that others look at may be large.
Sampler::Sampler(const GenerateParams& params, const Tokenizer* tokenizer)
    : order_(params),
      params_(order_.without_others(params)),
      dry_(params_, tokenizer),
      cuts_(params_),
      gap_cuts_(params_, tokenizer),
      steering_(params_) {
  params_.allowed_token_ids = {};
  params_.bad_words = {};
}

SampleNumbers Sampler::take_numbers(Rng& rng) const {
  SampleNumbers numbers;
  if (draws()) numbers.place = rng.uniform();
  if (tosses()) numbers.coin = rng.uniform();
  return numbers;
}

Token Sampler::sample(std::span<float> logits, const SampleHistory& history,
                      const SampleNumbers& numbers, SteerState& state,
                      SampleScratch& scratch) const {
  for (const auto& [id, bias] : params_.logit_bias) logits[static_cast<size_t>(id)] += bias;
  if (order_.is_given() && draws()) {
    return draw_in_order(logits, history, numbers, state, scratch);
  }
  penalize(logits, history, scratch);
  if (dry_.is_needed()) dry_.apply(logits, history.tokens, history.draft, scratch.dry);
  if (!draws()) return argmax(logits);
  if (params_.top_n_sigma > 0 && params_.mirostat == 0) cut_below_sigma(logits);
  if (cuts_.are_needed() || steering_.is_needed()) {
    return draw_after_cuts(logits, numbers, state, scratch);
  }
  const double uniform = numbers.place;
  if (params_.top_k > 0) {
    keep_top_k(logits, scratch);
    return draw_of_kept(weigh_kept(scratch), uniform, scratch);
  }
  const Token likeliest = argmax(logits);
  const double total = weigh_all(logits, logits[static_cast<size_t>(likeliest)], scratch);
  if (!(total > 0)) return likeliest;
  if (params_.top_p >= 1 && params_.min_p <= 0) {
    return draw_of_all(total, likeliest, uniform, scratch);
  }
  keep_heaviest(logits, total, scratch);
  weigh_kept(scratch);
  return draw_of_kept(total, uniform, scratch);
}

void Sampler::penalize(std::span<float> logits, const SampleHistory& history,
                       SampleScratch& to) const {
  std::vector<Token>& seen = to.seen;
  if (params_.repetition_penalty != 1.0) {
    sort_last(history,
              std::min<size_t>(history.tokens.size() + history.draft.size(),
                               static_cast<size_t>(params_.repetition_window)),
              seen);
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    const auto penalty = static_cast<float>(params_.repetition_penalty);
    for (Token id : seen) {
      float& logit = logits[static_cast<size_t>(id)];
      logit = logit > 0 ? logit / penalty : logit * penalty;
    }
  }
  if (params_.presence_penalty == 0 && params_.frequency_penalty == 0) return;
  sort_last(history, static_cast<size_t>(history.n_generated), seen);
  for (size_t i = 0; i < seen.size(); ++i) {
    const bool first = i == 0 || seen[i] != seen[i - 1];
    logits[static_cast<size_t>(seen[i])] -=
        static_cast<float>(params_.frequency_penalty + (first ? params_.presence_penalty : 0.0));
  }
}

// Top-n-sigma (Tang et al., 2024): logits lie around a mean, and what is meant lies far above it.
// A temperature would scale the bound as it scales the logits, so its place does not matter.
void Sampler::cut_below_sigma(std::span<float> logits) const {
  constexpr float kImpossible = -std::numeric_limits<float>::infinity();
  double sum = 0;
  double n = 0;
  for (const float x : logits) {
    if (x == kImpossible) continue;
    sum += double{x};
    ++n;
  }
  if (n == 0) return;
  const double mean = sum / n;
  double squares = 0;
  for (const float x : logits) {
    if (x != kImpossible) squares += (double{x} - mean) * (double{x} - mean);
  }
  const double max = logits[static_cast<size_t>(argmax(logits))];
  const double least = max - params_.top_n_sigma * std::sqrt(squares / n);
  for (float& x : logits) {
    if (double{x} < least) x = kImpossible;
  }
}

// Once k candidates are known, few later logits exceed the least of them: whole blocks are skipped,
// and little is left to sort. For 150,000 logits and k = 40 this takes a fortieth of the time.
void Sampler::keep_top_k(std::span<const float> logits, SampleScratch& to) const {
  std::vector<SampleScratch::Candidate>& candidates = to.candidates;
  constexpr size_t kBlock = 64;
  constexpr size_t kRoom = 1024;
  const auto k = static_cast<size_t>(params_.top_k);
  const size_t room = std::max(kRoom, 4 * std::min(k, logits.size()));
  float least = -std::numeric_limits<float>::infinity();
  bool has_k = false;
  const auto cut = [&] {
    if (candidates.size() <= k) return;
    const auto last = candidates.begin() + static_cast<std::ptrdiff_t>(k) - 1;
    std::nth_element(candidates.begin(), last, candidates.end(), is_likelier);
    candidates.resize(k);
    least = candidates.back().logit;
    has_k = true;
  };
  candidates.clear();
  for (size_t begin = 0; begin < logits.size(); begin += kBlock) {
    const size_t end = std::min(begin + kBlock, logits.size());
    int n_above = 0;
    for (size_t i = begin; i < end; ++i) n_above += logits[i] > least;
    if (has_k && n_above == 0) continue;
    for (size_t i = begin; i < end; ++i) {
      if (has_k && !(logits[i] > least)) continue;  // of equals the first stays
      candidates.push_back({logits[i], static_cast<Token>(i)});
    }
    if (candidates.size() >= room) cut();
  }
  cut();
  std::sort(candidates.begin(), candidates.end(), is_likelier);
}

Token Sampler::draw_after_cuts(std::span<const float> logits, const SampleNumbers& numbers,
                               SteerState& state, SampleScratch& scratch) const {
  std::vector<WeighedToken>& kept = scratch.kept;
  kept.clear();
  const auto add = [&](float logit, Token id) {
    if (logit > -std::numeric_limits<float>::infinity()) kept.push_back({0, logit, id});
  };
  if (params_.top_k > 0 && params_.mirostat == 0) {
    keep_top_k(logits, scratch);
    for (const SampleScratch::Candidate& c : scratch.candidates) add(c.logit, c.id);
  } else {
    for (size_t i = 0; i < logits.size(); ++i) add(logits[i], static_cast<Token>(i));
  }
  if (kept.empty()) return argmax(logits);
  if (steering_.aims_at_surprise()) {
    weigh(kept, params_.temperature);
    steering_.cut(kept, std::ssize(logits), state);
  } else {
    cuts_.apply(kept, numbers.coin);
  }
  return draw_of_weighed(numbers.place, state, scratch);
}

// Draws from scratch.kept.
Token Sampler::draw_of_weighed(double place, SteerState& state, SampleScratch& scratch) const {
  std::vector<WeighedToken>& kept = scratch.kept;
  const bool weighs_anew = steering_.aims_at_probability();
  if (weighs_anew) steering_.prefer_target(kept, state, scratch.probabilities);
  double total = 0;
  for (const WeighedToken& token : kept) total += token.weight;
  const size_t i = draw_of_kept_tokens(kept, total, place);
  const double probability = weighs_anew ? scratch.probabilities[i] : kept[i].weight / total;
  if (steering_.is_needed()) steering_.learn(probability, state);
  return kept[i].id;
}

// exp((logit - max) / temperature) of all tokens; returns their sum. With std::exp in doubles and
// all tokens sorted, a draw from 150,000 took 30 ms, not 0.13.
double Sampler::weigh_all(std::span<const float> logits, float max, SampleScratch& scratch) const {
  constexpr size_t kLanes = 16;
  const auto scale = static_cast<float>(1 / params_.temperature);
  scratch.all_weights.resize(logits.size());
  scratch.block_sums.clear();
  double total = 0;
  for (size_t begin = 0; begin < logits.size(); begin += kArgmaxBlock) {
    const size_t n = std::min<size_t>(kArgmaxBlock, logits.size() - begin);
    const float* const from = logits.data() + begin;
    float* const to = scratch.all_weights.data() + begin;
    for (size_t i = 0; i < n; ++i) to[i] = exp_below_zero((from[i] - max) * scale);
    float lanes[kLanes] = {};
    size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += to[i + lane];
    }
    double sum = std::accumulate(lanes, lanes + kLanes, 0.0);
    for (; i < n; ++i) sum += double{to[i]};
    scratch.block_sums.push_back(sum);
    total += sum;
  }
  return total;
}

// Candidates: the heaviest tokens, as many as top-p and min-p may keep.
void Sampler::keep_heaviest(std::span<const float> logits, double total, SampleScratch& to) const {
  constexpr size_t kBlock = 64;
  constexpr double kRounding = 1e-5;  // of weights and sums in float32
  const double wanted = std::min(1.0, params_.top_p + kRounding) * total;
  const double least = params_.min_p * (1 - kRounding);
  double sum = 0;
  double from = 0.01;
  do {
    from = std::max(from, least);
    const auto cut = static_cast<float>(from);
    to.candidates.clear();
    sum = 0;
    for (size_t begin = 0; begin < logits.size(); begin += kBlock) {
      const size_t end = std::min(begin + kBlock, logits.size());
      int n_kept = 0;
      for (size_t i = begin; i < end; ++i) n_kept += to.all_weights[i] >= cut;
      if (n_kept == 0) continue;
      for (size_t i = begin; i < end; ++i) {
        if (!(to.all_weights[i] >= cut)) continue;
        to.candidates.push_back({logits[i], static_cast<Token>(i)});
        sum += double{to.all_weights[i]};
      }
    }
    if (from <= least || from < 1e-30) break;  // what is below weighs nothing
    from /= 50;
  } while (sum < wanted);
  std::sort(to.candidates.begin(), to.candidates.end(), is_likelier);
}

// The sum.
double Sampler::weigh_kept(SampleScratch& to) const {
  to.weights.clear();
  const double max = to.candidates.front().logit;
  for (const SampleScratch::Candidate& c : to.candidates) {
    to.weights.push_back(exact_exp((double{c.logit} - max) / params_.temperature));
  }
  return std::accumulate(to.weights.begin(), to.weights.end(), 0.0);
}

Token Sampler::draw_of_kept(double total, double uniform, const SampleScratch& from) const {
  // Both cuts are of the distribution after temperature and top-k; the likeliest always stays.
  size_t kept = 0;
  double sum = 0;
  while (kept < from.weights.size() &&
         (kept == 0 ||
          (sum < params_.top_p * total && from.weights[kept] >= params_.min_p * from.weights[0]))) {
    sum += from.weights[kept++];
  }
  double at = uniform * sum;
  for (size_t i = 0; i + 1 < kept; ++i) {
    at -= from.weights[i];
    if (at < 0) return from.candidates[i].id;
  }
  return from.candidates[kept - 1].id;
}

Event::Logprobs log_probabilities(std::span<const float> logits, Token chosen, int32_t n) {
  const double max = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (float x : logits) sum += exact_exp(double{x} - max);
  const double log_total = max + exact_log(sum);
  const auto logprob = [&](Token id) {
    return TokenLogprob{id,
                        static_cast<float>(double{logits[static_cast<size_t>(id)]} - log_total)};
  };
  const auto is_before = [&](Token a, Token b) {
    const float la = logits[static_cast<size_t>(a)];
    const float lb = logits[static_cast<size_t>(b)];
    return la > lb || (la == lb && a < b);
  };
  std::vector<Token> ids(logits.size());
  std::iota(ids.begin(), ids.end(), Token{0});
  const auto n_before = std::ranges::count_if(ids, [&](Token id) { return is_before(id, chosen); });
  Event::Logprobs result{logprob(chosen), {}, 1 + n_before};
  const auto end =
      ids.begin() + std::min<std::ptrdiff_t>(n, static_cast<std::ptrdiff_t>(ids.size()));
  std::partial_sort(ids.begin(), end, ids.end(), is_before);
  for (auto it = ids.begin(); it != end; ++it) result.top.push_back(logprob(*it));
  return result;
}

}  // namespace ruv

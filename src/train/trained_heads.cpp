#include "train/trained_heads.h"

#include <algorithm>
#include <cmath>

#include "base/elementary.h"
#include "train/products.h"
#include "train/train_team.h"

namespace ruv {
namespace {

// Rows of a part that a head learns from, one after the other.
struct HeadRowsOfPart {
  std::vector<float> states;
  std::vector<int32_t> targets;
  std::vector<float> weights;
};

// x · this is silu(x).
double silu_share(double x) { return 1 / (1 + exact_exp(-x)); }

}  // namespace

// As check_parallel_heads has it for a file.
Result<TrainedHeads> TrainedHeads::create(const Model& model, TrainDevice<float>& device, int64_t n,
                                          Parameters<float>& parameters) {
  const HParams& h = model.h;
  if (h.streams.exists() || h.reads_source() || h.encodes || model.output.empty()) {
    return fail(Code::unsupported, "drafting heads are not for models of the family '{}'",
                model.family->name);
  }
  TrainedHeads made;
  made.output_ = &device.matrices().of(model.output);
  if (!model.output_bias.empty()) {
    made.output_bias_.resize(static_cast<size_t>(model.output_bias.size()));
    device.download(model.output_bias.memory.start,
                    std::as_writable_bytes(std::span(made.output_bias_)));
  }
  for (int64_t k = 0; k < n; ++k) {
    const std::string name = fmt::format("ahead.{}.block.0.", k);
    const size_t first = parameters.all().size();
    made.blocks_.push_back(TRY(add_own_matrix<float>(
        {name + "weight", h.n_embd}, std::vector<float>(static_cast<size_t>(h.n_embd * h.n_embd)),
        device, parameters)));
    made.biases_.push_back(TRY(add_own_vector(name + "bias", h.n_embd, device, parameters)));
    made.heads_.push_back({first, first + 1});
  }
  return made;
}

DraftHeadsObjective::DraftHeadsObjective(const TrainedHeads& heads,
                                         std::span<const Parameter<float>> parameters,
                                         std::span<const TrainSequence> sequences)
    : heads_(&heads), parameters_(parameters), sequences_(sequences) {
  for (size_t k = 0; k < heads.heads().size(); ++k) {
    for (const TrainSequence& sequence : sequences) {
      for (size_t i = k + 2; i < sequence.tokens.size(); ++i) {
        weight_ += double{sequence.weight(i)};
      }
    }
  }
}

Result<double> DraftHeadsObjective::add(const TrainPart& part) {
  if (!(weight_ > 0) || !std::isfinite(1 / weight_)) {
    return fail(Code::invalid, "training: no token is to be learned two or more after another");
  }
  double loss = 0;
  for (int64_t k = 0; k < std::ssize(heads_->heads()); ++k) loss += add_head(k, part);
  return loss;
}

// dh = dlogits · output; with s = 1 / (1 + e^-p), silu'(p) = s · (1 + p (1 - s)).
double DraftHeadsObjective::add_head(int64_t k, const TrainPart& part) const {
  const TrainedHeads::Head& head = heads_->heads()[static_cast<size_t>(k)];
  const Parameter<float>& block = parameters_[head.block];
  const Parameter<float>& bias = parameters_[head.bias];
  const TrainMatrix<float>& output = heads_->output();
  const int64_t n_embd = part.hidden.n_cols;
  HeadRowsOfPart rows;
  for (const SequenceRows& of : part.batch.sequences) {
    const TrainSequence& sequence = sequences_[of.number];
    for (int64_t i = 0; i < of.n; ++i) {
      const auto at = static_cast<size_t>(i + 2 + k);
      if (at >= sequence.tokens.size() || !sequence.learns(at)) continue;
      const float* const state = part.hidden.row(of.first + i);
      rows.states.insert(rows.states.end(), state, state + n_embd);
      rows.targets.push_back(sequence.tokens[at]);
      rows.weights.push_back(sequence.weight(at));
    }
  }
  const int64_t n = std::ssize(rows.targets);
  if (n == 0) return 0;
  MatrixProducts<float> products(part.pool, portable_kernels());
  const Factor<float> x = whole<float>(rows.states.data(), n, n_embd);
  std::vector<float> before(rows.states.size()), state(rows.states.size());
  products.forward(before.data(), n_embd, x, *block.matrix);
  each_row(part.pool, n, n_embd, [&](int64_t i) {
    for (int64_t c = 0; c < n_embd; ++c) {
      const auto at = static_cast<size_t>(i * n_embd + c);
      before[at] += bias.values[static_cast<size_t>(c)];
      const double p = double{before[at]};
      state[at] = rows.states[at] + static_cast<float>(p * silu_share(p));
    }
  });
  std::vector<float> logits(static_cast<size_t>(n * output.n_out()));
  std::vector<float> of_logits(part.learns ? logits.size() : 0);
  products.forward(logits.data(), output.n_out(), whole<float>(state.data(), n, n_embd), output);
  const std::vector<float>& more = heads_->output_bias();
  for (size_t i = 0; !more.empty() && i < logits.size(); ++i) logits[i] += more[i % more.size()];
  const Adjoined<float> said{logits.data(), part.learns ? of_logits.data() : nullptr, n,
                             output.n_out()};
  const double loss =
      cross_entropy(said, {rows.targets, rows.weights}, 1 / weight_, part.pool) / weight_;
  if (!part.learns) return loss;
  std::vector<float> g(rows.states.size(), 0.0F);
  products.backward(g.data(), n_embd, whole<float>(of_logits.data(), n, output.n_out()), output);
  each_row(part.pool, n, n_embd, [&](int64_t i) {
    for (int64_t c = 0; c < n_embd; ++c) {
      const auto at = static_cast<size_t>(i * n_embd + c);
      const double p = double{before[at]};
      const double s = silu_share(p);
      g[at] = static_cast<float>(double{g[at]} * s * (1 + p * (1 - s)));
    }
  });
  products.multiply({block.gradient.data(), n_embd, true},
                    whole<float>(g.data(), n, n_embd).transposed(), x.transposed());
  for (size_t i = 0; i < g.size(); ++i) {
    bias.gradient[i % static_cast<size_t>(n_embd)] += g[i];
  }
  return loss;
}

}  // namespace ruv

// GradientModel: a model with one adapter of low rank beside it, for which gradients of the
// log-probability of judged tokens are computed. The model's own weights stay as they are; the
// adapter's numbers are whatever the caller puts there, so that one such model serves any number of
// adapters by turns.
#pragma once

#include <string>
#include <vector>

#include "model/decoder.h"
#include "train/train_sequence.h"
#include "train/trained_adapter.h"

namespace ruv {

struct GradientOptions {
  int64_t rank = 2;
  double alpha = 4;  // what is added is alpha / rank · B · A · x
  // Names of matrices of a layer ("attn_q") that are adapted.
  std::vector<std::string> matrices = {"attn_q",   "attn_k", "attn_v",  "attn_output",
                                       "ffn_gate", "ffn_up", "ffn_down"};
  // The last layers alone have an adapter: at most this many, and as many as max_bytes has room
  // for.
  int64_t n_layers = INT64_MAX;
  int64_t max_bytes = 1'000'000;  // of the numbers of A and B together
  int64_t max_rows = 512;         // tokens of the longest text; activations take memory for as many
  int n_threads = 1;              // 0: one per core
};

// A text, and how much each token counts: a weight w of token i adds -w ln p(token i | before) to
// the loss. Negative weights make a token less likely. The first token's weight must be 0, as
// nothing is before it.
struct JudgedText {
  std::vector<int32_t> tokens = {};
  std::vector<float> weights = {};  // as many as tokens

  // How many tokens have a weight.
  int64_t n_judged() const;
};

// Which logits are computed: with the adapter, or those of the model alone.
enum class Beside : uint8_t { adapter, nothing };

// Log-probabilities of judged tokens, in their order, and with logits asked for those as well: one
// row of n_vocab numbers for each.
struct JudgedRows {
  std::vector<double> log_probabilities = {};
  std::vector<float> logits = {};
};

// T is float where it learns and double where derivatives are checked. One thread at a time.
template <class T>
class GradientModel {
 public:
  // Loads the model for training, with room for the adapter. Fails: as load_model and
  // TrainedAdapter::create; invalid (not even one layer's matrices fit max_bytes).
  static Result<std::unique_ptr<GradientModel>> create(const std::string& path,
                                                       const GradientOptions& options);

  const Model& model() const { return *model_; }
  const TrainedAdapter<T>& adapter() const { return *adapter_; }
  // A and B of each module by turns: groups of numbers.
  std::span<const Parameter<T>> groups() const { return parameters_.all(); }
  const Parameters<T>& parameters() const { return parameters_; }
  int64_t n_numbers() const { return parameters_.n_numbers(); }
  // The numbers of all groups, one after the other. Requires: n_numbers() of them.
  void put(std::span<const T> numbers);
  std::vector<T> numbers() const;
  std::vector<T> gradient() const;
  void clear_gradient() { parameters_.clear_gradients(); }

  // Whether it can be learned. Any thread. Fails: invalid, as add_gradient.
  Status check(const JudgedText& text) const;
  // Adds `scale` times the derivative of the text's loss to the gradient; returns the loss, a sum
  // over tokens. Fails: invalid (a token that is not one of the model, no weight or one of another
  // length, more tokens than max_rows + 1, a loss that is not finite), unsupported (an operation
  // without a derivative), out_of_memory.
  Result<double> add_gradient(const JudgedText& text, double scale);
  // Adds `scale` times the derivative of Σ KL(base ‖ adapted) over the judged tokens, of which
  // `base` has the base's logits as rows() gives them; returns the sum. Fails: as add_gradient.
  Result<double> add_divergence(const JudgedText& text, std::span<const float> base, double scale);
  // The loss alone. Fails: as add_gradient.
  Result<double> loss(const JudgedText& text);
  // Fails: as add_gradient.
  Result<JudgedRows> rows(const JudgedText& text, Beside beside, bool with_logits);

  // √Σ w² of the model's own matrix of a module. Decodes all of it.
  double base_norm(const AdaptedModule& module);

  WorkerPool& pool() { return pool_; }

 private:
  explicit GradientModel(const GradientOptions& options)
      : options_(options), pool_(options.n_threads), device_(make_train_device<T>()) {}
  Status prepare(const std::string& path);
  // The first layer that is adapted.
  Result<int64_t> first_layer() const;
  // Calls f with the logits of the rows that predict tokens from the first judged one to the last.
  template <class F>
  Status compute(const JudgedText& text, Beside beside, bool learns, F f);

  GradientOptions options_;
  WorkerPool pool_;
  std::shared_ptr<TrainDevice<T>> device_;
  std::shared_ptr<const Model> model_;
  Parameters<T> parameters_;
  std::optional<TrainedAdapter<T>> adapter_;
  std::optional<Activations> activations_;
  std::unique_ptr<Ops> ops_;
};

}  // namespace ruv

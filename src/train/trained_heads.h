// TrainedHeads: drafting heads that learn what a model's state says of later tokens, while the
// model stays as it is (Medusa-1, arXiv 2401.10774). At place i of a text head k reads the state x
// after the last norm and gives the logits of the token at i + 2 + k, by the model's output matrix:
//   output · (x + silu(W x + b)).
// W and b are 0 at first: a head that has learned nothing says again what the model says next.
#pragma once

#include "train/own_matrix.h"
#include "train/step_objective.h"

namespace ruv {

inline constexpr int64_t kMostDraftHeads = 64;

class TrainedHeads {
 public:
  // Adds the matrix and bias of n heads to the parameters. Fails: out_of_memory; unsupported (a
  // model that such heads do not draft for).
  static Result<TrainedHeads> create(const Model& model, TrainDevice<float>& device, int64_t n,
                                     Parameters<float>& parameters);

  struct Head {
    size_t block = 0, bias = 0;  // among the parameters
  };
  std::span<const Head> heads() const { return heads_; }
  const TrainMatrix<float>& output() const { return *output_; }
  // Empty: there is none.
  const std::vector<float>& output_bias() const { return output_bias_; }

 private:
  std::vector<Head> heads_;
  std::vector<Weight> blocks_;
  std::vector<DeviceMemory> biases_;
  TrainMatrix<float>* output_ = nullptr;  // the model's
  std::vector<float> output_bias_;
};

// Cross entropy of what each head should say, as a mean over the tokens of all heads by their
// weights. A token counts for a head as it would for the model.
class DraftHeadsObjective final : public StepObjective {
 public:
  // All must outlive it.
  DraftHeadsObjective(const TrainedHeads& heads, std::span<const Parameter<float>> parameters,
                      std::span<const TrainSequence> sequences);
  OutputRows reads() const override { return OutputRows::hidden; }
  bool walks_model() const override { return false; }
  // Fails: invalid (no token follows that a head could learn).
  Result<double> add(const TrainPart& part) override;
  // Σ weights of all heads' tokens in the sequences.
  double weight() const { return weight_; }

 private:
  double add_head(int64_t k, const TrainPart& part) const;

  const TrainedHeads* heads_;
  std::span<const Parameter<float>> parameters_;
  std::span<const TrainSequence> sequences_;
  double weight_ = 0;
};

// Writes them into a folder that exists, as `--draft-model` reads it: config.json and
// medusa_lm_head.safetensors, in float32. Files that are there are replaced. Fails: as FileWriter.
Status write_draft_heads(const Model& model, const TrainedHeads& heads,
                         std::span<const Parameter<float>> parameters, const std::string& folder);

}  // namespace ruv

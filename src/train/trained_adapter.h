// TrainedAdapter: matrices of low rank that are trained beside a model whose own weights stay as
// they are (LoRA, Hu et al., 2021). A step computes them as it computes any adapter.
#pragma once

#include "model/adapter.h"
#include "train/parameters.h"

namespace ruv {

// As PEFT names them, without dropout.
struct LowRankOptions {
  int64_t rank = 8;
  double alpha = 16;  // what is added is alpha / rank · B · A · x
  uint64_t seed = 0;
  // Which matrices have one, by the name of their tensor ("blk.0.attn_q.weight"); null: all but
  // routers.
  std::function<bool(std::string_view)> adapts = {};
  std::string start = {};  // a folder of PEFT whose numbers it begins with; empty: new ones
};

// A matrix of the model with what is added to it.
struct AdaptedModule {
  int64_t layer;
  Role role;
  std::string tensor;  // of the model
  size_t a, b;         // of the parameters
};

template <class T>
class TrainedAdapter {
 public:
  // A begins with random numbers up to 1 / √n_in, B with 0, so that the model is as it was. Both
  // are added to `parameters`. Fails: invalid (rank or alpha; nothing is adapted), unsupported (a
  // model whose layers have the weights of one), out_of_memory.
  static Result<TrainedAdapter> create(const Model& model, TrainDevice<T>& device,
                                       const LowRankOptions& options, Parameters<T>& parameters);

  const Adapter& adapter() const { return *adapter_; }
  // The adapter alone, as steps have it.
  AdapterMix mix() const { return {share_.get(), 1}; }
  std::span<const AdaptedModule> modules() const { return modules_; }
  const LowRankOptions& options() const { return options_; }

 private:
  LowRankOptions options_;
  std::shared_ptr<Adapter> adapter_;  // steps point to both
  std::shared_ptr<AdapterShare> share_;
  std::vector<AdaptedModule> modules_;
};

// Gives the adapter the numbers of a folder that PEFT or write_peft_adapter wrote. Fails: as
// open_adapter; invalid, naming the module (others are adapted, or with another rank or scale);
// unsupported (another container).
Status read_peft_start(const Model& model, const TrainedAdapter<float>& adapter,
                       const Parameters<float>& parameters, const std::string& folder);
// Whether write_peft_adapter can write it, which is asked before it is trained. Fails: unsupported.
Status check_peft_adapter(const Model& model, const TrainedAdapter<float>& adapter);
// Writes adapter_config.json and adapter_model.safetensors, as PEFT has them, to a folder that is
// there, in the place of such files. Fails: unsupported (a module whose file has it in one matrix
// with others, or without a name in checkpoints), and as FileWriter.
Status write_peft_adapter(const Model& model, const TrainedAdapter<float>& adapter,
                          const Parameters<float>& parameters, const std::string& folder);

}  // namespace ruv

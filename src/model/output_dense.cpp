#include "model/output_dense.h"

#include "model/weight_source.h"

namespace ruv {

Status bind_output_dense(Model& model, WeightSource& source) {
  constexpr std::string_view kBias = "output_dense_bias";
  const int64_t n = model.h.n_embd;
  OutputDense& dense = model.output_dense;
  dense.linear.weight = TRY(source.pack(TRY(source.matrix("output_dense.weight", n, n))));
  // A config says whether it is there; a GGUF file has it or not.
  if (TRY(truth_or(*model.file, kBias, source.has("output_dense.bias")))) {
    dense.linear.bias = TRY(source.upload(TRY(source.vector("output_dense.bias", n))));
  }
  dense.norm.weight = TRY(source.upload(TRY(source.norm("output_dense_norm.weight", n))));
  const BlockSpec& block = model.family->block;
  if (block.norm != Norm::layer || !block.norm_biases) return {};
  dense.norm.bias = TRY(source.upload(TRY(source.vector("output_dense_norm.bias", n))));
  return {};
}

View pass_output_dense(Ops& ops, const Model& model, View states, View to) {
  const OutputDense& dense = model.output_dense;
  const View made = to.rows(0, states.n_rows);
  ops.matmul(made, states, dense.linear.weight, dense.linear.bias);
  ops.activate(made, model.h.output_dense_act);
  ops.norm(made, made, dense.norm.weight, dense.norm.bias,
           {model.family->block.norm, model.h.norm_eps});
  return made;
}

}  // namespace ruv

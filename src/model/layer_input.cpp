// Inputs of single layers: besides the stream that all layers add to, each layer has a short row
// of its own, made of the token and of its embedding before the first layer. It gates the stream
// after the feed-forward, and what comes of it is added.
#include <cmath>
#include <numbers>
#include <vector>

#include "model/layer_step.h"

namespace ruv {

// (norm(W · x / √n_embd) + √n_layer_input · row of the token) / √2, for all layers at once.
void make_layer_inputs(Ops& ops, const Model& m, const Batch& batch, const Activations::Views& a) {
  const int64_t n = m.h.n_layer_input;
  const float norm_scale = 1.0F / std::sqrt(static_cast<float>(m.h.n_embd));
  ops.matmul(a.layer_inputs, a.x, m.layer_input_proj.weight, m.layer_input_proj.bias);
  ops.scale(a.layer_inputs, norm_scale);
  const View parts = a.layer_inputs.split(n);
  ops.norm(parts, parts, m.layer_input_norm.weight, m.layer_input_norm.bias,
           {m.family->block.norm, m.h.norm_eps});
  // Tokens beyond the table have its first row.
  std::vector<int32_t> tokens(batch.tokens.begin(), batch.tokens.end());
  for (int32_t& token : tokens) token = token < m.layer_input_embd.n_out ? token : 0;
  ops.embed(a.layer_embd, m.layer_input_embd, tokens, std::sqrt(static_cast<float>(n)));
  ops.add(a.layer_inputs, a.layer_embd);
  ops.scale(a.layer_inputs, 1.0F / std::numbers::sqrt2_v<float>);
}

// norm(W₂ · (act(W₁ · x) · input)). Uses a.gate and a.up.
void make_layer_input(const LayerStep& step, View x) {
  const LayerPlan& p = step.plan();
  const Activations::Views& a = step.a;
  const auto n_layers = static_cast<int32_t>(step.model.h.n_layers);
  const View gate = cut(a.gate, p.n_input);
  const View input = cut(a.up, p.n_input);
  std::vector<int32_t> rows(static_cast<size_t>(x.n_rows));
  for (size_t r = 0; r < rows.size(); ++r) {
    rows[r] = static_cast<int32_t>(r) * n_layers + static_cast<int32_t>(step.layer);
  }
  step.ops.gather(input, a.layer_inputs.split(p.n_input), rows);
  step.multiply(Role::input_gate, gate, x);
  step.ops.gate(gate, input, p.act);
  step.multiply(Role::input_out, a.h, gate);
  const NormWeights& norm = step.weights()[NormRole::input_post];
  step.ops.norm(a.h, a.h, norm.weight, norm.bias, {p.norm, p.norm_eps});
}

}  // namespace ruv

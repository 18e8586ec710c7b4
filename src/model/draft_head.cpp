#include "model/draft_head.h"

#include "model/examine.h"

namespace ruv {
namespace {

// The plan of the head's layer: that of the last layer that attends and has experts or not as the
// head has. Nothing says which windows and positions it has, so that all must have the same. Null:
// there is none.
const LayerPlan* plan_like(const Model& m, bool has_experts) {
  const LayerPlan* like = nullptr;
  const LayerPlan* any = nullptr;
  for (const LayerPlan& plan : m.plans) {
    if (!plan.keeps_tokens()) continue;
    if (any != nullptr && (plan.window != any->window || plan.rope != any->rope)) return nullptr;
    any = &plan;
    if (plan.has_experts() == has_experts) like = &plan;
  }
  return like != nullptr && like->window == 0 ? like : nullptr;
}

}  // namespace

void plan_draft_head(Model& model) {
  if (model.h.n_ahead == 0) return;
  const std::string prefix = fmt::format("blk.{}.", model.h.n_layers);
  const bool has_experts = model.file->find_tensor(prefix + "ffn_gate_inp.weight") != nullptr;
  const LayerPlan* const like = plan_like(model, has_experts);
  if (like == nullptr) {
    model.head_unused = "the model has no layer of its kind, or layers of several";
    return;
  }
  model.plans.push_back(LayerPlan(*like));
  model.plans.back().tensors = prefix;
  model.head = std::make_unique<DraftHead>();
}

std::string draft_head_text(const Model& model) {
  const int64_t n = model.h.n_ahead;
  if (n == 0) return {};
  const std::string text =
      fmt::format("{} layer{} for multi-token prediction", n, n == 1 ? "" : "s");
  if (model.head == nullptr) return fmt::format("{}, not used: {}", text, model.head_unused);
  return n == 1 ? text : text + ", of which the first drafts";
}

void drop_draft_head(Model& model, std::string why) {
  if (model.head == nullptr) return;
  model.head = nullptr;
  model.plans.pop_back();
  model.layers.clear();
  model.head_unused = std::move(why);
}

}  // namespace ruv

#include "model/draft_head.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "model/examine.h"
#include "model/parallel_heads.h"

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

// A file that is a head.
Status plan_own_head(Model& model) {
  constexpr std::string_view kPlaces = "target_layers";
  constexpr std::string_view kNormed = "norm_before_residual";
  const ModelFile& file = *model.file;
  auto head = std::make_unique<DraftHead>();
  if (model.h.n_layers != 1) {
    return fail(Code::unsupported, "{}: '{}' is {}; drafting heads have one layer", file.path(),
                file.shown_key("block_count"), model.h.n_layers);
  }
  if (file.find(kPlaces) != nullptr) {
    const std::vector<int64_t> places = TRY(file.integers(kPlaces));
    if (places.size() != kTaps || places.front() < 1) {
      return fail(Code::unsupported, "{}: '{}' must be {} layers", file.path(),
                  file.shown_key(kPlaces), kTaps);
    }
    std::ranges::copy(places, head->taps.begin());
  }
  head->adds_to_normed = TRY(truth_or(file, kNormed, false));
  model.h.n_vocab = TRY(read_dimension(file, "vocab_size"));
  model.plans.front().attn_norm = false;  // what attention reads is made outside of the layer
  model.plans.front().reads_joined = true;
  model.head = std::move(head);
  return {};
}

// Why a head of a file of its own cannot draft for the model; ok: it can.
Status check_fits(const Model& model, const Model& source) {
  const ModelFile& file = *source.file;
  const auto differs = [&](std::string_view key, int64_t n, int64_t n_model) {
    return fail(Code::unsupported,
                "{}: the drafting head is for another model: '{}' is {}, here {}", file.path(),
                file.shown_key(key), n, n_model);
  };
  const HParams &h = model.h, &own = source.h;
  constexpr std::string_view kWidth = "target_hidden_size";
  const int64_t n_read = file.find(kWidth) == nullptr ? own.n_embd : TRY(file.integer(kWidth));
  if (own.n_embd != h.n_embd) return differs("embedding_length", own.n_embd, h.n_embd);
  if (n_read != h.n_embd) return differs(kWidth, n_read, h.n_embd);
  if (own.n_vocab != h.n_vocab) return differs("vocab_size", own.n_vocab, h.n_vocab);
  if (h.streams.exists() || h.reads_source() || h.encodes || model.output.empty()) {
    return fail(Code::unsupported,
                "{}: drafting heads of files of their own are not for models of "
                "the family '{}'",
                file.path(), model.family->name);
  }
  const bool is_plain = h.embed_scale == 1 && h.n_embd_in == h.n_embd &&
                        !model.family->block.embd_norm && h.positions != Positions::learned;
  if (source.head->token_embd.empty() && !is_plain) {
    return fail(Code::unsupported,
                "{}: tensor '{}' is missing, and those of the model are scaled or changed",
                file.path(), file.shown_tensor("token_embd.weight"));
  }
  if (source.rope.original_ctx > 0) {
    return fail(Code::unsupported, "{}: '{}' changes with the context's length", file.path(),
                file.shown_key("rope.scaling.type"));
  }
  return {};
}

// The places between layers that the head reads, by the file or the usual ones.
Result<std::array<int64_t, kTaps>> places_in(const Model& model, const Model& source) {
  const int64_t n = model.h.n_layers;
  std::array<int64_t, kTaps> taps = source.head->taps;
  if (taps.front() == 0) taps = {2, n / 2, n - 3};
  const bool ascends = taps[0] < taps[1] && taps[1] < taps[2];
  if (ascends && taps.front() > 0 && taps.back() <= n) return taps;
  return fail(Code::unsupported,
              "{}: '{}': the drafting head reads the model after {}, {} and {} layers, which must "
              "ascend to {} at most",
              source.file->path(), source.file->shown_key("target_layers"), taps[0], taps[1],
              taps[2], n);
}

// What a file is that is a head.
std::string own_head_text(const Model& source) {
  if (source.head == nullptr) return "for another model";
  if (!source.head->has_layer()) return parallel_heads_text(source);
  const DraftHead& head = *source.head;
  const std::string outputs =
      head.tokens.empty() ? std::string() : fmt::format(", drafts {} of them", head.tokens.size());
  const std::string places = head.taps.front() == 0
                                 ? std::string("the usual places")
                                 : fmt::format("{} layers", fmt::join(head.taps, ", "));
  return fmt::format("one layer for models of width {} with {} tokens{}, which it reads after {}",
                     source.h.n_embd, source.h.n_vocab, outputs, places);
}

// The index among the model's that the head's plan of positions gets.
int64_t add_rope(RopePlans& to, const RopePlan& plan) {
  const auto is_equal = [&](const RopePlan& other) {
    return other.inv_freq == plan.inv_freq && other.magnitude == plan.magnitude &&
           other.axes == plan.axes;
  };
  const auto found = std::ranges::find_if(to.plans, is_equal);
  if (to.original_ctx == 0 && found != to.plans.end()) return found - to.plans.begin();
  if (to.original_ctx > 0) to.extended.push_back(plan);
  to.plans.push_back(plan);
  return std::ssize(to.plans) - 1;
}

}  // namespace

Status plan_draft_head(Model& model) {
  if (model.family->is_draft_head) return plan_own_head(model);
  if (model.h.n_ahead == 0) return {};
  const std::string prefix = fmt::format("blk.{}.", model.h.n_layers);
  const bool has_experts = model.file->find_tensor(prefix + "ffn_gate_inp.weight") != nullptr;
  const LayerPlan* const like = plan_like(model, has_experts);
  if (like == nullptr) {
    model.head_unused = "the model has no layer of its kind, or layers of several";
    return {};
  }
  model.plans.push_back(LayerPlan(*like));
  model.plans.back().tensors = prefix;
  model.plans.back().index.is_shared = false;
  model.head = std::make_unique<DraftHead>();
  return {};
}

Status take_draft_head(Model& model, std::shared_ptr<const Model> source) {
  auto head = std::make_unique<DraftHead>(*source->head);
  if (!head->has_layer()) {
    TRY(check_parallel_heads(model, *source));
    head->source = std::move(source);
    model.head = std::move(head);
    return {};
  }
  TRY(check_fits(model, *source));
  head->taps = TRY(places_in(model, *source));
  LayerPlan plan = source->plans.front();
  const auto rope = static_cast<size_t>(plan.rope);
  if (plan.rope >= 0) plan.rope = add_rope(model.rope, source->rope.plans[rope]);
  model.plans.push_back(std::move(plan));
  model.layers.push_back(source->layers.front());
  head->source = std::move(source);
  model.head = std::move(head);
  return {};
}

bool head_drafts(const Model& model, const CacheLayout& pages) {
  return model.head != nullptr && (!model.head->has_layer() || !pages.has_tiers());
}

std::string draft_head_text(const Model& model) {
  if (model.family != nullptr && model.family->is_draft_head) return own_head_text(model);
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

#include "engine/engine_parts.h"

#include <algorithm>
#include <random>

#include "base/file.h"
#include "device/kv_verdict.h"
#include "engine/engine_core.h"
#include "model/content_key.h"

namespace ruv {
namespace {

constexpr int64_t kDefaultMaxCtx = 32768;
constexpr int64_t kDefaultLeastCtx = 512;
// One in this many tokens keeps its f16 form and is kept by layers with a window.
constexpr int64_t kTailShare = 8;

// What windows and tails need, and what cached prefixes may have of them: if anything, then at
// least what one prefix needs.
FrameLimits frame_limits(const EngineOptions& o, const CacheLayout& layout, int64_t kept_tokens) {
  FrameLimits limits = EngineCore::frames_for_steps(o, layout);
  limits.n_kept = pages_for(kept_tokens);
  limits.n_checkpoints = checkpoints_for(layout, o.max_sequences, kept_tokens);
  for (const KvLayer& layer : layout.layers) {
    if (layer.window == 0 || kept_tokens == 0) continue;
    limits.n_kept = std::max(limits.n_kept, KvReach::of_window(layer.window).pages_before());
  }
  return limits;
}
int64_t kept_tokens(const EngineOptions& o, int64_t max_tokens) {
  if (o.kv.tail_tokens > 0) return o.kv.tail_tokens;
  return o.kv.keep_prefixes ? max_tokens / kTailShare : 0;
}

CacheLayout layout_for(const Model& model, const EngineOptions& o) {
  return model.cache_layout().with_type(*o.kv.type).for_context(o.n_ctx);
}

// The most tokens, up to `most`, that a quarter of the device's memory holds.
int64_t affordable_tokens(const Model& model, const EngineOptions& o, int64_t most) {
  const CacheLayout layout = layout_for(model, o);
  const int64_t memory = model.device->memory_bytes() / 4;
  const auto is_affordable = [&](int64_t n_pages) {
    const FrameLimits limits = frame_limits(o, layout, kept_tokens(o, n_pages * kPageTokens));
    return KvPages::bytes_for(layout, n_pages, limits) <= memory;
  };
  int64_t least = 0, beyond = pages_for(most) + 1;
  while (beyond - least > 1) {
    const int64_t middle = (least + beyond) / 2;
    (is_affordable(middle) ? least : beyond) = middle;
  }
  return std::min(most, least * kPageTokens);
}

// What the model was trained for, as far as a quarter of the device's memory holds its keys and
// values: a context that is not asked for ends no process.
int64_t default_context(const Model& model, const EngineOptions& o, int64_t n_ctx_train) {
  EngineOptions wanted = o;
  wanted.n_ctx = std::min(n_ctx_train, kDefaultMaxCtx);
  const int64_t least = std::min(wanted.n_ctx, kDefaultLeastCtx);
  return std::max(affordable_tokens(model, wanted, wanted.n_ctx), least);
}

Status check_kv(const KvCacheConfig& kv) {
  if (*kv.type == KvType::f16 || *kv.type == KvType::int8) return {};
  std::vector<KvVerdict> verdicts;
  if (!kv.gate_file.empty() && file_exists(kv.gate_file)) {
    verdicts = TRY(read_kv_verdicts(TRY(read_text_file(kv.gate_file)), kv.gate_file));
  }
  return check_kv_type(*kv.type, verdicts);
}

// "8 heads of 128", or what else a layer keeps.
std::string shape_text(const KvShape& shape) {
  if (shape.has_state()) {
    const std::string tokens = shape.has_tokens() ? shape_text(shape.tokens()) + " and " : "";
    return fmt::format("{}states of {} bytes", tokens, shape.state_bytes);
  }
  const std::string values =
      shape.value_dim != shape.key_dim ? fmt::format(" and {}", shape.value_dim) : "";
  return fmt::format("{} heads of {}{}", shape.n_heads, shape.key_dim, values);
}

// Everything that decides the bytes of a page but the model's own bytes.
std::string layout_of(const Model& model, const EngineOptions& o, const KvPages& pages) {
  const bool extended = model.rope.original_ctx > 0 && o.n_ctx > model.rope.original_ctx;
  const KvType type = *o.kv.type;
  const std::string group = is_tiered(type) ? fmt::format(" by {}", kGroupTokens) : "";
  return fmt::format("isa {}, kv {}{}{}, {}, rope {}", model.device->packing().name(),
                     kv_type_name(type), group, rotates_keys(type) ? " centred, rotated" : "",
                     layers_text(pages), extended ? "extended" : "original");
}

// Null: nothing is kept on disk.
Result<std::unique_ptr<PageStore>> store_for(const Model& model, const EngineOptions& o,
                                             const KvPages& pages) {
  if (o.kv.disk_folder.empty() || !o.kv.keep_prefixes) return std::unique_ptr<PageStore>();
  if (model.file == nullptr) {
    return fail(Code::unsupported, "prefix cache on disk: the model has no file to know it by");
  }
  ContentKey key = content_key(*model.file, model.device->packing());
  if (model.head != nullptr && model.head->reads_taps()) {
    // Pages have its keys and values too.
    const ModelFile& file = *model.head->source->file;
    const ContentKey other = content_key(file, model.device->packing());
    for (const size_t i : {0, 1}) key.words[i] += 3 * other.words[i];
  }
  return open_page_store(o.kv, key.words, layout_of(model, o, pages), pages);
}

}  // namespace

std::string layers_text(const KvPages& pages) {
  std::vector<std::pair<std::string, int>> kinds;
  for (int64_t i = 0; i < pages.n_layers(); ++i) {
    const KvLayer& layer = pages.layout().layers[static_cast<size_t>(i)];
    const bool has_window = layer.window > 0 && pages.settled(i).frames != nullptr;
    const std::string of_window = has_window ? fmt::format(" in windows of {}", layer.window) : "";
    const std::string kind = shape_text(layer.shape) + of_window;
    const auto found = std::ranges::find(kinds, kind, &std::pair<std::string, int>::first);
    if (found == kinds.end()) {
      kinds.emplace_back(kind, 1);
    } else {
      ++found->second;
    }
  }
  std::string text;
  for (const auto& [kind, n] : kinds) {
    text += fmt::format("{}{} layers, {}", text.empty() ? "" : ", ", n, kind);
  }
  return text;
}

int64_t checkpoints_for(const CacheLayout& layout, int64_t n_sequences, int64_t kept_tokens) {
  constexpr int64_t kMostPerSequence = 4;
  if (kept_tokens == 0 || layout.state_bytes() == 0) return 0;
  return std::clamp(kept_tokens * layout.bytes_per_token() / layout.state_bytes(), n_sequences,
                    kMostPerSequence * n_sequences);
}

// Tokens of a context where scores depend on distances only, of which all great ones count alike.
constexpr int64_t kMostWithoutPositions = int64_t{1} << 20;

Result<EngineOptions> complete_options(EngineOptions o, const Model& model) {
  if (o.draft_model != nullptr && (model.h.encodes || o.draft_model->h.encodes)) {
    return fail(Code::unsupported, "engine options: an encoder neither drafts nor needs drafts");
  }
  if (o.draft_model != nullptr && (model.h.reads_source() || o.draft_model->h.reads_source())) {
    return fail(Code::unsupported,
                "engine options: draft models are for models without a source text");
  }
  if (!o.kv.type) o.kv.type = model.h.default_kv();
  TRY(check_kv(o.kv));
  // A source and its answer have the positions of a context each.
  const int64_t n_ctx_train = model.h.n_ctx_train * (model.h.reads_source() ? 2 : 1);
  if (o.n_ctx < 0 || o.max_sequences < 1 || o.max_queue < 1 || o.max_batch_tokens < 1 ||
      o.kv.max_tokens < 0 || o.kv.max_tenant_tokens < 0 || o.kv.tail_tokens < 0 ||
      o.n_threads < 0 || o.max_adapter_rank < 0) {
    return fail(Code::invalid, "engine options: a size is negative or zero");
  }
  const bool has_end = !model.h.reads_source() || model.h.positions != Positions::none;
  if (o.n_ctx > (has_end ? n_ctx_train : kMostWithoutPositions)) {
    return fail(Code::invalid, "engine options: a context of {} tokens, the model has {}", o.n_ctx,
                n_ctx_train);
  }
  o.max_adapter_rank = std::max(o.max_adapter_rank, max_rank_of(o.adapters));
  TRY(with_context("engine options", check_adapters(o.adapters, model, o.max_adapter_rank)));
  if (o.n_ctx == 0) o.n_ctx = default_context(model, o, n_ctx_train);
  o.max_batch_tokens = std::max(o.max_batch_tokens, o.max_sequences);
  if (model.h.bidirectional) {
    // Each text is computed whole: nothing of it serves another. A text may have as many tokens as
    // were asked for, whatever the other sequences need.
    o.kv.keep_prefixes = false;
    o.max_batch_tokens += o.max_sequences;
  }
  if (model.h.reads_source()) o.max_batch_tokens += o.max_sequences;  // the same of a source
  if (o.kv.max_tokens == 0) {
    o.kv.max_tokens = affordable_tokens(model, o, o.n_ctx * o.max_sequences);
  }
  // One sequence can always run to its end; the scheduler counts one token more.
  o.kv.max_tokens = std::max(o.kv.max_tokens, o.n_ctx + (model.h.bidirectional ? 1 : 0));
  o.kv.tail_tokens = kept_tokens(o, o.kv.max_tokens);
  return o;
}

int64_t kv_bytes_for(const Model& model, const EngineOptions& complete) {
  const CacheLayout layout = layout_for(model, complete);
  return KvPages::bytes_for(layout, pages_for(complete.kv.max_tokens),
                            frame_limits(complete, layout, complete.kv.tail_tokens));
}

Result<EngineParts> make_parts(const Model& model, const EngineOptions& complete) {
  EngineParts parts;
  std::random_device device;
  parts.guess_seed = uint64_t{device()} << 32 | device();
  parts.executor = TRY(Executor::create(
      model,
      {.n_threads = complete.n_threads,
       .n_pages = pages_for(complete.kv.max_tokens),
       .frames = frame_limits(complete, layout_for(model, complete), complete.kv.tail_tokens),
       .max_rows = complete.max_batch_tokens,
       .max_outputs = complete.max_sequences + EngineCore::kMaxDraftRows,
       .max_rank = complete.max_adapter_rank,
       .n_ctx = complete.n_ctx,
       .kv_type = *complete.kv.type}));
  parts.store = TRY(store_for(model, complete, parts.executor->pages()));
  if (complete.draft_model != nullptr) {
    const int64_t n_ctx = std::min(complete.n_ctx, complete.draft_model->h.n_ctx_train);
    parts.draft_model =
        TRY(DraftModel::create(*complete.draft_model, model,
                               {.n_threads = complete.n_threads,
                                .n_ctx = n_ctx,
                                .n_pages = pages_for(std::max(complete.kv.max_tokens, n_ctx)),
                                .max_sequences = complete.max_sequences,
                                .max_batch_tokens = complete.max_batch_tokens}));
  }
  return parts;
}

}  // namespace ruv

#include "engine/engine_parts.h"

#include <algorithm>
#include <random>

#include "base/file.h"
#include "base/machine.h"
#include "device/kv_verdict.h"
#include "engine/engine_core.h"
#include "model/content_key.h"

namespace ruv {
namespace {

constexpr int64_t kDefaultMaxCtx = 32768;
// For tiered types, one in this many tokens keeps its f16 form.
constexpr int64_t kTailShare = 8;

bool chooses_tails(const EngineOptions& o) {
  return is_tiered(*o.kv.type) && o.kv.keep_prefixes && o.kv.tail_tokens == 0;
}

// Tokens that a quarter of the machine's memory holds, tails included.
int64_t affordable_tokens(const Model& model, const EngineOptions& o) {
  KvShape shape = model.kv_shape();
  const int64_t f16_bytes = shape.bytes_per_token();
  shape.type = *o.kv.type;
  const int64_t memory = machine_memory_bytes() / 4;
  if (!is_tiered(shape.type)) return memory / shape.bytes_per_token();
  const int64_t for_steps =
      (EngineCore::tails_for_steps(o) * kPageTokens + o.kv.tail_tokens) * f16_bytes;
  const int64_t share = chooses_tails(o) ? f16_bytes / kTailShare : 0;
  return std::max<int64_t>(0, memory - for_steps) / (shape.bytes_per_token() + share);
}

// What steps need and what kept prefixes may have, at most one for each page.
int64_t tails_of(const EngineOptions& o) {
  if (!is_tiered(*o.kv.type)) return 0;
  return std::min(pages_for(o.kv.max_tokens),
                  EngineCore::tails_for_steps(o) + pages_for(o.kv.tail_tokens));
}

Status check_kv(const KvCacheConfig& kv) {
  if (*kv.type == KvType::f16 || *kv.type == KvType::int8) return {};
  std::vector<KvVerdict> verdicts;
  if (!kv.gate_file.empty() && file_exists(kv.gate_file)) {
    verdicts = TRY(read_kv_verdicts(TRY(read_text_file(kv.gate_file)), kv.gate_file));
  }
  return check_kv_type(*kv.type, verdicts);
}

// Everything that decides the bytes of a page but the model's own bytes.
std::string layout_of(const Model& model, const EngineOptions& o, const KvShape& shape) {
  const bool extended = model.rope.original_ctx > 0 && o.n_ctx > model.rope.original_ctx;
  const std::string group = is_tiered(shape.type) ? fmt::format(" by {}", kGroupTokens) : "";
  return fmt::format("isa {}, kv {}{}{}, {} layers, {} heads of {}, rope {}", model.kernels->isa,
                     kv_type_name(shape.type), group,
                     rotates_keys(shape.type) ? " centred, rotated" : "", shape.n_layers,
                     shape.n_kv_heads, shape.head_dim, extended ? "extended" : "original");
}

// Null: nothing is kept on disk.
Result<std::unique_ptr<PageStore>> store_for(const Model& model, const EngineOptions& o,
                                             const KvShape& shape) {
  if (o.kv.disk_folder.empty() || !o.kv.keep_prefixes) return std::unique_ptr<PageStore>();
  if (model.file == nullptr) {
    return fail(Code::unsupported, "prefix cache on disk: the model has no file to know it by");
  }
  const ContentKey key = content_key(*model.file, *model.kernels);
  return open_page_store(o.kv, key.words, layout_of(model, o, shape), shape.page_bytes());
}

}  // namespace

Result<EngineOptions> complete_options(EngineOptions o, const Model& model) {
  if (!o.kv.type) o.kv.type = default_kv_type(model.h.head_dim);
  TRY(check_kv(o.kv));
  const int64_t n_ctx_train = model.h.n_ctx_train;
  if (o.n_ctx < 0 || o.max_sequences < 1 || o.max_queue < 1 || o.max_batch_tokens < 1 ||
      o.kv.max_tokens < 0 || o.kv.max_tenant_tokens < 0 || o.kv.tail_tokens < 0 ||
      o.n_threads < 0) {
    return fail(Code::invalid, "engine options: a size is negative or zero");
  }
  if (o.n_ctx > n_ctx_train) {
    return fail(Code::invalid, "engine options: a context of {} tokens, the model has {}", o.n_ctx,
                n_ctx_train);
  }
  if (o.n_ctx == 0) o.n_ctx = std::min(n_ctx_train, kDefaultMaxCtx);
  o.max_batch_tokens = std::max(o.max_batch_tokens, o.max_sequences);
  if (o.kv.max_tokens == 0) {
    o.kv.max_tokens = std::min(o.n_ctx * o.max_sequences, affordable_tokens(model, o));
  }
  o.kv.max_tokens = std::max(o.kv.max_tokens, o.n_ctx);  // one sequence can always run to its end
  if (chooses_tails(o)) o.kv.tail_tokens = o.kv.max_tokens / kTailShare;
  return o;
}

Result<EngineParts> make_parts(const Model& model, const EngineOptions& complete) {
  EngineParts parts;
  std::random_device device;
  parts.guess_seed = uint64_t{device()} << 32 | device();
  parts.executor = TRY(
      Executor::create(model, {.n_threads = complete.n_threads,
                               .n_pages = pages_for(complete.kv.max_tokens),
                               .n_tails = tails_of(complete),
                               .max_rows = complete.max_batch_tokens,
                               .max_outputs = complete.max_sequences + EngineCore::kMaxDraftRows,
                               .n_ctx = complete.n_ctx,
                               .kv_type = *complete.kv.type}));
  parts.store = TRY(store_for(model, complete, parts.executor->pages().shape()));
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

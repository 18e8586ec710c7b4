#include "fit_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/machine.h"
#include "device/cache_layout.h"
#include "kernels/roofline.h"
#include "model/examine.h"
#include "model/weight_choice.h"
#include "terminal.h"

namespace ruv {
namespace {

constexpr KvType kShownKv[] = {KvType::f16, KvType::int8, KvType::int4};
// Activations, the program and what the system needs: a sixteenth of the memory.
constexpr int64_t kBesideShare = 16;

// The most tokens whose keys and values take n_bytes.
int64_t longest_in(const CacheLayout& layout, int64_t n_bytes, int64_t most) {
  int64_t least = 0, beyond = most + 1;
  while (beyond - least > 1) {
    const int64_t middle = least + (beyond - least) / 2;
    (layout.for_context(middle).held_bytes(middle) <= n_bytes ? least : beyond) = middle;
  }
  return least;
}

// Tokens a second where a step reads this and nothing else takes time.
double rate_of(double read_gb_s, int64_t n_bytes) {
  return n_bytes > 0 ? read_gb_s * 1e9 / static_cast<double>(n_bytes) : 0;
}

FitRow row_of(const Model& model, std::string_view type, const FitTable& table) {
  const ModelInfo info = model_info(model);
  FitRow row{.type = std::string(type), .weight_bytes = info.weight_bytes};
  const int64_t n_left = table.memory_bytes - table.memory_bytes / kBesideShare - row.weight_bytes;
  row.tokens_per_second = rate_of(table.read_gb_s, info.weight_bytes_per_token);
  for (const KvType kv : kShownKv) {
    const CacheLayout layout = model.cache_layout().with_type(kv);
    const int64_t n = longest_in(layout, n_left, model.h.n_ctx_train);
    row.contexts.push_back({kv, n});
    if (kv != model.h.default_kv()) continue;
    const int64_t n_read = info.weight_bytes_per_token + layout.for_context(n).held_bytes(n);
    row.tokens_per_second_full = rate_of(table.read_gb_s, n_read);
  }
  return row;
}

std::string tokens_text(int64_t n) { return n > 0 ? fmt::format("{}", n) : "none"; }

std::string rate_text(double rate) {
  return rate < 100 ? fmt::format("{:.1f}", rate) : fmt::format("{:.0f}", rate);
}

}  // namespace

Result<FitTable> fit_table(const std::string& path, const LoadOptions& options) {
  FitTable table{.memory_bytes = machine_memory_bytes(),
                 .read_gb_s = measure_read_gb_s(options.n_threads)};
  std::vector<std::string> types = {""};
  for (const std::string_view type : weight_types_by_loss()) types.emplace_back(type);
  const int64_t n_room = weight_room(table.memory_bytes);
  bool is_taken = false;
  for (const std::string& type : types) {
    LoadOptions typed = options;
    typed.quantize = type;
    const ExaminedModel examined = examine_model(path, typed);
    if (!examined.faults.empty()) return tl::unexpected(examined.faults.first());
    FitRow row = row_of(*examined.model, type, table);
    // Files of small types have no matrix of floats left to make smaller.
    if (!table.rows.empty() && row.weight_bytes >= table.rows.back().weight_bytes) continue;
    row.is_taken = !is_taken && row.weight_bytes <= n_room;
    is_taken = is_taken || row.is_taken;
    table.rows.push_back(std::move(row));
  }
  return table;
}

Json fit_json(const FitTable& table) {
  Json rows = Json::array();
  for (const FitRow& row : table.rows) {
    Json contexts = Json::object();
    for (const FitContext& context : row.contexts) {
      contexts[std::string(kv_type_name(context.type))] = context.n_tokens;
    }
    rows.push_back({{"type", row.type.empty() ? Json(nullptr) : Json(row.type)},
                    {"weight_bytes", row.weight_bytes},
                    {"context_tokens", std::move(contexts)},
                    {"tokens_per_second", row.tokens_per_second},
                    {"tokens_per_second_full", row.tokens_per_second_full},
                    {"taken", row.is_taken}});
  }
  return {{"memory_bytes", table.memory_bytes},
          {"read_gb_s", table.read_gb_s},
          {"rows", std::move(rows)}};
}

void print_fit(const FitTable& table) {
  fmt::print("\nmemory: {}, read at {:.1f} GB/s; `run` fills at most {} with weights\n",
             readable_bytes(table.memory_bytes), table.read_gb_s,
             readable_bytes(weight_room(table.memory_bytes)));
  fmt::print("  {:<10} {:>10}  {:>26}  {:>22}\n", "", "", "longest context, KV in",
             "tokens/s at most");
  fmt::print("  {:<10} {:>10}  {:>8} {:>8} {:>8}  {:>10} {:>11}\n", "--quantize", "weights", "f16",
             "int8", "int4", "at first", "at the end");
  for (const FitRow& row : table.rows) {
    fmt::print("{} {:<10} {:>10} ", row.is_taken ? "*" : " ", row.type.empty() ? "off" : row.type,
               readable_bytes(row.weight_bytes));
    for (const FitContext& context : row.contexts)
      fmt::print(" {:>8}", tokens_text(context.n_tokens));
    fmt::print("  {:>10} {:>11}\n", rate_text(row.tokens_per_second),
               rate_text(row.tokens_per_second_full));
  }
  fmt::print("int4 needs a verdict of `ruvllm kv-gate`\n");
  fmt::print("* is what `run` and `chat` take; other commands take it with --quantize auto\n");
}

}  // namespace ruv

#include "format/gguf_delta_net.h"

#include "format/tensor_names.h"

namespace ruv {
namespace {

struct DeltaRows {
  int64_t n_keys = 0;
  int64_t n_values = 0;
  int64_t key_dim = 0;
  int64_t value_dim = 0;

  int64_t shared_by() const { return n_values / n_keys; }  // value heads of a key head
  int64_t n_key_rows() const { return 2 * n_keys * key_dim; }
};

Result<DeltaRows> delta_rows_of(const ModelFile& model) {
  DeltaRows heads = {TRY(model.integer("ssm.group_count")),
                     TRY(model.integer("ssm.time_step_rank")), TRY(model.integer("ssm.state_size")),
                     0};
  const int64_t n_inner = TRY(model.integer("ssm.inner_size"));
  constexpr int64_t kMost = int64_t{1} << 24;
  const bool is_sane = heads.n_keys > 0 && heads.n_values > 0 && heads.key_dim > 0 &&
                       heads.n_keys < kMost && heads.n_values < kMost && heads.key_dim < kMost &&
                       n_inner > 0 && heads.n_values % heads.n_keys == 0 &&
                       n_inner % heads.n_values == 0;
  if (!is_sane) {
    return fail(Code::corrupt, "{}: the heads of linear attention do not fit each other",
                model.path());
  }
  heads.value_dim = n_inner / heads.n_values;
  return heads;
}

// Adds the entries of all value heads, `n` for each from `begin` on, in the order where heads that
// share a key head are as far apart as there are key heads.
void add_tiled(std::vector<int64_t>& order, const DeltaRows& heads, int64_t begin, int64_t n) {
  for (int64_t at = 0; at < heads.n_values; ++at) {
    const int64_t from = at % heads.n_keys * heads.shared_by() + at / heads.n_keys;
    for (int64_t i = 0; i < n; ++i) order.push_back(begin + from * n + i);
  }
}

// Rows [first, first + n) of each of the groups that the rows of a matrix form.
void add_grouped(std::vector<int64_t>& order, int64_t n_groups, int64_t group, int64_t first,
                 int64_t n) {
  for (int64_t g = 0; g < n_groups; ++g) {
    for (int64_t i = 0; i < n; ++i) order.push_back(g * group + first + i);
  }
}

Status check_dimension(const ModelFile& model, const TensorInfo& info, size_t dimension,
                       int64_t n) {
  if (dimension < info.shape.size() && info.shape[dimension] == n) return {};
  return fail(Code::corrupt, "{}: tensor '{}': its shape does not fit the heads of the config",
              model.path(), quoted_name(model.shown_tensor(info.name)));
}

ExportTensor unchanged(const TensorInfo& info) {
  return {.name = info.name, .shape = info.shape, .parts = {&info}};
}

// Each key head's queries, keys, values and gate follow each other; GGUF files have all queries,
// then all keys, then all values, and the gate as a matrix of its own.
Result<std::vector<ExportTensor>> split_groups(const ModelFile& model, const TensorInfo& info,
                                               const DeltaRows& heads) {
  const int64_t n_values = heads.shared_by() * heads.value_dim;  // rows of a key head
  const int64_t group = 2 * (heads.key_dim + n_values);
  TRY(check_dimension(model, info, 0, heads.n_keys * group));
  ExportTensor qkv = unchanged(info);
  ExportTensor gate = unchanged(info);
  const std::string prefix = info.name.substr(0, info.name.rfind("ssm_in"));
  qkv.name = prefix + "attn_qkv.weight";
  gate.name = prefix + "attn_gate.weight";
  add_grouped(qkv.row_order, heads.n_keys, group, 0, heads.key_dim);
  add_grouped(qkv.row_order, heads.n_keys, group, heads.key_dim, heads.key_dim);
  add_grouped(qkv.row_order, heads.n_keys, group, 2 * heads.key_dim, n_values);
  add_grouped(gate.row_order, heads.n_keys, group, 2 * heads.key_dim + n_values, n_values);
  qkv.shape[0] = std::ssize(qkv.row_order);
  gate.shape[0] = std::ssize(gate.row_order);
  return std::vector{std::move(qkv), std::move(gate)};
}

// Filters of queries, keys and values become tensors of their own, of four dimensions.
Result<std::vector<ExportTensor>> split_filters(const ModelFile& model, const TensorInfo& info,
                                                int64_t n) {
  const bool is_whole = info.name.ends_with(".ssm_conv1d.weight");
  TRY(check_dimension(model, info, 0, is_whole ? 3 * n : n));
  if (info.shape.size() != 2) {
    return fail(Code::corrupt, "{}: tensor '{}' has {} dimensions", model.path(),
                quoted_name(model.shown_tensor(info.name)), info.shape.size());
  }
  std::vector<ExportTensor> out;
  const std::vector<int64_t> shape = {1, n, 1, info.shape[1]};
  const std::string stem = info.name.substr(0, info.name.rfind(".weight"));
  for (int64_t part = 0; part < (is_whole ? 3 : 1); ++part) {
    out.push_back(unchanged(info));
    ExportTensor& one = out.back();
    one.shape = shape;
    if (!is_whole) continue;
    one.name = fmt::format("{}_{}.weight", stem, "qkv"[part]);
    add_grouped(one.row_order, 1, n, part * n, n);
  }
  return out;
}

// Linear attention with decays of channels.
Result<std::vector<ExportTensor>> export_channel_tensor(const ModelFile& model,
                                                        const TensorInfo& info) {
  const int64_t n_heads = TRY(model.integer("ssm.group_count"));
  const int64_t head_dim = TRY(model.integer("kda.head_dim"));
  constexpr int64_t kMost = int64_t{1} << 16;
  if (n_heads < 1 || head_dim < 1 || n_heads > kMost || head_dim > kMost) {
    return fail(Code::corrupt, "{}: {} heads of linear attention of {} numbers are out of range",
                model.path(), n_heads, head_dim);
  }
  if (info.name.find(".ssm_conv1d") != info.name.npos) {
    return split_filters(model, info, n_heads * head_dim);
  }
  std::vector<ExportTensor> out;
  if (!info.name.ends_with(".ssm_a")) return out;
  out.push_back(unchanged(info));
  out.back().shape = {n_heads, 1};
  out.back().minus_exp = true;
  if (info.n_elements() == n_heads) return out;
  return fail(Code::corrupt, "{}: tensor '{}' has {} numbers, expected {}", model.path(),
              quoted_name(model.shown_tensor(info.name)), info.n_elements(), n_heads);
}

}  // namespace

Result<std::vector<ExportTensor>> export_delta_tensor(const ModelFile& model,
                                                      const TensorInfo& info) {
  const FamilyRecord* const family = model.family();
  std::vector<ExportTensor> out;
  if (family != nullptr && family->block.mixers == Mixers::delta_or_latent) {
    return export_channel_tensor(model, info);
  }
  if (family == nullptr || family->block.mixers != Mixers::delta_net) return out;
  const DeltaRows heads = TRY(delta_rows_of(model));
  if (info.name.ends_with(".ssm_in.weight")) return split_groups(model, info, heads);
  ExportTensor tensor = unchanged(info);
  tensor.minus_exp = info.name.ends_with(".ssm_a");
  struct Row {
    std::string_view ending;
    int64_t n;         // entries of a value head
    int64_t n_before;  // rows of queries and keys
    bool columns = false;
  };
  const Row rows[] = {{".attn_qkv.weight", heads.value_dim, heads.n_key_rows()},
                      {".ssm_conv1d.weight", heads.value_dim, heads.n_key_rows()},
                      {".attn_gate.weight", heads.value_dim, 0},
                      {".ssm_out.weight", heads.value_dim, 0, true},
                      {".ssm_beta.weight", 1, 0},
                      {".ssm_alpha.weight", 1, 0},
                      {".ssm_dt.bias", 1, 0},
                      {".ssm_a", 1, 0}};
  for (const Row& row : rows) {
    const bool moves = family->tiled_value_heads && heads.shared_by() > 1 && heads.n_keys > 1;
    if (!moves || !info.name.ends_with(row.ending)) continue;
    TRY(check_dimension(model, info, row.columns ? 1 : 0, row.n_before + heads.n_values * row.n));
    std::vector<int64_t>& order = row.columns ? tensor.column_order : tensor.row_order;
    for (int64_t i = 0; i < row.n_before; ++i) order.push_back(i);
    add_tiled(order, heads, row.n_before, row.n);
  }
  const bool changes =
      tensor.minus_exp || !tensor.row_order.empty() || !tensor.column_order.empty();
  if (changes) out.push_back(std::move(tensor));
  return out;
}

}  // namespace ruv

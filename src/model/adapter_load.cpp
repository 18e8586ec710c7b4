#include "model/adapter_load.h"

#include <charconv>

#include "format/adapter_halves.h"
#include "format/tensor_names.h"
#include "format/tensor_parts.h"
#include "model/base_copy.h"
#include "model/expert_stacks.h"
#include "model/file_rows.h"

namespace ruv {
namespace {

// The matrix of a layer that a tensor of a GGUF file is.
struct MatrixPlace {
  int64_t layer = 0;
  std::span<const Role> roles;
  FusedOrder order = FusedOrder::parts;
  std::optional<int64_t> expert = {};  // whose matrix it is
};

// The 3 of "ffn_up.3" where an expert's matrix is called so.
std::optional<int64_t> expert_in(std::string_view stem, const RoleRow& row) {
  if (row.of_experts.empty() || !stem.starts_with(row.of_experts)) return std::nullopt;
  stem.remove_prefix(row.of_experts.size());
  if (!stem.starts_with('.')) return std::nullopt;
  int64_t expert = 0;
  const auto [end, error] = std::from_chars(stem.data() + 1, stem.data() + stem.size(), expert);
  const bool is_number = error == std::errc() && end == stem.data() + stem.size();
  return is_number && expert >= 0 ? std::optional(expert) : std::nullopt;
}

// Some names are of one matrix in some files and of several in others, which the number of rows of
// B tells apart.
std::optional<MatrixPlace> place_of(const Model& model, std::string_view tensor, int64_t n_rows) {
  const auto name = tensor_in_layer(tensor);
  if (!name || name->first >= model.h.n_layers) return std::nullopt;
  const auto [layer, stem] = *name;
  const LayerPlan& plan = model.plans[static_cast<size_t>(layer)];
  std::optional<MatrixPlace> place;
  for (const RoleRow& row : role_rows()) {
    if (!plan.has(row.role)) continue;
    if (const auto expert = expert_in(stem, row)) {
      return MatrixPlace{layer, {&row.role, 1}, FusedOrder::parts, expert};
    }
    if (row.tensor != stem) continue;
    place = MatrixPlace{layer, {&row.role, 1}};
    if (n_rows_of(row.role, plan) == n_rows) return place;
  }
  for (const FusedRow& fused : fused_rows()) {
    if (fused.tensor != stem || !plan.has(fused.sign)) continue;
    int64_t n_all = 0;
    for (const Role part : fused.parts) n_all += n_rows_of(part, plan);
    if (!place || n_all == n_rows) return MatrixPlace{layer, fused.parts, fused.order};
  }
  return place;
}

// Whether these matrices are the same in checkpoints and in GGUF files, but for the order that the
// loader puts rows in. Those of mixers without softmax are not: converters group their heads anew;
// nor those of models whose GGUF files have the config's factors in their weights.
bool is_of_both_containers(const FamilyRecord& family, std::span<const Role> roles) {
  if (family.block.mixers == Mixers::state_and_attention) return false;
  const auto is_moved = [](Role role) {
    return (role >= Role::delta_in && role <= Role::time_out) ||
           (role >= Role::channel_k && role <= Role::channel_r);
  };
  return std::ranges::none_of(roles, is_moved);
}

std::optional<ModelEnd> end_of(std::string_view tensor) {
  if (tensor == "token_embd.weight") return ModelEnd::token_embd;
  if (tensor == "output.weight") return ModelEnd::output;
  return std::nullopt;
}

// Numbers of a matrix (n, 1); none of one without a shape.
std::vector<float> numbers_of(const TensorInfo& tensor) {
  if (tensor.shape.empty()) return {};
  std::vector<float> numbers(static_cast<size_t>(tensor.n_rows()));
  for (int64_t i = 0; i < tensor.n_rows(); ++i) {
    tensor.decode_row(i, &numbers[static_cast<size_t>(i)]);
  }
  return numbers;
}

AdapterInfo info_of(const AdapterFile& file) {
  AdapterInfo info{.path = file.path,
                   .container = std::string(container_name(file.container)),
                   .base = file.base,
                   .n_matrices = std::ssize(file.modules)};
  for (const AdapterStack& stack : file.stacks) info.n_matrices += stack.n_experts();
  const auto count = [&info](const TensorInfo& part) {
    if (part.shape.empty()) return;
    info.n_params += part.n_elements();
    info.n_bytes += format_of(part.dtype).bytes_of(part.n_elements());
  };
  for (const AdapterModule& module : file.modules) {
    info.max_rank = std::max(info.max_rank, module.rank());
    for (const TensorInfo* part : {&module.a, &module.b, &module.magnitudes}) count(*part);
    if (file.has_own_biases) count(module.biases);
  }
  for (const AdapterStack& stack : file.stacks) {
    info.max_rank = std::max(info.max_rank, stack.rank());
    for (const TensorInfo* part : {&stack.a, &stack.b}) count(*part);
  }
  info.n_directions = std::ssize(file.directions);
  for (const AdapterDirection& direction : file.directions) count(direction.numbers);
  for (const AdapterWhole& whole : file.wholes) {
    if (whole.is_base) continue;
    ++info.n_matrices;
    count(whole.matrix);
  }
  return info;
}

// What a module, or a part of it, has for each row of a matrix.
struct ModuleRows {
  const TensorInfo& b;
  const TensorInfo& magnitudes;
  const TensorInfo& biases;
};

class AdapterBinder {
 public:
  AdapterBinder(const Model& model, const AdapterFile& file)
      : model_(model),
        file_(file),
        names_(model.family, model.h.n_experts > 0),
        is_gguf_(file.container == AdapterContainer::gguf) {}

  Result<FileMatrices> find() {
    for (const AdapterModule& module : file_.modules) TRY(add(module));
    TRY(add_stacks());
    for (const AdapterWhole& whole : file_.wholes) TRY(add(whole));
    if (!file_.directions.empty()) TRY(check_hint());
    for (const AdapterDirection& direction : file_.directions) TRY(add(direction));
    const FamilyRecord& family = *model_.family;
    const bool moved = family.neighbour_pairs || (is_gguf_ && family.neighbour_rows);
    return FileMatrices{std::move(matrices_), std::move(wholes_), std::move(directions_),
                        moved ? RopeOrder::neighbours : RopeOrder::halves};
  }

 private:
  Status add(const AdapterModule& module) {
    if (const auto end = end_of(module.tensor); is_gguf_ && end) return add_to_end(*end, module);
    if (is_gguf_)
      return add_as(module.tensor, module, {module.b, module.magnitudes, module.biases});
    const MappedName name = checkpoint_name(module.tensor);
    if (!name.mapped) return unknown(module.tensor);
    if (const auto end = end_of(name.gguf)) return add_to_end(*end, module);
    TensorInfo b = module.b;
    b.name = name.gguf;
    MappedName form = name;
    form.form.conv1d = false;  // only weights are stored transposed
    const std::vector<TensorInfo> parts = parts_of(std::move(b), form, 0);
    const auto like_parts = [&](const TensorInfo& column) {
      if (column.shape.empty()) return std::vector<TensorInfo>(parts.size());
      return parts_of(column, form, 0);
    };
    const std::vector<TensorInfo> magnitudes = like_parts(module.magnitudes);
    const std::vector<TensorInfo> biases = like_parts(module.biases);
    if (magnitudes.size() != parts.size() || biases.size() != parts.size()) {
      return fail(Code::unsupported,
                  "{}: '{}': magnitudes and biases of such a matrix are not supported", file_.path,
                  quoted_name(module.tensor));
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      TRY(add_as(parts[i].name, module, {parts[i], magnitudes[i], biases[i]}));
    }
    return {};
  }

  // Modules of transformers 5 have routers' matrices themselves that checkpoints have in a layer of
  // theirs.
  MappedName checkpoint_name(std::string_view tensor) const {
    constexpr std::string_view kRouter = ".router.weight";
    MappedName name = names_.gguf_of(tensor);
    if (name.mapped || !tensor.ends_with(kRouter)) return name;
    tensor.remove_suffix(kRouter.size());
    return names_.gguf_of(fmt::format("{}.router.layer.weight", tensor));
  }

  Status add_stacks() {
    auto matrices = matrices_of_stacks(model_, names_, file_);
    if (!matrices) {
      return fail(matrices.error().code(), "{}: {}", file_.path, matrices.error().message());
    }
    for (AdapterMatrices& m : *matrices) {
      TRY(check_container(m.roles, file_.stacks.front().tensor));
      matrices_.push_back(std::move(m));
    }
    return {};
  }

  // A tied output is a matrix of its own for PEFT. MLX computes it with the embedding's module, and
  // so with its adapter.
  Status add_to_end(ModelEnd end, const AdapterModule& module) {
    TRY(check_container({}, module.tensor));
    const bool embeds = end == ModelEnd::token_embd;
    // MLX's are those of tokens.
    if (embeds && file_.container == AdapterContainer::mlx && module.has_magnitudes()) {
      return fail(Code::unsupported, "{}: '{}': lengths of an embedding's rows are not supported",
                  file_.path, quoted_name(module.tensor));
    }
    matrices_.push_back({.a = TRY(embeds ? adapter_rows_of(transposed_matrix(module.a), true)
                                         : adapter_rows_of(module.a)),
                         .b = TRY(adapter_rows_of(module.b)),
                         .scale = module.scale,
                         .magnitudes = numbers_of(module.magnitudes),
                         .biases = numbers_of(module.biases),
                         .has_own_biases = file_.has_own_biases,
                         .end = end});
    const bool is_for_both = embeds && file_.container == AdapterContainer::mlx &&
                             model_.file->find_tensor("output.weight") == nullptr &&
                             !model_.output.empty();
    if (!is_for_both) return {};
    matrices_.push_back({.a = TRY(adapter_rows_of(transposed_matrix(module.b))),
                         .b = TRY(adapter_rows_of(transposed_matrix(module.a))),
                         .scale = module.scale,
                         .end = ModelEnd::output});
    return {};
  }

  Status add(const AdapterWhole& whole) {
    const std::optional<ModelEnd> end = end_of(names_.gguf_of(whole.tensor).gguf);
    if (!end) return unknown(whole.tensor);
    TRY(check_container({}, whole.tensor));
    if (whole.is_base) {
      const Status same = check_base_copy(model_, *end, whole.matrix);
      if (same.ok()) return same;
      return fail(same.code(), "{}: '{}': {}", file_.path, quoted_name(whole.tensor),
                  same.message());
    }
    wholes_.push_back({*end, TRY(adapter_rows_of(whole.matrix, *end == ModelEnd::token_embd))});
    return {};
  }

  Status add(const AdapterDirection& direction) {
    const TensorInfo& from = direction.numbers;
    LayerDirection& to = directions_.emplace_back(LayerDirection{direction.layer, {}});
    to.numbers.resize(static_cast<size_t>(from.n_elements()));
    if (!to.numbers.empty()) from.decode_row(0, to.numbers.data());
    return {};
  }

  // Some programs write the architecture of GGUF files there, and some transformers' model_type.
  Status check_hint() const {
    const FamilyRecord* const own = model_.family;
    bool is_of_model =
        file_.base.empty() || file_.base == own->name || file_.base == model_.file->architecture();
    for (const FamilyRecord* const record : families()) {
      for (const HfClass& row : record->classes) {
        const bool is_own = record == own || row.with_experts == own || row.encoder == own;
        is_of_model |= is_own && row.model_type == file_.base;
      }
    }
    if (is_of_model) return {};
    return fail(Code::invalid,
                "{}: metadata 'controlvector.model_hint' is '{}', and the model is of '{}'",
                file_.path, quoted_name(file_.base), own->name);
  }

  // Whether the matrices are those of the model's file.
  Status check_container(std::span<const Role> roles, std::string_view tensor) const {
    const bool is_like_model = is_gguf_ == (model_.file->container() == "gguf");
    if (is_like_model || is_of_both_containers(*model_.family, roles)) return {};
    return fail(Code::unsupported,
                "{}: '{}': in {} this matrix has another form than in the model's file; load the "
                "model from {}",
                file_.path, quoted_name(tensor),
                is_gguf_ ? "GGUF files" : "checkpoints of transformers",
                is_gguf_ ? "one" : "its folder");
  }

  Status add_as(std::string_view tensor, const AdapterModule& module, const ModuleRows& rows) {
    const std::optional<MatrixPlace> place = place_of(model_, tensor, rows.b.n_rows());
    if (!place) return unknown(module.tensor);
    TRY(check_container(place->roles, module.tensor));
    AdapterMatrices matrices{.layer = place->layer,
                             .roles = place->roles,
                             .a = TRY(adapter_rows_of(module.a)),
                             .b = TRY(adapter_rows_of(rows.b)),
                             .scale = module.scale,
                             .order = place->order,
                             .magnitudes = numbers_of(rows.magnitudes),
                             .biases = numbers_of(rows.biases),
                             .has_own_biases = file_.has_own_biases,
                             .expert = place->expert};
    const bool is_moved = model_.family->qkv_rows != QkvRows::one_after_another;
    if (!is_gguf_ && is_moved && place->roles.size() > 1 && place->roles.front() == Role::q) {
      const LayerPlan& plan = model_.plans[static_cast<size_t>(place->layer)];
      const HeadCounts counts{plan.n_heads, plan.n_kv_heads, plan.head_dim};
      if (std::ssize(matrices.b.rows) != counts.n_rows()) return unlike(module, counts.n_rows());
      put_one_after_another(matrices.b.rows, model_.family->qkv_rows, counts);
      put_one_after_another(matrices.magnitudes, model_.family->qkv_rows, counts);
      put_one_after_another(matrices.biases, model_.family->qkv_rows, counts);
    }
    matrices_.push_back(std::move(matrices));
    return {};
  }

  Status unknown(std::string_view tensor) const {
    return fail(Code::invalid, "{}: '{}' is not a matrix of the model's layers", file_.path,
                quoted_name(tensor));
  }
  Status unlike(const AdapterModule& module, int64_t n_rows) const {
    return fail(Code::invalid, "{}: '{}': B has {} rows, and the model's matrix {}", file_.path,
                quoted_name(module.tensor), module.b.shape[0], n_rows);
  }

  const Model& model_;
  const AdapterFile& file_;
  TensorNames names_;
  bool is_gguf_;
  std::vector<AdapterMatrices> matrices_;
  std::vector<WholeMatrix> wholes_;
  std::vector<LayerDirection> directions_;
};

}  // namespace

Result<FileMatrices> find_matrices(const Model& model, const AdapterFile& file) {
  return AdapterBinder(model, file).find();
}

Result<LoadedAdapter> bind_adapter(std::shared_ptr<const Model> model, const AdapterFile& file,
                                   WorkerPool& pool) {
  const FileMatrices found = TRY(find_matrices(*model, file));
  auto made =
      make_adapter(*model, found.matrices, found.order, pool, found.wholes, found.directions);
  if (!made) return fail(made.error().code(), "{}: {}", file.path, made.error().message());
  Adapter adapter = std::move(*made);
  int64_t n_bytes = 0;
  const auto count = [&n_bytes](const LowRank& added) {
    if (added.empty()) return;
    n_bytes += added.a.n_bytes() + added.b.n_bytes() + added.factors.memory.n_bytes +
               added.shifts.memory.n_bytes;
  };
  std::ranges::for_each(adapter.products, count);
  for (const std::vector<LowRank>& each : adapter.experts) std::ranges::for_each(each, count);
  for (const Vector& direction : adapter.directions) n_bytes += direction.memory.n_bytes;
  n_bytes += adapter.token_embd.n_bytes() + adapter.output.n_bytes();
  return LoadedAdapter{std::move(adapter), std::move(model), info_of(file), n_bytes, file.stamps};
}

Result<std::shared_ptr<const LoadedAdapter>> load_from(std::shared_ptr<const Model> model,
                                                       const AdapterFile& file, int n_threads) {
  WorkerPool pool(n_threads);
  auto bound = TRY(bind_adapter(std::move(model), file, pool));
  for (const MappedFile& mapped : file.files) TRY(mapped.check_read());
  return std::make_shared<const LoadedAdapter>(std::move(bound));
}

Result<AdapterInfo> inspect_adapter(const std::string& path) {
  const AdapterFile file = TRY(open_adapter(path));
  return info_of(file);
}

Result<std::shared_ptr<const LoadedAdapter>> load_adapter(std::shared_ptr<const Model> model,
                                                          const std::string& path, int n_threads) {
  const AdapterFile file = TRY(open_adapter(path));
  return load_from(std::move(model), file, n_threads);
}

AdapterInfo adapter_info(const LoadedAdapter& adapter) { return adapter.info; }

}  // namespace ruv

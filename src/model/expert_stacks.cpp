// Files name a stack in three ways. GGUF's are called like the model's tensors, and MLX's after
// modules that all classes have alike. PEFT's have only the name of a module, of whose parameters
// it is one: the shapes of the matrices say which, and in which order PEFT took the parameter's
// dimensions, which versions did differently.
#include "model/expert_stacks.h"

#include <charconv>

#include "format/adapter_halves.h"
#include "model/file_rows.h"

namespace ruv {
namespace {

constexpr Role kExpertGateUp[] = {Role::expert_gate, Role::expert_up};
constexpr Role kExpertGate[] = {Role::expert_gate};
constexpr Role kExpertUp[] = {Role::expert_up};
constexpr Role kExpertDown[] = {Role::expert_down};

struct StackPlace {
  int64_t layer = 0;
  std::span<const Role> roles = {};
  bool by_turns = false;      // rows of the two roles, else all of one after those of the other
  bool inputs_first = false;  // the checkpoint's matrices are (n_in, n_out)
};

std::optional<StackPlace> place_of_gguf(std::string_view tensor) {
  const auto name = tensor_in_layer(tensor);
  if (!name) return std::nullopt;
  const auto [layer, stem] = *name;
  if (stem == "ffn_gate_up_exps") return StackPlace{layer, kExpertGateUp};
  if (stem == "ffn_gate_exps") return StackPlace{layer, kExpertGate};
  if (stem == "ffn_up_exps") return StackPlace{layer, kExpertUp};
  if (stem == "ffn_down_exps") return StackPlace{layer, kExpertDown};
  return std::nullopt;
}

// The one number of a name, which is that of the layer.
std::optional<int64_t> only_number(std::string_view name) {
  std::optional<int64_t> only;
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find('.', at), name.size());
    const std::string_view word = name.substr(at, end - at);
    int64_t number = 0;
    const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error == std::errc() && rest == word.data() + word.size() && number >= 0) {
      if (only) return std::nullopt;
      only = number;
    }
    at = end + 1;
  }
  return only;
}

std::string_view last_word(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// What a module of MLX is, whose matrices are stacked.
std::optional<StackPlace> place_of_mlx(std::string_view module) {
  const std::optional<int64_t> layer = only_number(module);
  if (!layer) return std::nullopt;
  const std::string_view word = last_word(module);
  if (word == "gate_proj") return StackPlace{*layer, kExpertGate};
  if (word == "up_proj" || word == "fc1") return StackPlace{*layer, kExpertUp};
  if (word == "down_proj" || word == "fc2") return StackPlace{*layer, kExpertDown};
  return std::nullopt;
}

// What the parameters of a module of PEFT may be: as the model's family calls them, or as all
// classes of transformers do that stack experts.
std::vector<StackPlace> places_of_module(const TensorNames& names, std::string_view module) {
  std::vector<StackPlace> places;
  for (const char* parameter : {"weight", "gate_up_proj", "up_proj", "down_proj"}) {
    const MappedName name = names.gguf_of(fmt::format("{}.{}", module, parameter));
    auto place = name.mapped ? place_of_gguf(name.gguf) : std::nullopt;
    if (!place) continue;
    if (!name.other.empty()) place->roles = kExpertGateUp;
    place->by_turns = name.form.by_turns;
    place->inputs_first = name.form.conv1d;
    places.push_back(*place);
  }
  const std::optional<int64_t> layer = only_number(module);
  if (!places.empty() || !layer || last_word(module) != "experts") return places;
  return {{*layer, kExpertGateUp}, {*layer, kExpertUp}, {*layer, kExpertDown}};
}

// One expert's matrix.
TensorInfo slice_of(const TensorInfo& stack, int64_t expert) {
  TensorInfo matrix = stack;
  matrix.shape.erase(matrix.shape.begin());
  int64_t step = format_of(stack.dtype).bytes_of(matrix.n_elements());
  if (!stack.steps.empty()) {
    step = stack.steps.front();
    matrix.steps.erase(matrix.steps.begin());
  }
  matrix.bytes = stack.bytes.subspan(static_cast<size_t>(expert * step));
  return matrix;
}

struct FittingPlace {
  StackPlace place;
  bool turned = false;  // A has the outputs, and B the inputs
};

class StackBinder {
 public:
  StackBinder(const Model& model, const TensorNames& names, const AdapterStack& stack, bool is_gguf)
      : model_(model), names_(names), stack_(stack), is_gguf_(is_gguf) {}

  // Requires: a place in which it fits.
  Result<std::vector<AdapterMatrices>> bind(const FittingPlace& fitting) const {
    const StackPlace& place = fitting.place;
    std::vector<AdapterMatrices> all;
    for (int64_t expert = 0; expert < stack_.n_experts(); ++expert) {
      TensorInfo a = slice_of(stack_.a, expert), b = slice_of(stack_.b, expert);
      if (fitting.turned) {
        std::swap(a, b);
        a = transposed_matrix(std::move(a));
        b = transposed_matrix(std::move(b));
      }
      AdapterMatrices m{.layer = place.layer,
                        .roles = place.roles,
                        .a = TRY(adapter_rows_of(a)),
                        .b = TRY(adapter_rows_of(b)),
                        .scale = stack_.scale,
                        .expert = expert};
      if (place.by_turns && place.roles.size() > 1) put_by_parts(m.b.rows);
      all.push_back(std::move(m));
    }
    return all;
  }

  // Those of the model's that the matrices have the shapes of; at least one.
  Result<std::vector<FittingPlace>> find() const {
    std::vector<FittingPlace> fitting;
    bool is_known = false;
    for (const StackPlace& place : places()) {
      if (place.layer >= model_.h.n_layers) continue;
      const LayerPlan& plan = model_.plans[static_cast<size_t>(place.layer)];
      const auto has = [&plan](Role role) { return plan.has(role); };
      if (!std::ranges::all_of(place.roles, has)) continue;
      // Classes of transformers have gates in one parameter with it.
      const bool is_up_alone = place.roles.size() == 1 && place.roles.front() == Role::expert_up;
      if (stack_.is_any_parameter && is_up_alone && has(Role::expert_gate)) continue;
      is_known = true;
      const RoleRow& row = role_rows()[static_cast<size_t>(place.roles.front())];
      const int64_t n_in = plan.extent(row.n_in);
      const int64_t n_out = std::ssize(place.roles) * plan.extent(row.n_out);
      if (stack_.n_experts() != plan.n_experts) continue;
      const int64_t n_a = stack_.a.shape[2], n_b = stack_.b.shape[1];
      if (n_a == n_in && n_b == n_out) fitting.push_back({place, false});
      const bool may_turn = stack_.is_any_parameter && (stack_.may_be_turned || place.inputs_first);
      if (may_turn && n_a == n_out && n_b == n_in) fitting.push_back({place, true});
    }
    const std::string name = quoted_name(stack_.tensor);
    if (!is_known) return fail(Code::invalid, "'{}' is not a matrix of the model's layers", name);
    if (!fitting.empty()) return fitting;
    return fail(
        Code::invalid,
        "'{}': the matrices are of {} experts, from {} to {} numbers, which the model's are "
        "not",
        name, stack_.n_experts(), stack_.a.shape[2], stack_.b.shape[1]);
  }

 private:
  std::vector<StackPlace> places() const {
    if (is_gguf_) {
      const auto place = place_of_gguf(stack_.tensor);
      return place ? std::vector{*place} : std::vector<StackPlace>();
    }
    constexpr std::string_view kEnding = ".weight", kInner = ".base_layer";
    std::string_view module = stack_.tensor;
    if (module.ends_with(kEnding)) module.remove_suffix(kEnding.size());
    if (!stack_.is_any_parameter) {
      const auto place = place_of_mlx(module);
      return place ? std::vector{*place} : std::vector<StackPlace>();
    }
    while (module.ends_with(kInner)) module.remove_suffix(kInner.size());
    return places_of_module(names_, module);
  }

  // Rows of two roles by turns.
  static void put_by_parts(std::vector<const std::byte*>& rows) {
    const std::vector<const std::byte*> turns = rows;
    const size_t half = rows.size() / 2;
    for (size_t i = 0; i < half; ++i) {
      rows[i] = turns[2 * i];
      rows[half + i] = turns[2 * i + 1];
    }
  }

  const Model& model_;
  const TensorNames& names_;
  const AdapterStack& stack_;
  bool is_gguf_;
};

}  // namespace

std::optional<std::pair<int64_t, std::string_view>> tensor_in_layer(std::string_view tensor) {
  constexpr std::string_view kStart = "blk.", kEnding = ".weight";
  if (!tensor.starts_with(kStart) || !tensor.ends_with(kEnding)) return std::nullopt;
  tensor = tensor.substr(kStart.size(), tensor.size() - kStart.size() - kEnding.size());
  int64_t layer = 0;
  const auto [end, error] = std::from_chars(tensor.data(), tensor.data() + tensor.size(), layer);
  tensor.remove_prefix(static_cast<size_t>(end - tensor.data()));
  if (error != std::errc() || layer < 0 || !tensor.starts_with('.')) return std::nullopt;
  return std::pair(layer, tensor.substr(1));
}

Result<MatrixRows> adapter_rows_of(const TensorInfo& tensor, bool copies) {
  MatrixRows rows{tensor.name, tensor.dtype, tensor.shape.back(), {}, nullptr};
  const int64_t n_rows = tensor.n_rows();
  rows.rows.reserve(static_cast<size_t>(n_rows));
  if (tensor.has_whole_rows() && !copies) {
    for (int64_t i = 0; i < n_rows; ++i) {
      rows.rows.push_back(tensor.bytes.data() + tensor.row_offset(i));
    }
    return rows;
  }
  const int64_t row_bytes = format_of(tensor.dtype).bytes_of(rows.n_in);
  rows.owned = std::make_shared<Buffer>(TRY(Buffer::allocate(n_rows * row_bytes)));
  for (int64_t i = 0; i < n_rows; ++i) {
    std::byte* const to = rows.owned->get() + i * row_bytes;
    tensor.copy_row(i, to);
    rows.rows.push_back(to);
  }
  return rows;
}

Result<std::vector<AdapterMatrices>> matrices_of_stacks(const Model& model,
                                                        const TensorNames& names,
                                                        const AdapterFile& file) {
  const bool is_gguf = file.container == AdapterContainer::gguf;
  std::vector<std::vector<FittingPlace>> fitting;
  bool any[2] = {false, false};  // whether one is certainly as it is, and certainly turned
  for (const AdapterStack& stack : file.stacks) {
    fitting.push_back(TRY(StackBinder(model, names, stack, is_gguf).find()));
    if (fitting.back().size() == 1) any[fitting.back().front().turned ? 1 : 0] = true;
  }
  std::vector<AdapterMatrices> all;
  for (size_t i = 0; i < file.stacks.size(); ++i) {
    const AdapterStack& stack = file.stacks[i];
    // One version of PEFT wrote all of them, for one class.
    if (fitting[i].size() > 1 && any[0] != any[1]) {
      std::erase_if(fitting[i], [&](const FittingPlace& one) { return one.turned != any[1]; });
    }
    if (fitting[i].size() != 1) {
      return fail(Code::unsupported,
                  "'{}': the shapes do not say whether PEFT took inputs or outputs first; save the "
                  "adapter with PEFT 0.20 or later",
                  quoted_name(stack.tensor));
    }
    for (AdapterMatrices& m :
         TRY(StackBinder(model, names, stack, is_gguf).bind(fitting[i].front()))) {
      all.push_back(std::move(m));
    }
  }
  return all;
}

}  // namespace ruv

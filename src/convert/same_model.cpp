// Keys have the same type and value; numbers are compared as float32, which GGUF files have.
// What the keys lead to (HParams, rotary positions, plans of layers) is compared as well, since
// files of other programs leave keys out.
#include "convert/same_model.h"

#include <algorithm>
#include <array>

#include "convert/same_plans.h"
#include "family/word_list.h"
#include "format/gguf_keys.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

constexpr std::string_view kPattern = "attention.sliding_window_pattern";

bool same_number(double a, double b) { return static_cast<float>(a) == static_cast<float>(b); }

// A value for an error.
std::string shown(const MetaValue& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  if (const auto* number = std::get_if<int64_t>(&value)) return fmt::format("{}", *number);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  if (const auto* text = std::get_if<std::string>(&value)) return quoted_name(*text);
  return fmt::format("an array of {}", std::get<std::shared_ptr<const MetaArray>>(value)->size());
}

// Keys that ask for nothing, so that a folder need not have them.
bool is_without_effect(std::string_view name, const MetaValue& value) {
  if (is_word_of(gguf_keys_without_effect(), name)) return true;
  for (const NeutralKey& key : gguf_neutral_keys()) {
    if (key.name == name) return is_word_of(key.allowed, shown(value));
  }
  const auto* const text = std::get_if<std::string>(&value);
  const auto* const number = std::get_if<int64_t>(&value);
  if (name == "rope.scaling.type") return text != nullptr && *text == "none";
  const bool counts_none =
      name == "expert_count" || name == "expert_used_count" || name == "attention.sliding_window";
  return counts_none && number != nullptr && *number == 0;
}

// A key that a folder lacks must ask for nothing.
Status check_key(const Model& source, const Model& folder, std::string_view name,
                 const MetaValue& value) {
  const MetaValue* const written = folder.file->find(name);
  if (written == nullptr && is_without_effect(name, value)) return {};
  const std::string key = source.file->shown_key(name);
  if (written == nullptr) {
    return fail(Code::unsupported,
                "{}: key '{}' ({}) cannot be said in a folder of this model class",
                source.file->path(), quoted_name(key), shown(value));
  }
  // A period or a list of layers: what they mean is compared with the plans.
  if (name == kPattern || same_meta_value(value, *written)) return {};
  return fail(Code::unsupported, "{}: key '{}' is {}, but a folder of this model class says {}",
              source.file->path(), quoted_name(key), shown(value), shown(*written));
}

// A key that says whether projections have biases, and the projections.
struct BiasRole {
  std::string_view key;
  std::array<std::string_view, 4> tensors;
};
constexpr BiasRole kBiases[] = {{"attention_bias", {"attn_q", "attn_k", "attn_v", "attn_qkv"}},
                                {"attention_output_bias", {"attn_output"}},
                                {"mlp_bias", {"ffn_up", "ffn_gate", "ffn_down"}}};

// Classes have the biases of a role in all layers or in none.
Status check_biases(const Model& source, const Model& folder) {
  const ModelFile& file = *source.file;
  for (const BiasRole& role : kBiases) {
    const MetaValue* const said = folder.file->find(role.key);
    const bool wanted =
        said != nullptr && std::holds_alternative<bool>(*said) && std::get<bool>(*said);
    for (const LayerPlan& plan : source.plans) {
      for (const std::string_view name : role.tensors) {
        if (name.empty()) continue;
        const std::string stem = plan.tensors + std::string(name);
        if (file.find_tensor(stem + ".weight") == nullptr) continue;
        if ((file.find_tensor(stem + ".bias") != nullptr) == wanted) continue;
        return fail(Code::unsupported,
                    "{}: tensor '{}.bias' is {}, but a folder of this model class has it {}",
                    file.path(), quoted_name(stem), wanted ? "missing" : "there",
                    wanted ? "in all layers" : "in none");
      }
    }
  }
  return {};
}

}  // namespace

bool same_meta_value(const MetaValue& a, const MetaValue& b) {
  if (a.index() != b.index()) return false;
  if (const auto* number = std::get_if<double>(&a))
    return same_number(*number, std::get<double>(b));
  const auto* list = std::get_if<std::shared_ptr<const MetaArray>>(&a);
  if (list == nullptr) return a == b;
  const MetaArray& x = **list;
  const MetaArray& y = *std::get<std::shared_ptr<const MetaArray>>(b);
  return x.bools == y.bools && x.integers == y.integers && x.strings == y.strings &&
         std::ranges::equal(x.numbers, y.numbers, same_number);
}

Status check_same_model(const Model& source, const Model& folder) {
  const std::string prefix = source.file->architecture() + ".";
  if (source.family != folder.family) {
    return fail(Code::unsupported, "{}: a folder of it would be of family {}", source.file->path(),
                folder.family == nullptr ? "none" : folder.family->name);
  }
  const MetaMap& keys = source.file->metadata();
  for (auto entry = keys.lower_bound(prefix);
       entry != keys.end() && entry->first.starts_with(prefix); ++entry) {
    const std::string_view name = std::string_view(entry->first).substr(prefix.size());
    TRY(check_key(source, folder, name, entry->second));
  }
  TRY(check_biases(source, folder));
  const std::string_view differs = first_difference(source, folder);
  if (differs.empty()) return {};
  return fail(Code::unsupported, "{}: a folder of this model class has another {} than the file",
              source.file->path(), differs);
}

}  // namespace ruv

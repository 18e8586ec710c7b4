#include "net/openai/adapter_choice.h"

#include <cmath>

#include "base/json.h"
#include "base/json_fields.h"
#include "net/models/served_models.h"

namespace ruv {
namespace {

constexpr const char* kField = "lora";

std::string place_of(size_t i) { return fmt::format("{}[{}]", kField, i); }

ApiResult<float> read_scale(const Json& object, const std::string& where) {
  const Json* const value = find_field(object, "scale");
  if (value == nullptr) return 1.0F;
  const std::string name = where + ".scale";
  if (!value->is_number()) return wrong_type(name, "a number", *value);
  const auto scale = static_cast<float>(value->get<double>());
  if (std::isfinite(scale)) return scale;
  return tl::unexpected(bad_request(name, fmt::format("'{}' is too large", name)));
}

ApiResult<AdapterChoice> read_choice(const Json& value, const std::string& where) {
  if (value.is_string()) return AdapterChoice{.name = value.get<std::string>()};
  if (!value.is_object()) return wrong_type(where, "a name or an object", value);
  for (const auto& [key, member] : value.items()) {
    if (key != "name" && key != "id" && key != "scale")
      return unknown_field(fmt::format("{}.{}", where, key));
  }
  AdapterChoice choice;
  choice.scale = TRY(read_scale(value, where));
  const Json* const name = find_field(value, "name");
  if (name == nullptr) {
    if (find_field(value, "id") == nullptr) return missing_field(where + ".name");
    choice.id = TRY(read_integer(value, "id", 0, {0, INT64_MAX - 1}));
    return choice;
  }
  if (!name->is_string()) return wrong_type(where + ".name", "a string", *name);
  choice.name = name->get<std::string>();
  return choice;
}

ApiResult<AdapterUse> find_adapter(const OpenAiService& service, const AdapterChoice& choice,
                                   const std::string& where) {
  if (service.adapters == nullptr) {
    return tl::unexpected(
        bad_request(where, fmt::format("'{}': the server has no adapters", where)));
  }
  std::string name = choice.name;
  if (choice.id >= 0) {
    for (const AdapterRecord& record : service.adapters->list()) {
      if (id_of(record) == choice.id) name = record.name;
    }
    if (name.empty()) {
      return tl::unexpected(bad_request(
          where, fmt::format("'{}': no adapter has the id {}; GET /lora-adapters lists them", where,
                             choice.id)));
    }
  }
  auto found = service.adapters->find(name);
  if (found) return AdapterUse{std::move(*found), choice.scale};
  return tl::unexpected(
      bad_request(where, fmt::format("'{}': {}", where, found.error().message())));
}

}  // namespace

ApiResult<AdapterChoices> read_adapters(const Json& body) {
  const Json* const value = find_field(body, kField);
  if (value == nullptr) return AdapterChoices();
  if (!value->is_array()) return wrong_type(kField, "a list", *value);
  if (value->size() > kMaxAdapters) {
    return tl::unexpected(
        bad_request(kField, fmt::format("'{}' has {} adapters; at most {} are computed together",
                                        kField, value->size(), kMaxAdapters)));
  }
  std::vector<AdapterChoice> choices;
  for (size_t i = 0; i < value->size(); ++i) {
    choices.push_back(TRY(read_choice((*value)[i], place_of(i))));
  }
  return AdapterChoices(std::move(choices));
}

ApiResult<std::optional<std::vector<AdapterUse>>> find_adapters(const OpenAiService& service,
                                                                const AdapterChoices& choices,
                                                                const std::string& model) {
  std::optional<std::vector<AdapterUse>> uses;
  if (choices) {
    uses.emplace();
    for (size_t i = 0; i < choices->size(); ++i) {
      uses->push_back(TRY(find_adapter(service, (*choices)[i], place_of(i))));
    }
  } else if (names_adapter(service, model)) {
    uses = {TRY(find_adapter(service, {.name = model}, "model"))};
  }
  return uses;
}

std::string shown_model(const OpenAiService& service, const std::string& asked) {
  const bool is_model = is_named(service.names, asked);
  return !is_model && names_adapter(service, asked) ? asked : service.names.front();
}

bool names_adapter(const OpenAiService& service, std::string_view name) {
  return !name.empty() && service.adapters != nullptr && service.adapters->has(name);
}

}  // namespace ruv

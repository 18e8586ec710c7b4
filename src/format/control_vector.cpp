#include "format/control_vector.h"

#include <algorithm>
#include <charconv>

#include "format/tensor_names.h"

namespace ruv {
namespace {

constexpr std::string_view kVectorArchitecture = "controlvector";
constexpr std::string_view kModelHint = "controlvector.model_hint";
constexpr std::string_view kDirectionCount = "controlvector.layer_count";
constexpr std::string_view kDirection = "direction.";

// Keys that say what a file is, or how it lies, ask for nothing.
Status check_vector_keys(const MetaMap& metadata, const std::string& source) {
  for (const auto& [key, value] : metadata) {
    if (key.starts_with("general.") || key == kModelHint || key == kDirectionCount) continue;
    return fail(Code::unsupported, "{}: metadata '{}' is not supported in a control vector", source,
                quoted_name(key));
  }
  return {};
}

// Decimal, without a sign or zeros before it, from 1 on.
std::optional<int64_t> directed_layer(std::string_view name) {
  if (!name.starts_with(kDirection)) return std::nullopt;
  name.remove_prefix(kDirection.size());
  if (name.empty() || name.front() < '1' || name.front() > '9') return std::nullopt;
  int32_t layer = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data(), end, layer);
  if (error != std::errc() || stop != end) return std::nullopt;
  return layer;
}

Result<AdapterDirection> read_direction(TensorInfo tensor, const std::string& source) {
  const std::optional<int64_t> layer = directed_layer(tensor.name);
  if (!layer) {
    return fail(Code::unsupported,
                "{}: tensor '{}' is not a direction of a control vector: direction.N of a layer "
                "from 1 on",
                source, quoted_name(tensor.name));
  }
  if (tensor.dtype != DType::f32) {
    return fail(Code::unsupported, "{}: tensor '{}' is {}; directions are f32", source,
                quoted_name(tensor.name), format_of(tensor.dtype).name);
  }
  if (tensor.shape.size() != 1) {
    return fail(Code::unsupported, "{}: tensor '{}' has {} dimensions; directions have one", source,
                quoted_name(tensor.name), tensor.shape.size());
  }
  return AdapterDirection{*layer, std::move(tensor)};
}

Result<std::string> model_hint_of(const MetaMap& metadata, const std::string& source) {
  const auto found = metadata.find(kModelHint);
  if (found == metadata.end()) return std::string();
  if (const auto* const text = std::get_if<std::string>(&found->second)) return *text;
  return fail(Code::corrupt, "{}: metadata '{}' is not a text", source, kModelHint);
}

Status check_direction_count(const MetaMap& metadata, size_t n_directions,
                             const std::string& source) {
  const auto found = metadata.find(kDirectionCount);
  if (found == metadata.end()) return {};
  const auto* const count = std::get_if<int64_t>(&found->second);
  if (count == nullptr) {
    return fail(Code::corrupt, "{}: metadata '{}' is not a whole number", source, kDirectionCount);
  }
  if (*count == static_cast<int64_t>(n_directions)) return {};
  return fail(Code::corrupt, "{}: metadata '{}' is {}, and the file has {} directions", source,
              kDirectionCount, *count, n_directions);
}

}  // namespace

bool is_control_vector(const GgufContents& contents) {
  const auto found = contents.metadata.find("general.architecture");
  if (found == contents.metadata.end()) return false;
  const auto* const text = std::get_if<std::string>(&found->second);
  return text != nullptr && *text == kVectorArchitecture;
}

Result<AdapterFile> read_control_vector(GgufContents contents, const std::string& source) {
  TRY(check_vector_keys(contents.metadata, source));
  if (!contents.unread.empty()) return tl::unexpected(contents.unread.begin()->second);
  AdapterFile file{.path = source, .container = AdapterContainer::gguf};
  file.base = TRY(model_hint_of(contents.metadata, source));
  for (TensorInfo& tensor : contents.tensors) {
    file.directions.push_back(TRY(read_direction(std::move(tensor), source)));
  }
  if (file.directions.empty()) return fail(Code::corrupt, "{}: no direction", source);
  TRY(check_direction_count(contents.metadata, file.directions.size(), source));
  std::ranges::sort(file.directions, {}, &AdapterDirection::layer);
  const auto twice = std::ranges::adjacent_find(file.directions, {}, &AdapterDirection::layer);
  if (twice != file.directions.end()) {
    return fail(Code::corrupt, "{}: tensor '{}' is there twice", source,
                quoted_name(twice->numbers.name));
  }
  return file;
}

}  // namespace ruv

// GGUF: general.type "adapter", and tensors "<tensor>.lora_a" (rank, n_in) and "<tensor>.lora_b"
// (n_out, rank), whose rows are in the order of a GGUF file of the base. The table of embeddings
// has "lora_a" (n_vocab, rank), a row of each token, and "lora_b" (n_embd, rank). Stacks of experts
// have (experts, rank, n_in) and (experts, n_out, rank).
#include <cmath>

#include "format/adapter_halves.h"
#include "format/control_vector.h"
#include "format/gguf.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

Result<std::string> text_at(const MetaMap& metadata, std::string_view key,
                            const std::string& source) {
  const auto found = metadata.find(key);
  const std::string* const text =
      found == metadata.end() ? nullptr : std::get_if<std::string>(&found->second);
  if (text == nullptr) {
    return fail(Code::corrupt, "{}: metadata '{}': not a text, or missing", source, key);
  }
  return *text;
}

// Keys of the adapter beyond those that are used would change what it computes.
Result<double> alpha_of(const MetaMap& metadata, const std::string& source) {
  constexpr std::string_view kAlpha = "adapter.lora.alpha";
  std::optional<double> alpha;
  for (const auto& [key, value] : metadata) {
    if (!key.starts_with("adapter.") || key == "adapter.type") continue;
    if (key != kAlpha) {
      return fail(Code::unsupported, "{}: metadata '{}' is not supported", source,
                  quoted_name(key));
    }
    if (const double* const number = std::get_if<double>(&value)) alpha = *number;
  }
  if (!alpha || !std::isfinite(*alpha)) {
    return fail(Code::corrupt, "{}: metadata '{}': not a number, or missing", source, kAlpha);
  }
  return *alpha;
}

Status check_kind(const MetaMap& metadata, const std::string& source) {
  const std::string general = TRY(text_at(metadata, "general.type", source));
  if (general != "adapter") {
    return fail(Code::invalid, "{}: not an adapter: metadata 'general.type' is '{}'", source,
                quoted_name(general));
  }
  const std::string kind = TRY(text_at(metadata, "adapter.type", source));
  if (kind != "lora") {
    return fail(Code::unsupported, "{}: metadata 'adapter.type': '{}' is not supported", source,
                quoted_name(kind));
  }
  return {};
}

// A whose rows are those of inputs, as every other A is.
Result<TensorInfo> by_inputs(TensorInfo a, const std::string& source) {
  if (a.shape.size() != 2) {
    return fail(Code::corrupt, "{}: tensor '{}' is not a matrix", source, quoted_name(a.name));
  }
  const Format& format = format_of(a.dtype);
  if (format.block_size != 1) {
    return fail(Code::unsupported,
                "{}: tensor '{}' is {}, which is not read there; write it as f16", source,
                quoted_name(a.name), format.name);
  }
  return transposed_matrix(std::move(a));
}

}  // namespace

Result<AdapterFile> read_gguf_adapter(Bytes bytes, const std::string& source) {
  GgufContents contents = TRY(parse_gguf(bytes, source));
  if (is_control_vector(contents)) return read_control_vector(std::move(contents), source);
  TRY(check_kind(contents.metadata, source));
  const double alpha = TRY(alpha_of(contents.metadata, source));
  if (!contents.unread.empty()) return tl::unexpected(contents.unread.begin()->second);
  AdapterFile file{.path = source, .container = AdapterContainer::gguf};
  AdapterHalves halves(source);
  for (TensorInfo& tensor : contents.tensors) {
    const std::string name = tensor.name;
    const bool is_b = name.ends_with(".lora_b");
    if (!is_b && !name.ends_with(".lora_a")) {
      return fail(Code::unsupported, "{}: tensor '{}' is not a matrix A or B of LoRA", source,
                  quoted_name(name));
    }
    std::string base = name.substr(0, name.rfind('.'));
    if (base == "token_embd.weight") {
      halves.note_embedding(base);
      if (!is_b) tensor = TRY(by_inputs(std::move(tensor), source));
    }
    TRY(halves.add(std::move(base), is_b, std::move(tensor), name));
  }
  TRY(halves.take(file));
  // llama.cpp's rule: an alpha of 0 means that B · A is taken as it is.
  for (AdapterModule& module : file.modules) {
    if (alpha != 0) module.scale = static_cast<float>(alpha / static_cast<double>(module.rank()));
  }
  for (AdapterStack& stack : file.stacks) {
    if (alpha != 0) stack.scale = static_cast<float>(alpha / static_cast<double>(stack.rank()));
  }
  return file;
}

}  // namespace ruv

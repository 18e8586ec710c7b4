// Each name is made by the table that reads it, and read again: a row that means more than a name
// (two roles in one, a transposed matrix) shows there.
#include "convert/folder_tensors.h"

#include <algorithm>

#include "format/gguf_export.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

bool is_plain(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

// Tensors that a folder has as numbers of its config.
bool is_in_config(std::string_view name) {
  return name == "rope_freqs.weight" || name.starts_with("rope_factors_");
}

// Names of a family, one after the other.
class FolderNames {
 public:
  FolderNames(const ModelFile& in, std::optional<DType> dequantized)
      : in_(in),
        names_(in.family(), in.integer("expert_count").value_or(0) > 0),
        prefix_(prefix_of(*in.family())),
        dequantized_(dequantized) {}

  Status add(const TensorInfo& tensor);
  std::vector<FolderTensor> take() { return std::move(out_); }

 private:
  // Classes whose names are given without it.
  static std::string_view prefix_of(const FamilyRecord& family) {
    const bool is_bare = !family.usual_names && family.base_prefix == "model.";
    return is_bare ? "transformer." : "";
  }
  tl::unexpected<Status> nameless(const TensorInfo& tensor) const {
    return fail(Code::unsupported, "{}: tensor '{}' has no name in a folder of family {}",
                in_.path(), quoted_name(tensor.name), in_.family()->name);
  }
  std::string full_name(const std::string& name) const {
    const bool is_head = prefix_.empty() || name.starts_with("lm_head");
    return is_head ? name : std::string(prefix_) + name;
  }
  Result<DType> dtype_of(const TensorInfo& tensor) const;
  Result<bool> add_unstacked(const TensorInfo& tensor, DType dtype);

  const ModelFile& in_;
  TensorNames names_;
  std::string_view prefix_;
  std::optional<DType> dequantized_;
  std::vector<FolderTensor> out_;
};

// Plain floats stay as they are.
Result<DType> FolderNames::dtype_of(const TensorInfo& tensor) const {
  if (is_plain(tensor.dtype)) return tensor.dtype;
  const Format& format = format_of(tensor.dtype);
  if (format.block_size == 1) {
    return fail(Code::unsupported, "{}: tensor '{}' is {}, which is not written to a folder",
                in_.path(), quoted_name(tensor.name), format.name);
  }
  if (dequantized_) return *dequantized_;
  return fail(Code::unsupported,
              "{}: tensor '{}' is {}, which transformers has no numbers for; --dequantize bf16, "
              "f16 or f32 writes what it stands for",
              in_.path(), quoted_name(tensor.name), format.name);
}

// One tensor for each expert or head, where the family's checkpoints have it so. False: they do
// not.
Result<bool> FolderNames::add_unstacked(const TensorInfo& tensor, DType dtype) {
  const std::optional<std::string> first = unstacked_name(tensor.name, 0);
  if (!first || tensor.shape.size() < 2) return false;
  const std::optional<std::string> known = names_.hf_of(*first);
  if (!known || names_.gguf_of(*known).gguf != *first) return false;
  if (tensor.shape[0] > std::ssize(in_.tensors()) + 65536) return nameless(tensor);
  for (int64_t i = 0; i < tensor.shape[0]; ++i) {
    const std::optional<std::string> name = names_.hf_of(*unstacked_name(tensor.name, i));
    if (!name) return nameless(tensor);
    out_.push_back({full_name(*name), dtype, {tensor.shape.begin() + 1, tensor.shape.end()}});
  }
  return true;
}

// A tensor of the file as one of the folder, as several, or as none.
Status FolderNames::add(const TensorInfo& tensor) {
  if (is_in_config(tensor.name)) return {};
  const DType dtype = TRY(dtype_of(tensor));
  if (TRY(add_unstacked(tensor, dtype))) return {};
  const std::optional<std::string> name = names_.hf_of(tensor.name);
  if (!name) return nameless(tensor);
  const MappedName back = names_.gguf_of(*name);
  const TensorName& form = back.form;
  const bool is_simple = back.mapped && back.gguf == tensor.name && back.other.empty() &&
                         form.mx == MxPart::none && form.stack == ExpertStack::none &&
                         !form.depthwise;
  if (!is_simple) return nameless(tensor);
  std::vector<int64_t> shape = tensor.shape;
  if (form.conv1d && shape.size() == 2) std::swap(shape[0], shape[1]);
  out_.push_back({full_name(*name), dtype, std::move(shape)});
  return {};
}

}  // namespace

uint64_t FolderTensor::n_bytes() const {
  uint64_t n = static_cast<uint64_t>(format_of(dtype).block_bytes);
  for (const int64_t length : shape) n *= static_cast<uint64_t>(length);
  return n;
}

Result<std::vector<FolderTensor>> folder_tensors(const ModelFile& in,
                                                 std::optional<DType> dequantized) {
  FolderNames names(in, dequantized);
  for (const TensorInfo& tensor : in.tensors()) TRY(names.add(tensor));
  return names.take();
}

}  // namespace ruv

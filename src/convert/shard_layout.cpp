// Tensors keep their order; a file ends before the one that would be too much for it.
#include "convert/shard_layout.h"

#include <array>
#include <set>

#include "base/json.h"
#include "base/json_writer.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

// As safetensors call it.
std::string_view type_name_of(DType dtype) {
  return dtype == DType::f16 ? "F16" : dtype == DType::bf16 ? "BF16" : "F32";
}

// The first 8 bytes are the length of the rest, little end first.
std::string header_of(std::span<const FolderTensor> tensors, uint64_t& n_data) {
  std::string json(8, '\0');
  JsonWriter out(json);
  out.begin_object();
  out.key("__metadata__");
  out.value({{"format", "pt"}});
  n_data = 0;
  for (const FolderTensor& tensor : tensors) {
    out.key(tensor.name);
    out.begin_object();
    out.key("dtype");
    out.text(type_name_of(tensor.dtype));
    out.key("shape");
    out.value(Json(tensor.shape));
    out.key("data_offsets");
    out.begin_array();
    out.integer(n_data);
    n_data += tensor.n_bytes();
    out.integer(n_data);
    out.end_array();
    out.end_object();
  }
  out.end_object();
  json.resize((json.size() + 7) / 8 * 8, ' ');
  uint64_t n = json.size() - 8;
  for (size_t i = 0; i < 8; ++i, n >>= 8) json[i] = static_cast<char>(n & 0xFF);
  return json;
}

}  // namespace

Result<ShardLayout> shard_layout(const std::vector<FolderTensor>& tensors, uint64_t shard_bytes) {
  ShardLayout layout;
  std::set<std::string_view> names;
  std::vector<std::span<const FolderTensor>> groups;
  size_t begin = 0;
  uint64_t in_group = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!names.insert(tensors[i].name).second) {
      return fail(Code::unsupported, "two tensors of the file would be '{}' in a folder",
                  quoted_name(tensors[i].name));
    }
    const uint64_t n = tensors[i].n_bytes();
    if (shard_bytes > 0 && in_group > 0 && in_group + n > shard_bytes) {
      groups.emplace_back(&tensors[begin], i - begin);
      begin = i;
      in_group = 0;
    }
    in_group += n;
    layout.n_bytes += n;
  }
  groups.emplace_back(tensors.data() + begin, tensors.size() - begin);
  Json map = Json::object();
  for (size_t i = 0; i < groups.size(); ++i) {
    Shard shard;
    shard.name = groups.size() == 1
                     ? "model.safetensors"
                     : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, groups.size());
    uint64_t n_data = 0;
    shard.header = header_of(groups[i], n_data);
    shard.n_bytes = shard.header.size() + n_data;
    for (const FolderTensor& tensor : groups[i]) map[tensor.name] = shard.name;
    layout.shards.push_back(std::move(shard));
  }
  if (groups.size() > 1) {
    const Json index = {{"metadata", {{"total_size", layout.n_bytes}}},
                        {"weight_map", std::move(map)}};
    layout.index = index.dump(2) + "\n";
  }
  return layout;
}

}  // namespace ruv

#include "format/adapter_file.h"

#include "base/file.h"

namespace ruv {
namespace {

constexpr const char* kConfig = "adapter_config.json";
constexpr const char* kPeftWeights = "adapter_model.safetensors";
constexpr const char* kMlxWeights = "adapters.safetensors";

using Reader = Result<AdapterFile>(const Json&, std::vector<SafetensorsTensor>, const std::string&);

Result<AdapterFile> read_folder(const std::string& folder, const char* weights, Reader& reader) {
  const std::string config_path = folder + "/" + kConfig;
  const FileStamp config_stamp = TRY(stamp_of(config_path));
  const std::string text = TRY(read_text_file(config_path));
  const Json config = TRY(parse_json(text, config_path, {.depth = 16, .values = 100'000}));
  if (!config.is_object()) return fail(Code::corrupt, "{}: not a JSON object", config_path);
  const std::string weights_path = folder + "/" + weights;
  MappedFile mapped = TRY(MappedFile::open(weights_path));
  std::vector<SafetensorsTensor> tensors = TRY(parse_safetensors(mapped.bytes(), weights_path));
  AdapterFile file = TRY(reader(config, std::move(tensors), folder));
  file.stamps = {config_stamp, mapped.stamp()};
  file.files.push_back(std::move(mapped));
  return file;
}

Result<AdapterFile> open_folder(const std::string& folder) {
  if (file_exists(folder + "/" + kPeftWeights)) {
    return read_folder(folder, kPeftWeights, read_peft_adapter);
  }
  if (file_exists(folder + "/" + kMlxWeights)) {
    return read_folder(folder, kMlxWeights, read_mlx_adapter);
  }
  const bool is_pickle = file_exists(folder + "/adapter_model.bin");
  return fail(Code::not_found, "{}: neither {} nor {}{}", folder, kPeftWeights, kMlxWeights,
              is_pickle ? "; adapter_model.bin is a pickle, which is not read: save it as "
                          "safetensors first"
                        : "");
}

}  // namespace

Result<AdapterFile> open_adapter(const std::string& path) {
  if (file_exists(path + "/" + kConfig)) return open_folder(path);
  if (is_directory(path)) {
    return fail(Code::not_found, "{}: no {}; an adapter is a folder with it, or a GGUF file", path,
                kConfig);
  }
  MappedFile mapped = TRY(MappedFile::open(path));
  AdapterFile file = TRY(read_gguf_adapter(mapped.bytes(), path));
  file.stamps = {mapped.stamp()};
  file.files.push_back(std::move(mapped));
  return file;
}

}  // namespace ruv

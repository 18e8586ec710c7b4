#include "net/models/model_names.h"

#include <algorithm>
#include <filesystem>

namespace ruv {
namespace {

// The last part of a path, also of a folder that is given with a slash at its end.
std::filesystem::path last_part(const std::string& path) {
  std::filesystem::path file(path);
  if (!file.has_filename()) file = file.parent_path();
  return file.filename();
}

}  // namespace

std::vector<std::string> model_names(const std::string& given, const std::string& path,
                                     const ModelInfo& info) {
  std::filesystem::path file = last_part(path);
  const std::string whole = file.string();
  if (file.extension() == ".gguf") file.replace_extension();
  std::vector<std::string> names;
  for (const std::string& name : {given, file.string(), info.name, whole}) {
    if (name.empty() || std::ranges::find(names, name) != names.end()) continue;
    names.push_back(name);
  }
  return names;
}

}  // namespace ruv

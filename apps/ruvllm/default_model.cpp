// Finds the built-in model from the program's own path, so that an installed copy can be moved.
#include "default_model.h"

#include <filesystem>

#include "base/file.h"

namespace ruv {

std::string default_model_path() {
  constexpr const char* kFile = "ruvltra-nano-q8_0.gguf";
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path folder = program.parent_path();
  const std::filesystem::path places[] = {folder.parent_path() / "share" / "ruvllm" / kFile,
                                          folder / "models" / kFile,
                                          folder / "../../../../models" / kFile};
  for (const std::filesystem::path& place : places) {
    if (file_exists(place.string())) return place.lexically_normal().string();
  }
  return "";
}

}  // namespace ruv

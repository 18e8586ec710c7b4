#include "data_folder.h"

#include <cstdlib>

namespace ruv {

// As the XDG base directory specification says: relative paths count as unset.
std::string default_data_folder() {
  const char* const data = std::getenv("XDG_DATA_HOME");
  if (data != nullptr && *data == '/') return std::string(data) + "/ruvllm";
  const char* const home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return std::string(home) + "/.local/share/ruvllm";
  return {};
}

std::string local_names_file() {
  const std::string folder = default_data_folder();
  return folder.empty() ? folder : folder + "/models.json";
}

}  // namespace ruv

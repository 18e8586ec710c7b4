#include "base/path_inside.h"

#include <algorithm>
#include <filesystem>

namespace ruv {

Result<std::string> path_inside(const std::string& folder, const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  if (error) return fail(Code::not_found, "{}: {}", folder, error.message());
  const fs::path real = fs::canonical(root / path, error);
  if (error) return fail(Code::not_found, "{}: {}", path, error.message());
  const auto differ = std::mismatch(root.begin(), root.end(), real.begin(), real.end()).first;
  if (differ == root.end()) return real.string();
  return fail(Code::invalid, "{}: not in {}", path, folder);
}

}  // namespace ruv

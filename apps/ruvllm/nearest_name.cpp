#include "nearest_name.h"

#include <algorithm>

#include "base/edit_distance.h"

namespace ruv {
std::string nearest_name(std::string_view written, std::span<const std::string> names) {
  constexpr size_t kLongestName = 64;
  if (written.empty() || written.size() > kLongestName) return {};
  const auto begins = [&](const std::string& name) { return name.starts_with(written); };
  if (std::ranges::count_if(names, begins) == 1) return *std::ranges::find_if(names, begins);
  std::string best;
  size_t fewest = std::max<size_t>(1, written.size() / 3) + 1;
  for (const std::string& name : names) {
    const size_t n = edits_between(written, name);
    if (n >= fewest) continue;
    fewest = n;
    best = name;
  }
  return best;
}

}  // namespace ruv

#include "nearest_name.h"

#include <algorithm>
#include <vector>

namespace ruv {
namespace {

// Optimal string alignment.
size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> now(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

}  // namespace

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

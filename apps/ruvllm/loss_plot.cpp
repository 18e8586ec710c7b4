#include "loss_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/utf8.h"

namespace ruv {
namespace {

constexpr uint32_t kBlank = 0x2800;  // the empty Braille cell
// Bits of the dots of a cell, by row, then column.
constexpr uint32_t kDots[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
constexpr size_t kScaleWidth = 10;

// The mean of each of n parts of a run that are as long as each other; a part without losses has
// that of the part before.
std::vector<double> part_means(std::span<const double> losses, size_t n) {
  std::vector<double> means;
  for (size_t i = 0; i < n; ++i) {
    const size_t begin = i * losses.size() / n;
    const size_t end = std::max((i + 1) * losses.size() / n, begin + 1);
    double sum = 0;
    size_t n_finite = 0;
    for (const double loss : losses.subspan(begin, end - begin)) {
      if (!std::isfinite(loss)) continue;
      sum += loss;
      ++n_finite;
    }
    const double otherwise = means.empty() ? NAN : means.back();
    means.push_back(n_finite > 0 ? sum / static_cast<double>(n_finite) : otherwise);
  }
  return means;
}

}  // namespace

std::vector<std::string> loss_plot(std::span<const double> losses, size_t width, size_t height) {
  const size_t n_columns = width - kScaleWidth;
  std::vector<double> means;
  if (!losses.empty()) means = part_means(losses, std::min(losses.size(), 2 * n_columns));
  std::erase_if(means, [](double mean) { return !std::isfinite(mean); });
  double least = 0;
  double most = 0;
  if (!means.empty()) {
    least = *std::ranges::min_element(means);
    most = *std::ranges::max_element(means);
  }
  std::vector<std::vector<uint32_t>> cells(height, std::vector<uint32_t>(n_columns, kBlank));
  const auto n_dots = static_cast<double>(4 * height - 1);
  for (size_t i = 0; i < means.size(); ++i) {
    const double share = most > least ? (most - means[i]) / (most - least) : 1;
    const auto row = static_cast<size_t>(std::lround(share * n_dots));
    cells[row / 4][i / 2] |= kDots[row % 4][i % 2];
  }
  std::vector<std::string> lines;
  for (size_t y = 0; y < height; ++y) {
    const bool has_number = !means.empty() && (y == 0 || y + 1 == height);
    std::string line = has_number ? fmt::format("{:>8.4g}  ", y == 0 ? most : least)
                                  : std::string(kScaleWidth, ' ');
    for (const uint32_t cell : cells[y]) append_utf8(line, cell);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace ruv

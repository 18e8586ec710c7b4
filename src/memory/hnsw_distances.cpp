// The distances that a graph compares.
#include <cmath>
#include <limits>

#include "memory/hnsw.h"

namespace ruv {
namespace {

bool is_product(Metric metric) { return metric == Metric::cosine || metric == Metric::dot; }

}  // namespace

bool normalise(std::span<float> numbers) {
  double square = 0;
  for (const float x : numbers) square += double{x} * double{x};
  const double factor = 1 / std::sqrt(square);
  if (!std::isfinite(factor)) return false;
  for (float& x : numbers) x = static_cast<float>(double{x} * factor);
  return true;
}

// Smaller is nearer: products change their sign. With cosine the distance is 0 for equal directions
// and 2 for opposite ones.
void Hnsw::measure(const float* query, std::span<const float* const> rows, float* out) const {
  const auto n = std::ssize(rows);
  kernel_(query, rows.data(), n, rows_->step(), out);
  if (!is_product(options_.metric)) return;
  const float whole = options_.metric == Metric::cosine ? 1.0F : 0.0F;
  for (int64_t i = 0; i < n; ++i) out[i] = whole - out[i];
}

void Hnsw::measure(const float* query, HnswSearch& memory) const {
  memory.distances_.resize(memory.nodes_.size());
  if (memory.uses_codes_) {
    return codes_->measure(memory.coded_, memory.nodes_, memory.distances_.data());
  }
  memory.rows_.clear();
  for (const uint32_t node : memory.nodes_) memory.rows_.push_back(rows_->row(node));
  measure(query, memory.rows_, memory.distances_.data());
  if (checks_ == nullptr || checks_->are_all_known()) return;
  for (size_t i = 0; i < memory.nodes_.size(); ++i) {
    if (checks_->is_sound(memory.nodes_[i])) continue;
    memory.damaged_ = memory.nodes_[i];
    memory.distances_[i] = std::numeric_limits<float>::max();
  }
}

float Hnsw::distance(uint32_t a, uint32_t b) const {
  const float* const rows[] = {rows_->row(b)};
  float distance = 0;
  measure(rows_->row(a), rows, &distance);
  return distance;
}

std::vector<Neighbour> Hnsw::measured(uint32_t node, std::span<const uint32_t> others) const {
  std::vector<const float*> rows;
  for (const uint32_t other : others) rows.push_back(rows_->row(other));
  std::vector<float> distances(others.size());
  measure(rows_->row(node), rows, distances.data());
  std::vector<Neighbour> near;
  for (size_t i = 0; i < others.size(); ++i) near.push_back({distances[i], others[i]});
  std::sort(near.begin(), near.end());
  return near;
}

// Some rows at a time, as most are found near to one of the first.
bool Hnsw::is_apart(const float* row, std::span<const float* const> others, float distance) const {
  constexpr size_t kAtOnce = 4;
  float distances[kAtOnce];
  for (size_t at = 0; at < others.size(); at += kAtOnce) {
    const size_t n = std::min(kAtOnce, others.size() - at);
    measure(row, others.subspan(at, n), distances);
    for (size_t i = 0; i < n; ++i) {
      if (distances[i] < distance) return false;
    }
  }
  return true;
}

}  // namespace ruv

#include "device/cpu/ahead_search.h"

#include <algorithm>
#include <map>

#include "base/range.h"

namespace ruv {
namespace {

constexpr int64_t kDistances[] = {512, 1024, 2048, 4096, 8192, 16384};
constexpr int kRounds = 45;
constexpr int kFewestRounds = 9;
constexpr int64_t kMostNs = 200'000'000;
constexpr double kGain = 1.05;
constexpr double kGainAgain = 1.04;

class AheadTrials {
 public:
  AheadTrials(const AheadSamples& samples, WorkerPool& pool, const Clock& clock)
      : s_(samples), pool_(pool), clock_(clock) {
    // An activation of any format takes at most a float32; of zeros every product is as fast as
    // any.
    act_.resize(static_cast<size_t>(
        (s_.k + 31) / 32 * int64_t{std::max<size_t>(sizeof(ActBlock), 32 * sizeof(float))}));
    out_.resize(static_cast<size_t>(s_.n_groups * s_.kernel->mr));
  }

  // The median of how many times as fast as with distances[0] each is, in the same round; 1 where
  // time allows for few rounds only.
  std::vector<double> speedups(std::span<const int64_t> distances) {
    std::vector<std::vector<double>> of(distances.size());
    std::vector<double> ns(distances.size());
    const int64_t start = clock_.now_ns();
    for (size_t round = 0; round < kRounds; ++round) {
      if (clock_.now_ns() - start > kMostNs) break;
      for (size_t i = 0; i < distances.size(); ++i) {
        const size_t chosen = (i + round) % distances.size();
        ns[chosen] = time_of(distances[chosen]);
      }
      for (size_t i = 0; i < distances.size(); ++i) of[i].push_back(ns[0] / std::max(ns[i], 1.0));
    }
    std::vector<double> medians(distances.size(), 1.0);
    if (of[0].size() < kFewestRounds) return medians;
    for (size_t i = 0; i < of.size(); ++i) {
      const auto middle = of[i].begin() + std::ssize(of[i]) / 2;
      std::ranges::nth_element(of[i], middle);
      medians[i] = *middle;
    }
    return medians;
  }

 private:
  double time_of(int64_t ahead) {
    const std::byte* const weights = s_.slices[next_++ % s_.slices.size()];
    const int64_t start = clock_.now_ns();
    pool_.run([&](int thread) { multiply(weights, ahead, thread); });
    return static_cast<double>(clock_.now_ns() - start);
  }

  void multiply(const std::byte* weights, int64_t ahead, int thread) {
    const GemmKernel& kernel = *s_.kernel;
    const Range part = part_of(s_.n_groups, thread, pool_.n_threads(), 2);
    if (part.begin >= part.end) return;
    kernel.run({.weights = weights + part.begin * kernel.group_bytes(s_.k),
                .act = act_.data(),
                .out = out_.data() + part.begin * kernel.mr,
                .k = s_.k,
                .n_groups = part.end - part.begin,
                .n_cols = (part.end - part.begin) * kernel.mr,
                .n_rows = 1,
                .act_stride = std::ssize(act_),
                .out_stride = std::ssize(out_),
                .ahead = ahead});
  }

  const AheadSamples& s_;
  WorkerPool& pool_;
  const Clock& clock_;
  size_t next_ = 0;
  std::vector<std::byte> act_;
  std::vector<float> out_;
};

// A thread's part is read in about 100 microseconds, a hundred times what calling it takes.
constexpr int64_t kSliceBytesOfThread = 2 << 20;

AheadSamples samples_of(std::span<const PackedGroups> matrices, const GemmKernel& kernel, int64_t k,
                        int n_threads) {
  AheadSamples samples{.kernel = &kernel, .k = k};
  const int64_t wanted = kSliceBytesOfThread * n_threads / kernel.group_bytes(k) + 1;
  int64_t most = 0;
  const auto is_of = [&](const PackedGroups& m) { return m.kernel == &kernel && m.k == k; };
  for (const PackedGroups& m : matrices) {
    if (is_of(m)) most = std::max(most, m.n_groups);
  }
  samples.n_groups = std::min(wanted, most);
  for (const PackedGroups& m : matrices) {
    if (!is_of(m)) continue;
    for (int64_t at = 0; at + samples.n_groups <= m.n_groups; at += samples.n_groups) {
      samples.slices.push_back(m.groups + at * kernel.group_bytes(k));
    }
  }
  return samples;
}

}  // namespace

std::vector<AheadSamples> ahead_samples(std::span<const PackedGroups> matrices, int64_t min_bytes,
                                        int n_threads) {
  std::map<DType, std::map<int64_t, int64_t>> bytes_of;  // by format, then by k
  std::map<DType, const GemmKernel*> kernel_of;
  for (const PackedGroups& m : matrices) {
    kernel_of[m.kernel->weight] = m.kernel;
    bytes_of[m.kernel->weight][m.k] += m.n_groups * m.kernel->group_bytes(m.k);
  }
  std::vector<AheadSamples> samples;
  for (const auto& [dtype, by_k] : bytes_of) {
    const auto most = std::ranges::max_element(by_k, {}, [](const auto& of) { return of.second; });
    if (most->second < std::max<int64_t>(min_bytes, 1)) continue;
    samples.push_back(samples_of(matrices, *kernel_of[dtype], most->first, n_threads));
  }
  return samples;
}

int64_t search_ahead(const AheadSamples& samples, WorkerPool& pool, const Clock& clock) {
  const int64_t usual = samples.kernel->ahead;
  std::vector<int64_t> distances = {usual};
  for (const int64_t distance : kDistances) {
    if (distance != usual) distances.push_back(distance);
  }
  AheadTrials trials(samples, pool, clock);
  const std::vector<double> first = trials.speedups(distances);
  const auto best = static_cast<size_t>(std::ranges::max_element(first) - first.begin());
  if (first[best] < kGain) return usual;
  const int64_t again[] = {usual, distances[best]};
  return trials.speedups(again)[1] < kGainAgain ? usual : distances[best];
}

}  // namespace ruv

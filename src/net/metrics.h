// Metrics: what a server counts of its requests, and the text in which Prometheus reads it. Used on
// the network thread only, so that nothing is locked.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/http/request_record.h"

namespace ruv {

// How often values were up to each bound.
class Histogram {
 public:
  // Bounds grow; values above the last are counted, too. They must outlive the histogram.
  explicit Histogram(std::span<const double> bounds)
      : bounds_(bounds), counts_(bounds.size() + 1, 0) {}
  // What was counted elsewhere. Requires: a count for each bound and one for what is above all.
  Histogram(std::span<const double> bounds, std::span<const uint64_t> counts, double sum)
      : bounds_(bounds),
        counts_(counts.begin(), counts.end()),
        count_(std::accumulate(counts.begin(), counts.end(), uint64_t{0})),
        sum_(sum) {}
  void add(double value, uint64_t times = 1);
  uint64_t count() const { return count_; }

  std::span<const double> bounds() const { return bounds_; }
  // Values above the bound before and up to this one; the last: above all.
  std::span<const uint64_t> counts() const { return counts_; }
  double sum() const { return sum_; }

 private:
  std::span<const double> bounds_;
  std::vector<uint64_t> counts_;
  uint64_t count_ = 0;
  double sum_ = 0;
};

// Writes the text format, version 0.0.4.
class MetricsText {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string_view>>;
  // The lines before a metric's samples; `type` is "counter", "gauge" or "histogram".
  void begin(std::string_view name, std::string_view type, std::string_view help);
  void sample(std::string_view name, const Labels& labels, double value);
  // One metric with one sample.
  void single(std::string_view name, std::string_view type, std::string_view help, double value);
  void histogram(std::string_view name, std::string_view help, const Histogram& values);
  // Samples of a histogram, after begin().
  void buckets(std::string_view name, const Labels& labels, const Histogram& values);
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

class Metrics {
 public:
  Metrics();
  // A request that has ended.
  void count(const RequestRecord& record);
  // n tokens of one answer that came `seconds` after those before them.
  void count_tokens(double seconds, uint64_t n);
  // All that is counted here, under our names and those of vLLM and llama.cpp.
  void write(MetricsText& out) const;

 private:
  void count_tenant(const RequestNotes& notes);
  void write_requests(MetricsText& out) const;
  void write_tokens(MetricsText& out) const;
  void write_times(MetricsText& out) const;

  struct Tokens {
    uint64_t prompt = 0, cached = 0, generated = 0;
  };
  std::map<std::pair<std::string, int>, uint64_t> requests_;  // by route and status
  std::map<std::string, uint64_t> finished_;                  // generated answers, by reason
  std::map<std::string, Tokens> tenants_;
  Tokens tokens_;
  uint64_t n_cut_ = 0;
  uint64_t n_ignored_fields_ = 0;
  double prefill_seconds_ = 0, decode_seconds_ = 0;
  Histogram first_token_, inter_token_, queue_, prefill_, decode_, whole_;
};

}  // namespace ruv

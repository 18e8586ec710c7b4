// Questions about what a log has: entries by what they say, and figures over them.
#pragma once

#include <map>

#include "audit/audit_store.h"
#include "base/json.h"

namespace ruv {

// What an entry must be; what is not set does not matter.
struct AuditFilter {
  std::optional<int64_t> since_ms = {},
                         until_ms = {};  // when the answer ended; until_ms is not in it
  std::string model = {}, tenant = {}, finish = {}, request_id = {};
  int64_t slower_than_us = 0;
  // Answers whose newest rating, by their own tenant, is below this.
  std::optional<double> rated_below = {};
  bool with_notes = false;     // the log's own entries, too
  int64_t after = 0;           // numbers above this
  int64_t before = INT64_MAX;  // numbers below this
  int64_t most = INT64_MAX;
  bool newest_first = false;
};

struct AuditRow {
  int64_t number = 0;
  EntryColumns columns;
  std::string_view body;               // valid during the call
  std::optional<double> quality = {};  // where `rated_below` is asked for
};
// Calls `visit` for each, in order. Fails: as Database::run, and as `visit`.
Status for_each_entry(const AuditStore& store, const AuditFilter& filter,
                      const std::function<Status(const AuditRow&)>& visit);

// Milliseconds that a share of all answers did not exceed.
struct AuditTimes {
  double p50 = 0, p90 = 0, p99 = 0, most = 0;
};
struct AuditModelFigures {
  int64_t n = 0;
  int64_t n_prompt_tokens = 0, n_cached_tokens = 0, n_answer_tokens = 0;
  std::map<std::string, int64_t> finishes;
  AuditTimes total, queue, prefill, decode;
};
// Failures with one message, but for the numbers in it.
struct AuditErrorGroup {
  std::string code, message;           // digits of the first one's are "#"
  int64_t n = 0, first = 0, last = 0;  // entries
};
struct AuditFigures {
  std::map<std::string, AuditModelFigures> models;
  std::vector<AuditErrorGroup> errors;  // the most frequent first, at most kMaxErrorGroups
  // Answers that took longer than `spike` times the median of their model, the longest first, at
  // most kMaxSpikes.
  struct Spike {
    int64_t number = 0;
    double ms = 0, times = 0;
  };
  std::vector<Spike> spikes;
  int64_t n_other_errors = 0;  // in further groups
};
inline constexpr size_t kMaxErrorGroups = 100, kMaxSpikes = 20;

// As programs read it.
Json figures_json(const AuditFigures& figures);

// `spike`: above 1. Fails: as for_each_entry.
Result<AuditFigures> audit_figures(const AuditStore& store, const AuditFilter& filter,
                                   double spike = 3);

}  // namespace ruv

#include "net/metrics.h"

#include <gtest/gtest.h>

#include "ruv/engine.h"

namespace ruv::metrics_test {
namespace {

RequestRecord generated(std::string tenant, int64_t n_tokens) {
  RequestRecord record{.route = "/v1/chat/completions", .status = 200, .ms = 500};
  record.notes.model = "m";
  record.notes.tenant = std::move(tenant);
  record.notes.finish = "stop";
  record.notes.n_prompt_tokens = 10;
  record.notes.n_cached_tokens = 4;
  record.notes.n_generated_tokens = n_tokens;
  record.notes.queue_ms = 20;
  record.notes.prefill_ms = 100;
  record.notes.decode_ms = 300;
  return record;
}

std::string text_of(const Metrics& metrics) {
  MetricsText out;
  metrics.write(out);
  return out.take();
}

#define EXPECT_LINE(text, line) \
  EXPECT_NE(("\n" + (text)).find("\n" line "\n"), std::string::npos) << (line)

TEST(Histogram, CountsUpToEachBound) {
  constexpr std::array kBounds{1.0, 2.0};
  Histogram values(kBounds);
  for (const double value : {0.5, 1.0, 1.5, 2.0, 2.5}) values.add(value);
  values.add(9, 3);
  EXPECT_EQ(std::vector<uint64_t>(values.counts().begin(), values.counts().end()),
            (std::vector<uint64_t>{2, 2, 4}));
  EXPECT_EQ(values.count(), 8U);
  EXPECT_EQ(values.sum(), 7.5 + 27);
}

TEST(Metrics, CountRequestsAndTokens) {
  Metrics metrics;
  metrics.count(generated("ann", 5));
  metrics.count(generated("", 7));
  metrics.count({.path = "/etc/passwd", .status = 404, .is_cut = true});
  metrics.count_tokens(0.3, 2);
  const std::string text = text_of(metrics);
  EXPECT_LINE(text, R"(ruvllm_requests_total{route="/v1/chat/completions",status="200"} 2)");
  EXPECT_LINE(text, R"(ruvllm_requests_total{route="other",status="404"} 1)");
  EXPECT_EQ(text.find("passwd"), std::string::npos);
  EXPECT_LINE(text, "ruvllm_clients_left_total 1");
  EXPECT_LINE(text, "ruvllm_prompt_tokens_total 20");
  EXPECT_LINE(text, "vllm:generation_tokens_total 12");
  EXPECT_LINE(text, "llamacpp:tokens_predicted_total 12");
  EXPECT_LINE(text, "ruvllm_cached_prompt_tokens_total 8");
  EXPECT_LINE(text, R"(vllm:request_success_total{finished_reason="stop"} 2)");
  EXPECT_LINE(text, R"(ruvllm_user_tokens_total{user="ann",kind="generated"} 5)");
  EXPECT_LINE(text, R"(ruvllm_time_to_first_token_seconds_bucket{le="0.1"} 0)");
  EXPECT_LINE(text, R"(ruvllm_time_to_first_token_seconds_bucket{le="0.25"} 2)");
  EXPECT_LINE(text, R"(ruvllm_time_to_first_token_seconds_bucket{le="+Inf"} 2)");
  EXPECT_LINE(text, "ruvllm_request_seconds_sum 1");
  EXPECT_LINE(text, R"(ruvllm_inter_token_seconds_bucket{le="0.15"} 2)");
}

// Names that clients make up cost no memory and no lines.
TEST(Metrics, KeepABoundedNumberOfUsers) {
  Metrics metrics;
  for (int i = 0; i < 1000; ++i) metrics.count(generated("user " + std::to_string(i), 1));
  metrics.count(generated(std::string(1000, 'x') + "\n\"", 1));
  const std::string text = text_of(metrics);
  size_t n = 0;
  for (size_t at = 0; (at = text.find("ruvllm_user_tokens_total{", at)) != text.npos; ++at) ++n;
  EXPECT_EQ(n, 3 * 257U);
  EXPECT_LINE(text, R"(ruvllm_user_tokens_total{user="other",kind="generated"} 745)");
}

// Buckets are cumulative, and `le` comes after other labels.
TEST(Metrics, WriteWhatWasCountedElsewhere) {
  MaskTimes times;
  times.add(1e-6, 2);
  times.add(3e-6, 1);
  times.add(2, 4);
  MetricsText out;
  out.buckets("a", {{"b", "c"}}, {MaskTimes::kBounds, times.counts, times.seconds});
  const std::string text = "\n" + out.take();
  EXPECT_LINE(text, R"(a_bucket{b="c",le="1e-06"} 2)");
  EXPECT_LINE(text, R"(a_bucket{b="c",le="2.5e-06"} 2)");
  EXPECT_LINE(text, R"(a_bucket{b="c",le="5e-06"} 3)");
  EXPECT_LINE(text, R"(a_bucket{b="c",le="1"} 3)");
  EXPECT_LINE(text, R"(a_bucket{b="c",le="+Inf"} 7)");
  EXPECT_LINE(text, R"(a_sum{b="c"} 8.000005)");
  EXPECT_LINE(text, R"(a_count{b="c"} 7)");
}

TEST(Metrics, EscapeLabels) {
  MetricsText out;
  out.sample("a", {{"b", "c\"d\\e\nf"}}, 1.5);
  EXPECT_EQ(out.take(), "a{b=\"c\\\"d\\\\e\\nf\"} 1.5\n");
}

}  // namespace
}  // namespace ruv::metrics_test

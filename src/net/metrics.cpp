#include "net/metrics.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace ruv {
namespace {

// Seconds: of whole requests and their parts, and between tokens.
constexpr std::array kRequestSeconds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,  0.25,  0.5,
                                     1.0,   2.5,    5.0,   10.0, 20.0,  40.0, 80.0, 160.0, 640.0};
constexpr std::array kTokenSeconds{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075,
                                   0.1,    0.15,  0.2,    0.3,   0.5,  0.75,  1.0,  2.5};

// Tenants with counters of their own; the others share one, so that a client that makes up names
// costs no memory.
constexpr size_t kMaxTenants = 256;
constexpr size_t kMaxTenantBytes = 64;

// A label's value: quotes, backslashes and line ends are escaped.
void append_label(std::string& out, std::string_view value) {
  for (const char c : value) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
}

}  // namespace

void Histogram::add(double value, uint64_t times) {
  const auto* const found =
      std::lower_bound(bounds_.data(), bounds_.data() + bounds_.size(), value);
  counts_[static_cast<size_t>(found - bounds_.data())] += times;
  count_ += times;
  sum_ += value * static_cast<double>(times);
}

void MetricsText::begin(std::string_view name, std::string_view type, std::string_view help) {
  text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void MetricsText::sample(std::string_view name, const Labels& labels, double value) {
  text_ += name;
  for (size_t i = 0; i < labels.size(); ++i) {
    text_ += i == 0 ? '{' : ',';
    text_ += labels[i].first;
    text_ += "=\"";
    append_label(text_, labels[i].second);
    text_ += '"';
  }
  if (!labels.empty()) text_ += '}';
  text_ += fmt::format(" {}\n", value);
}

void MetricsText::single(std::string_view name, std::string_view type, std::string_view help,
                         double value) {
  begin(name, type, help);
  sample(name, {}, value);
}

void MetricsText::histogram(std::string_view name, std::string_view help, const Histogram& values) {
  begin(name, "histogram", help);
  buckets(name, {}, values);
}

// They are cumulative.
void MetricsText::buckets(std::string_view name, const Labels& labels, const Histogram& values) {
  const std::string bucket = fmt::format("{}_bucket", name);
  const auto add = [&](std::string_view bound, uint64_t n) {
    Labels all = labels;
    all.emplace_back("le", bound);
    sample(bucket, all, static_cast<double>(n));
  };
  uint64_t n = 0;
  for (size_t i = 0; i < values.bounds().size(); ++i) {
    n += values.counts()[i];
    add(fmt::format("{}", values.bounds()[i]), n);
  }
  add("+Inf", values.count());
  sample(fmt::format("{}_sum", name), labels, values.sum());
  sample(fmt::format("{}_count", name), labels, static_cast<double>(values.count()));
}

Metrics::Metrics()
    : first_token_(kRequestSeconds),
      inter_token_(kTokenSeconds),
      queue_(kRequestSeconds),
      prefill_(kRequestSeconds),
      decode_(kRequestSeconds),
      whole_(kRequestSeconds) {}

// Times are counted for generated answers only.
void Metrics::count(const RequestRecord& record) {
  const RequestNotes& notes = record.notes;
  // Paths that clients make up are one.
  ++requests_[{record.route.empty() ? "other" : record.route, record.status}];
  n_cut_ += record.is_cut ? 1 : 0;
  n_ignored_fields_ += notes.ignored.size();
  if (notes.model.empty()) return;
  tokens_.prompt += static_cast<uint64_t>(notes.n_prompt_tokens);
  tokens_.cached += static_cast<uint64_t>(notes.n_cached_tokens);
  tokens_.generated += static_cast<uint64_t>(notes.n_generated_tokens);
  count_tenant(notes);
  if (notes.n_generated_tokens == 0) return;
  ++finished_[notes.finish];
  prefill_seconds_ += notes.prefill_ms / 1e3;
  decode_seconds_ += notes.decode_ms / 1e3;
  first_token_.add((notes.queue_ms + notes.prefill_ms) / 1e3);
  queue_.add(notes.queue_ms / 1e3);
  prefill_.add(notes.prefill_ms / 1e3);
  decode_.add(notes.decode_ms / 1e3);
  whole_.add(record.ms / 1e3);
}

// Requests without a user are in the sums only.
void Metrics::count_tenant(const RequestNotes& notes) {
  if (notes.tenant.empty()) return;
  const std::string_view head = std::string_view(notes.tenant).substr(0, kMaxTenantBytes);
  std::string name(head.substr(0, whole_utf8_prefix(head)));
  if (!tenants_.contains(name) && tenants_.size() >= kMaxTenants) name = "other";
  Tokens& tokens = tenants_[name];
  tokens.prompt += static_cast<uint64_t>(notes.n_prompt_tokens);
  tokens.cached += static_cast<uint64_t>(notes.n_cached_tokens);
  tokens.generated += static_cast<uint64_t>(notes.n_generated_tokens);
}

void Metrics::count_tokens(double seconds, uint64_t n) {
  inter_token_.add(seconds / static_cast<double>(n), n);
}

// By route and status; the routes are a short list.
void Metrics::write_requests(MetricsText& out) const {
  constexpr std::string_view kRequests = "ruvllm_requests_total";
  out.begin(kRequests, "counter", "Requests whose answers have ended.");
  for (const auto& [key, n] : requests_) {
    out.sample(kRequests, {{"route", key.first}, {"status", fmt::format("{}", key.second)}},
               static_cast<double>(n));
  }
  out.single("ruvllm_clients_left_total", "counter", "Requests whose client left before the end.",
             static_cast<double>(n_cut_));
  out.single("ruvllm_ignored_fields_total", "counter", "Fields that a lenient server dropped.",
             static_cast<double>(n_ignored_fields_));
  for (const std::string_view name : {"ruvllm_answers_total", "vllm:request_success_total"}) {
    out.begin(name, "counter", "Generated answers by the reason of their end.");
    for (const auto& [reason, n] : finished_) {
      out.sample(name, {{"finished_reason", reason}}, static_cast<double>(n));
    }
  }
}

// Counters of tokens.
void Metrics::write_tokens(MetricsText& out) const {
  const auto prompt = static_cast<double>(tokens_.prompt);
  const auto generated = static_cast<double>(tokens_.generated);
  for (const std::string_view name :
       {"ruvllm_prompt_tokens_total", "vllm:prompt_tokens_total", "llamacpp:prompt_tokens_total"}) {
    out.single(name, "counter", "Tokens of prompts.", prompt);
  }
  for (const std::string_view name :
       {"ruvllm_generated_tokens_total", "vllm:generation_tokens_total",
        "llamacpp:tokens_predicted_total"}) {
    out.single(name, "counter", "Generated tokens.", generated);
  }
  out.single("ruvllm_cached_prompt_tokens_total", "counter",
             "Tokens of prompts that the prefix cache had.", static_cast<double>(tokens_.cached));
  out.single("llamacpp:prompt_seconds_total", "counter", "Seconds of prefill.", prefill_seconds_);
  out.single("llamacpp:tokens_predicted_seconds_total", "counter", "Seconds of decode.",
             decode_seconds_);
  constexpr std::string_view kTenants = "ruvllm_user_tokens_total";
  out.begin(kTenants, "counter", "Tokens by the requests' user.");
  for (const auto& [name, tokens] : tenants_) {
    out.sample(kTenants, {{"user", name}, {"kind", "prompt"}}, static_cast<double>(tokens.prompt));
    out.sample(kTenants, {{"user", name}, {"kind", "cached"}}, static_cast<double>(tokens.cached));
    out.sample(kTenants, {{"user", name}, {"kind", "generated"}},
               static_cast<double>(tokens.generated));
  }
}

// Histograms, each under two names.
void Metrics::write_times(MetricsText& out) const {
  struct Row {
    const char* name;
    const char* alias;
    const char* help;
    const Histogram& values;
  };
  const Row rows[] = {
      {"ruvllm_time_to_first_token_seconds", "vllm:time_to_first_token_seconds",
       "From submitting a request to its first token.", first_token_},
      {"ruvllm_inter_token_seconds", "vllm:inter_token_latency_seconds",
       "Between tokens of an answer.", inter_token_},
      {"ruvllm_queue_seconds", "vllm:request_queue_time_seconds", "Waiting for a place.", queue_},
      {"ruvllm_prefill_seconds", "vllm:request_prefill_time_seconds", "Prefill.", prefill_},
      {"ruvllm_decode_seconds", "vllm:request_decode_time_seconds", "Decode.", decode_},
      {"ruvllm_request_seconds", "vllm:e2e_request_latency_seconds",
       "From a request's first byte to the end of its answer.", whole_}};
  for (const Row& row : rows) {
    out.histogram(row.name, row.help, row.values);
    out.histogram(row.alias, row.help, row.values);
  }
}

void Metrics::write(MetricsText& out) const {
  write_requests(out);
  write_tokens(out);
  write_times(out);
}

}  // namespace ruv

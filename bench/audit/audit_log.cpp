// What an audit log takes for each answer: of the thread that adds it, and of the one that writes.
//
//   ruv_bench_audit FOLDER [ANSWERS] [PROMPT_IDS] [ANSWER_IDS] [off|hashed|kept]
//
// FOLDER must not exist. Prints a line of JSON: microseconds of add() at the median and the 99th
// percentile, microseconds of the writing thread for each answer with all batches full, bytes of
// the folder for each answer, and microseconds to verify each.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "audit/audit_log.h"
#include "audit/audit_verify.h"
#include "base/clock.h"
#include "base/folder.h"

namespace ruv {
namespace {

struct BenchCall {
  std::string folder;
  int64_t n = 20'000;
  size_t n_prompt = 300, n_answer = 100;
  AuditContents contents = AuditContents::hashed;
};

FinishedRequest made_answer(const BenchCall& call, int64_t i) {
  static const auto engine = std::make_shared<AnsweringEngine>(AnsweringEngine{
      .model = "model", .model_digest = std::string(64, '0'), .kv_type = "int8", .n_ctx = 4096});
  FinishedRequest made;
  made.unix_ms = unix_milliseconds();
  made.engine = engine;
  made.request.prompt.assign(call.n_prompt, static_cast<Token>(i));
  made.request.params.seed = static_cast<uint64_t>(i);
  made.request.terms.request_id = "req-0123456789abcdef";
  made.ids.assign(call.n_answer, static_cast<Token>(i));
  made.text.assign(call.n_answer * 4, 'a');
  made.finish = FinishReason::stop;
  return made;
}

double us_since(int64_t begin) {
  return static_cast<double>(SteadyClock().now_ns() - begin) / 1000;
}

int64_t folder_bytes(const std::string& folder) {
  int64_t n = 0;
  for (const FolderEntry& file : files_in(folder)) n += file.n_bytes;
  return n;
}

// The queue takes 10,000 answers, so more are added in parts.
Status measure(const BenchCall& call) {
  constexpr int64_t kPart = 5000;
  auto log = TRY(
      AuditLog::start(TRY(AuditStore::open({.folder = call.folder})), {.contents = call.contents}));
  std::vector<double> adds;
  double write_us = 0;
  for (int64_t done = 0; done < call.n; done += kPart) {
    const int64_t begin = SteadyClock().now_ns();
    for (int64_t i = done; i < std::min(done + kPart, call.n); ++i) {
      FinishedRequest answer = made_answer(call, i);
      const int64_t added = SteadyClock().now_ns();
      log->add(std::move(answer));
      adds.push_back(us_since(added));
    }
    TRY(log->flush());
    write_us += us_since(begin);
  }
  if (log->stats().n_lost > 0) return fail(Code::internal, "answers were lost");
  log.reset();
  const AuditStore store = TRY(AuditStore::read(call.folder));
  const int64_t begin = SteadyClock().now_ns();
  if (!TRY(verify_audit(store)).faults.empty()) return fail(Code::internal, "not intact");
  const double verify_us = us_since(begin);
  std::ranges::sort(adds);
  const auto n = static_cast<double>(call.n);
  std::printf(
      "{\"answers\": %lld, \"add_us_p50\": %.2f, \"add_us_p99\": %.2f, \"write_us\": %.1f, "
      "\"bytes\": %.0f, \"verify_us\": %.1f}\n",
      static_cast<long long>(call.n), adds[adds.size() / 2], adds[adds.size() / 100 * 99],
      write_us / n, static_cast<double>(folder_bytes(call.folder)) / n, verify_us / n);
  return {};
}

}  // namespace
}  // namespace ruv

int main(int argc, char** argv) {
  if (argc < 2 || argc > 6) {
    std::fprintf(stderr, "usage: %s FOLDER [ANSWERS] [PROMPT_IDS] [ANSWER_IDS] [CONTENTS]\n",
                 argv[0]);
    return 2;
  }
  ruv::BenchCall call{.folder = argv[1]};
  if (argc > 2) call.n = std::max(1LL, std::atoll(argv[2]));
  if (argc > 3) call.n_prompt = static_cast<size_t>(std::max(1LL, std::atoll(argv[3])));
  if (argc > 4) call.n_answer = static_cast<size_t>(std::max(0LL, std::atoll(argv[4])));
  if (argc > 5) {
    const auto contents = ruv::find_audit_contents(argv[5]);
    if (!contents) return 2;
    call.contents = *contents;
  }
  const ruv::Status status = ruv::measure(call);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}

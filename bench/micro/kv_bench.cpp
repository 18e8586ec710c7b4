// ruv_bench_kv: decoding at a depth with every type of keys and values, by turns on one model, so
// that what disturbs the machine disturbs all of them.
//   ruv_bench_kv MODEL [depth 8192] [rounds 12] [threads 0]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/clock.h"
#include "base/rng.h"
#include "device/batch_builder.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/store_token.h"
#include "engine/executor.h"
#include "model/model.h"

namespace ruv {
namespace {

constexpr int kStepsPerTurn = 4;

class Side {
 public:
  Side(const Model& model, KvType type, int64_t depth, int n_threads) : depth_(depth) {
    const int64_t n_pages = depth / kPageTokens + 1;
    executor_ = std::move(*Executor::create(model, {.n_threads = n_threads,
                                                    .n_pages = n_pages,
                                                    .max_rows = 1,
                                                    .max_outputs = 1,
                                                    .n_ctx = depth + 1,
                                                    .kv_type = type}));
    for (PageId page = 0; page < n_pages; ++page) ids_.push_back(page);
    fill(model);
  }

  // Seconds of a step.
  double turn() {
    BatchBuilder batch;
    batch.begin_sequence(depth_, ids_);
    batch.add(1);
    batch.want_logits();
    executor_->run(batch.batch());  // its own keys come into the caches, its threads awake
    const int64_t start = SteadyClock().now_ns();
    for (int i = 0; i < kStepsPerTurn; ++i) executor_->run(batch.batch());
    return static_cast<double>(SteadyClock().now_ns() - start) * 1e-9 / kStepsPerTurn;
  }

 private:
  // Random tokens in place of a prompt, which would take long.
  void fill(const Model& model) {
    KvPages& pages = executor_->pages();
    const KvShape& shape = pages.layout().layers[0].shape;
    Rng rng(3);
    std::vector<float> x(static_cast<size_t>(shape.key_dim * 64));
    for (float& v : x) v = static_cast<float>(rng.uniform() * 2 - 1);
    for (const PageId page : ids_) pages.clear(page);
    for (int64_t t = 0; t < depth_; ++t) {
      for (int64_t i = 0; i < pages.n_layers() * shape.n_heads; ++i) {
        const float* const at = x.data() + (t + i) % 63 * shape.key_dim;
        store_token(static_cast<const CpuDevice&>(*model.device).kernel_table(), pages,
                    {ids_[static_cast<size_t>(t / kPageTokens)], t % kPageTokens, i / shape.n_heads,
                     i % shape.n_heads},
                    at, at + 3);
      }
    }
  }

  int64_t depth_;
  std::unique_ptr<Executor> executor_;
  std::vector<PageId> ids_;
};

double median(std::vector<double> x) {
  std::ranges::sort(x);
  return x[x.size() / 2];
}

int run(const char* path, int64_t depth, int n_rounds, int n_threads) {
  const auto model = load_model(path);
  if (!model) {
    std::fprintf(stderr, "%s\n", model.error().message().c_str());
    return 1;
  }
  std::vector<Side> sides;
  for (const KvType type : kKvTypes) sides.emplace_back(**model, type, depth, n_threads);
  std::vector<std::vector<double>> seconds(sides.size());
  std::vector<std::vector<double>> gains(sides.size());
  for (int round = 0; round < n_rounds; ++round) {
    for (size_t i = 0; i < sides.size(); ++i) {
      seconds[i].push_back(sides[i].turn());
      gains[i].push_back(seconds[0].back() / seconds[i].back());
    }
  }
  for (size_t i = 0; i < sides.size(); ++i) {
    std::printf("%-5s depth %lld: %7.2f ms a step, %.3f times f16\n",
                std::string(kv_type_name(kKvTypes[i])).c_str(), static_cast<long long>(depth),
                median(seconds[i]) * 1e3, median(gains[i]));
  }
  return 0;
}

}  // namespace
}  // namespace ruv

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "ruv_bench_kv MODEL [depth] [rounds] [threads]\n");
    return 2;
  }
  return ruv::run(argv[1], argc > 2 ? std::atoll(argv[2]) : 8192,
                  argc > 3 ? std::max(1, std::atoi(argv[3])) : 12,
                  argc > 4 ? std::atoi(argv[4]) : 0);
}

// ruv_bench_page_store: the page store from the system's page cache: appending and reading pages,
// plain and encrypted, in GB/s of payload, beside a copy of the same memory; and opening.
//   ruv_bench_page_store <folder> [payload KiB] [megabytes]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/clock.h"
#include "base/rng.h"
#include "cache/page_store.h"

namespace ruv {
namespace {

constexpr int kPasses = 5;

double seconds_of(const auto& work) {
  const SteadyClock clock;
  const int64_t start = clock.now_ns();
  work();
  return static_cast<double>(clock.now_ns() - start) * 1e-9;
}

double best_seconds(const auto& work) {
  double best = 1e9;
  for (int i = 0; i < kPasses; ++i) best = std::min(best, seconds_of(work));
  return best;
}

void fail_with(const Status& status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(1);
}

struct Load {
  std::string folder;
  int64_t payload_bytes;
  int64_t n_pages;
  std::vector<std::byte> pages;
  Bytes page(int64_t i) const {
    return Bytes(pages).subspan(static_cast<size_t>(i * payload_bytes),
                                static_cast<size_t>(payload_bytes));
  }
  double gigabytes() const { return static_cast<double>(pages.size()) * 1e-9; }
};

void measure(const Load& load, bool sealed) {
  PageStoreConfig config;
  config.folder = load.folder + (sealed ? "/sealed" : "/plain");
  config.layout = "bench";
  config.payload_bytes = load.payload_bytes;
  config.max_bytes = 4 * static_cast<int64_t>(load.pages.size()) + (64 << 20);
  if (sealed) config.key.emplace().fill(1);
  std::vector<int64_t> ids;
  const double append = seconds_of([&] {
    const auto store = PageStore::open(config);
    if (!store) fail_with(store.error());
    for (int64_t i = 0; i < load.n_pages; ++i) {
      const int64_t parent = i % 64 == 0 ? -1 : ids.back();
      const auto id = (*store)->append(parent, "", PageCells{}, load.page(i));
      if (!id) fail_with(id.error());
      ids.push_back(*id);
    }
  });
  std::unique_ptr<PageStore> store;
  const double open = seconds_of([&] { store = std::move(*PageStore::open(config)); });
  const double list = seconds_of([&] { store->records(); });
  std::vector<std::byte> into(load.pages.size());
  const double read = best_seconds([&] {
    for (int64_t i = 0; i < load.n_pages; ++i) {
      const std::span<std::byte> page = std::span(into).subspan(
          static_cast<size_t>(i * load.payload_bytes), static_cast<size_t>(load.payload_bytes));
      if (const Status status = store->read(ids[static_cast<size_t>(i)], page); !status.ok())
        fail_with(status);
    }
  });
  if (into != load.pages) fail_with(Status(Code::internal, "other bytes than were written"));
  const double copy =
      best_seconds([&] { std::copy(load.pages.begin(), load.pages.end(), into.begin()); });
  std::printf(
      "%-7s append %5.2f GB/s  read %5.2f GB/s  copy %5.2f GB/s  open %6.2f ms  list %6.2f ms"
      "  (%lld pages)\n",
      sealed ? "sealed" : "plain", load.gigabytes() / append, load.gigabytes() / read,
      load.gigabytes() / copy, open * 1e3, list * 1e3, static_cast<long long>(load.n_pages));
}

}  // namespace
}  // namespace ruv

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "ruv_bench_page_store <folder> [payload KiB] [megabytes]\n");
    return 2;
  }
  ruv::Load load;
  load.folder = std::string(argv[1]) + "/ruv_bench_page_store";
  load.payload_bytes = (argc > 2 ? std::atoll(argv[2]) : 512) * 1024;
  const int64_t n_bytes = (argc > 3 ? std::atoll(argv[3]) : 512) << 20;
  load.n_pages = n_bytes / load.payload_bytes;
  load.pages.resize(static_cast<size_t>(load.n_pages * load.payload_bytes));
  ruv::Rng rng(1);
  for (size_t at = 0; at + 8 <= load.pages.size(); at += 8) {
    const uint64_t word = rng.next();
    std::memcpy(load.pages.data() + at, &word, 8);
  }
  for (const bool sealed : {false, true}) {
    std::filesystem::remove_all(load.folder);
    ruv::measure(load, sealed);
  }
  std::filesystem::remove_all(load.folder);
  return 0;
}

// Builds an index in a folder and searches it.
//
//   ruv_bench_memory VECTORS QUERIES folder=NEW form=graph n_dims=128 m=16 build=200 codes=int8
//   metric=l2 threads=2 search_threads=1 k=10 ef=20,40,80
//   ruv_bench_memory VECTORS QUERIES folder=NEW form=disk n_dims=128 degree=64 build=100 halves=0
//   beam=4 cache=4194304 and the others
//
// Both files hold float32, one vector after the other; ids count from 0. Prints a line of JSON for
// the build, and one for each ef: the seconds of all queries together, bytes that a search has read
// from files by calls, and the ids that were found. VECTORS "-": the folder has the index.
// With ef=stdin each line of standard input is a command, answered by a line, so that another
// program can ask:
//
//   search EF        the same
//   each EF          "us" in place of "seconds": the microseconds of each query, by one thread
//   among FILE EF    the same among the ids of a file alone, 8 bytes each
//   load             closes the index and opens it again: "load_seconds"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iostream>

#include <map>
#include <sstream>
#include <string>

#include "base/clock.h"
#include "base/file.h"
#include "benched_index.h"

namespace ruv {
namespace {

using Lists = std::vector<BenchedIndex::Found>;

template <class Number>
Result<std::vector<Number>> read_numbers(const std::string& path) {
  const std::string bytes = TRY(read_text_file(path));
  std::vector<Number> numbers(bytes.size() / sizeof(Number));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(Number));
  return numbers;
}

double seconds_since(int64_t start_ns) {
  return static_cast<double>(SteadyClock().now_ns() - start_ns) * 1e-9;
}

void print_found(const Lists& lists) {
  std::fputs("\"found\": [", stdout);
  for (size_t i = 0; i < lists.size(); ++i) {
    std::fputs(i == 0 ? "[" : ", [", stdout);
    for (size_t j = 0; j < lists[i].size(); ++j) {
      std::printf(j == 0 ? "%lld" : ", %lld", static_cast<long long>(lists[i][j].id));
    }
    std::fputs("]", stdout);
  }
  std::fputs("]}\n", stdout);
  std::fflush(stdout);
}

class VectorBench {
 public:
  explicit VectorBench(std::map<std::string, std::string> options) : options_(std::move(options)) {}

  Status build(const std::string& vectors_path, const std::string& queries_path) {
    index_ = TRY(benched_index(options_));
    index_->use_threads(searching_.n_threads());
    queries_ = TRY(read_numbers<float>(queries_path));
    if (vectors_path == "-") return load();
    const std::vector<float> vectors = TRY(read_numbers<float>(vectors_path));
    std::vector<int64_t> ids(vectors.size() / static_cast<size_t>(n_dims()));
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i);
    const int64_t start = SteadyClock().now_ns();
    TRY(index_->build(ids, vectors, pool_));
    std::printf("{\"build_seconds\": %.6f, \"bytes\": %lld}\n", seconds_since(start),
                static_cast<long long>(index_->n_bytes()));
    std::fflush(stdout);
    return {};
  }

  Status search(int64_t ef) {
    const int64_t n = n_queries();
    Lists found(static_cast<size_t>(n));
    const int64_t n_read = index_->n_bytes_read();
    const int64_t start = SteadyClock().now_ns();
    searching_.run_items(n, [&](int thread, int64_t i) {
      const auto at = static_cast<size_t>(i);
      auto result = index_->search(query(i), {k(), ef}, thread);
      if (result) found[at] = std::move(*result);
    });
    const double seconds = seconds_since(start);
    const int64_t read = (index_->n_bytes_read() - n_read) / std::max<int64_t>(n, 1);
    std::printf("{\"ef\": %lld, \"seconds\": %.6f, \"read_bytes\": %lld, ",
                static_cast<long long>(ef), seconds, static_cast<long long>(read));
    print_found(found);
    return {};
  }

  Status each(int64_t ef, const NodeSet* among) {
    Lists found;
    std::printf("{\"ef\": %lld, \"us\": [", static_cast<long long>(ef));
    for (int64_t i = 0; i < n_queries(); ++i) {
      const int64_t start = SteadyClock().now_ns();
      found.push_back(TRY(index_->search(query(i), {k(), ef, among}, 0)));
      std::printf(i == 0 ? "%.2f" : ", %.2f", seconds_since(start) * 1e6);
    }
    std::fputs("], ", stdout);
    print_found(found);
    return {};
  }

  Status answer(const std::string& line) {
    std::istringstream words(line);
    std::string command, file;
    int64_t ef = 0;
    words >> command;
    if (command == "load") return load();
    if (command == "among") words >> file;
    if (!(words >> ef)) return fail(Code::invalid, "{}: no command", line);
    if (command == "search") return search(ef);
    if (command == "each") return each(ef, nullptr);
    if (command != "among") return fail(Code::invalid, "{}: no command", line);
    const std::vector<int64_t> ids = TRY(read_numbers<int64_t>(file));
    const NodeSet among = index_->nodes_of(ids);
    return each(ef, &among);
  }

 private:
  int64_t number(const char* name, int64_t otherwise) const {
    const auto found = options_.find(name);
    return found != options_.end() ? std::stoll(found->second) : otherwise;
  }
  int64_t k() const { return number("k", 10); }
  int64_t n_dims() const { return number("n_dims", 128); }
  int64_t n_queries() const { return std::ssize(queries_) / n_dims(); }
  std::span<const float> query(int64_t i) const {
    const auto n = static_cast<size_t>(n_dims());
    return std::span(queries_).subspan(static_cast<size_t>(i) * n, n);
  }
  Status load() {
    const int64_t start = SteadyClock().now_ns();
    TRY(index_->open(pool_));
    std::printf("{\"load_seconds\": %.6f}\n", seconds_since(start));
    std::fflush(stdout);
    return {};
  }

  std::map<std::string, std::string> options_;
  WorkerPool pool_{static_cast<int>(number("threads", 2))};
  WorkerPool searching_{static_cast<int>(number("search_threads", 1))};
  std::vector<float> queries_;
  std::unique_ptr<BenchedIndex> index_;
};

Status run_bench(const std::string& vectors, const std::string& queries,
                 const std::map<std::string, std::string>& options) {
  VectorBench bench(options);
  TRY(bench.build(vectors, queries));
  const auto efs = options.find("ef");
  if (efs != options.end() && efs->second == "stdin") {
    for (std::string line; std::getline(std::cin, line);) TRY(bench.answer(line));
    return {};
  }
  std::istringstream list(efs != options.end() ? efs->second : "20,40,80");
  for (std::string ef; std::getline(list, ef, ',');) TRY(bench.search(std::stoll(ef)));
  return {};
}

}  // namespace
}  // namespace ruv

int main(int argc, char** argv) {
  std::map<std::string, std::string> options;
  for (int i = 3; i < argc; ++i) {
    const std::string word = argv[i];
    const size_t equals = word.find('=');
    if (equals != word.npos) options[word.substr(0, equals)] = word.substr(equals + 1);
  }
  if (argc < 3) {
    std::fputs("ruv_bench_memory VECTORS QUERIES folder=NEW name=value…\n", stderr);
    return 2;
  }
  const ruv::Status status = ruv::run_bench(argv[1], argv[2], options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return 1;
}

// Builds an index in a folder and searches it.
//
//   ruv_bench_memory VECTORS QUERIES folder=NEW n_dims=128 m=16 build=200 codes=int8 metric=l2
//   threads=2 search_threads=1 k=10 ef=20,40,80
//
// Both files hold float32, one vector after the other; ids count from 0. Prints a line of JSON for
// the build, and one for each ef: the seconds of all queries together and the ids that were found.
// With ef=stdin each line of standard input is a command, answered by a line, so that another
// program can ask:
//
//   search EF        the same
//   each EF          "us" in place of "seconds": the microseconds of each query, by one thread
//   among FILE EF    the same among the ids of a file alone, 8 bytes each
//   load             closes the index and opens it again: "load_seconds"
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "base/clock.h"
#include "base/file.h"
#include "base/folder.h"
#include "memory/vector_index.h"

namespace ruv {
namespace {

using Lists = std::vector<std::vector<VectorIndex::Found>>;

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
    HnswOptions& graph = made_.graph;
    graph.n_dims = number("n_dims", 128);
    graph.m = static_cast<int>(number("m", 16));
    graph.n_looked_at = number("build", 200);
    if (options_.contains("codes")) graph.codes = TRY(vector_codes_of(options_["codes"]));
    if (options_.contains("metric")) graph.metric = TRY(metric_of(options_["metric"]));
    made_.folder = options_["folder"];
    if (made_.folder.empty()) return fail(Code::invalid, "give folder=, a new one");
    const std::vector<float> vectors = TRY(read_numbers<float>(vectors_path));
    queries_ = TRY(read_numbers<float>(queries_path));
    std::vector<int64_t> ids(vectors.size() / static_cast<size_t>(graph.n_dims));
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i);
    TRY(open());
    if (index_->size() > 0) return fail(Code::invalid, "{}: has an index", made_.folder);
    const int64_t start = SteadyClock().now_ns();
    TRY(index_->add(ids, vectors, pool_));
    TRY(index_->checkpoint());
    std::printf("{\"build_seconds\": %.6f, \"bytes\": %lld}\n", seconds_since(start),
                static_cast<long long>(index_->n_bytes()));
    std::fflush(stdout);
    return {};
  }

  Status search(int64_t ef) {
    const int64_t n = n_queries();
    std::vector<HnswSearch> memories(static_cast<size_t>(searching_.n_threads()));
    Lists found(static_cast<size_t>(n));
    const int64_t start = SteadyClock().now_ns();
    searching_.run_items(n, [&](int thread, int64_t i) {
      const auto at = static_cast<size_t>(i);
      auto result = index_->search(query(i), {k(), ef}, memories[static_cast<size_t>(thread)]);
      if (result) found[at] = std::move(*result);
    });
    std::printf("{\"ef\": %lld, \"seconds\": %.6f, ", static_cast<long long>(ef),
                seconds_since(start));
    print_found(found);
    return {};
  }

  Status each(int64_t ef, const NodeSet* among) {
    HnswSearch memory;
    Lists found;
    std::printf("{\"ef\": %lld, \"us\": [", static_cast<long long>(ef));
    for (int64_t i = 0; i < n_queries(); ++i) {
      const int64_t start = SteadyClock().now_ns();
      found.push_back(TRY(index_->search(query(i), {k(), ef, among}, memory)));
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
  int64_t n_queries() const { return std::ssize(queries_) / made_.graph.n_dims; }
  std::span<const float> query(int64_t i) const {
    const auto n = static_cast<size_t>(made_.graph.n_dims);
    return std::span(queries_).subspan(static_cast<size_t>(i) * n, n);
  }
  Status open() {
    index_ = TRY(VectorIndex::open(made_, pool_));
    return {};
  }
  Status load() {
    index_.reset();
    const int64_t start = SteadyClock().now_ns();
    TRY(open());
    std::printf("{\"load_seconds\": %.6f}\n", seconds_since(start));
    std::fflush(stdout);
    return {};
  }

  std::map<std::string, std::string> options_;
  VectorIndexOptions made_;
  WorkerPool pool_{static_cast<int>(number("threads", 2))};
  WorkerPool searching_{static_cast<int>(number("search_threads", 1))};
  std::vector<float> queries_;
  std::unique_ptr<VectorIndex> index_;
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

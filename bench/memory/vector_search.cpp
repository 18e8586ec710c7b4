// Builds an index and searches it.
//
//   ruv_bench_memory VECTORS QUERIES n_dims=128 m=16 build=200 threads=2 search_threads=1 k=10
//   ef=20,40,80
//
// Both files hold float32, one vector after the other. Prints a line of JSON for the build, and one
// for each ef with the seconds of all queries and the numbers that were found. With ef=stdin each
// line of standard input is such a list, so that another program can take turns with it.
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <string>

#include "base/clock.h"
#include "base/file.h"
#include "memory/hnsw.h"

namespace ruv {
namespace {

Result<std::vector<float>> read_floats(const std::string& path) {
  const std::string bytes = TRY(read_text_file(path));
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
  return numbers;
}

std::vector<int64_t> list_of(const std::string& text) {
  std::vector<int64_t> numbers;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    numbers.push_back(std::stoll(text.substr(at, end - at)));
    at = end + 1;
  }
  return numbers;
}

double seconds_since(int64_t start_ns) {
  return static_cast<double>(SteadyClock().now_ns() - start_ns) * 1e-9;
}

void search_all(const Hnsw& index, const std::vector<float>& queries, int64_t k, int64_t ef,
                WorkerPool& pool) {
  const int64_t n_dims = index.options().n_dims;
  const int64_t n = std::ssize(queries) / n_dims;
  std::vector<HnswSearch> memories(static_cast<size_t>(pool.n_threads()));
  std::vector<std::vector<Neighbour>> found(static_cast<size_t>(n));
  const int64_t start = SteadyClock().now_ns();
  pool.run_items(n, [&](int thread, int64_t i) {
    index.search(queries.data() + i * n_dims, {k, ef}, memories[static_cast<size_t>(thread)],
                 found[static_cast<size_t>(i)]);
  });
  const double seconds = seconds_since(start);
  std::printf("{\"ef\": %d, \"seconds\": %.6f, \"found\": [", static_cast<int>(ef), seconds);
  for (size_t i = 0; i < found.size(); ++i) {
    std::fputs(i == 0 ? "[" : ", [", stdout);
    for (size_t j = 0; j < found[i].size(); ++j) {
      std::printf(j == 0 ? "%u" : ", %u", found[i][j].node);
    }
    std::fputs("]", stdout);
  }
  std::fputs("]}\n", stdout);
}

Status run(const std::string& vectors_path, const std::string& queries_path,
           std::map<std::string, std::string> options) {
  const auto number = [&](const char* name, int64_t otherwise) {
    return options.contains(name) ? std::stoll(options[name]) : otherwise;
  };
  HnswOptions made;
  made.n_dims = number("n_dims", 128);
  made.m = static_cast<int>(number("m", 16));
  made.n_looked_at = number("build", 200);
  if (options.contains("codes")) made.codes = TRY(vector_codes_of(options["codes"]));
  if (options.contains("metric")) made.metric = TRY(metric_of(options["metric"]));
  TRY(check(made));
  const std::vector<float> vectors = TRY(read_floats(vectors_path));
  const std::vector<float> queries = TRY(read_floats(queries_path));
  WorkerPool pool(static_cast<int>(number("threads", 2)));
  Hnsw index(made);
  const int64_t start = SteadyClock().now_ns();
  TRY(index.add(vectors, pool));
  std::printf("{\"build_seconds\": %.6f, \"bytes\": %lld}\n", seconds_since(start),
              static_cast<long long>(index.n_bytes()));
  std::fflush(stdout);
  WorkerPool searching(static_cast<int>(number("search_threads", 1)));
  const auto search = [&](const std::string& list) {
    for (const int64_t ef : list_of(list)) {
      search_all(index, queries, number("k", 10), ef, searching);
    }
    std::fflush(stdout);
  };
  if (options["ef"] == "stdin") {
    for (std::string line; std::getline(std::cin, line);) search(line);
  } else {
    search(options.contains("ef") ? options["ef"] : "20,40,80");
  }
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
    std::fputs("ruv_bench_memory VECTORS QUERIES name=value…\n", stderr);
    return 2;
  }
  const ruv::Status status = ruv::run(argv[1], argv[2], options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return 1;
}

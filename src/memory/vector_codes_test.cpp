// Searches by codes find what comparing with everything finds, whatever the configuration, and
// answer the same after a restart, for any number of threads and on any machine.
//
// RUV_CONFIGS sets how many configurations are drawn; a few by default.
#include "memory/vector_codes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/hash.h"
#include "memory/test_clusters.h"
#include "memory/vector_index.h"

namespace ruv::vector_codes_test {
namespace {

namespace fs = std::filesystem;

constexpr VectorCodes kAllCodes[] = {VectorCodes::none, VectorCodes::int8,   VectorCodes::f16,
                                     VectorCodes::int4, VectorCodes::binary, VectorCodes::product};

class VectorCodesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("ruv_vector_codes_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  VectorIndexOptions options_of(const HnswOptions& graph) const {
    VectorIndexOptions options;
    options.folder = folder_ / "index";
    options.graph = graph;
    return options;
  }

  // Adds, removes a share, adds others, and opens the index again; keeps what should be there.
  std::unique_ptr<VectorIndex> changed(const VectorIndexOptions& options, Clusters& clusters,
                                       int64_t n) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    vectors_.clear();
    auto index = VectorIndex::open(options, pool_);
    if (!index) return nullptr;
    add(**index, clusters, 0, n);
    std::vector<int64_t> gone;
    for (int64_t id = 3; id < n; id += 4) gone.push_back(id);
    EXPECT_EQ(*(*index)->remove(gone, pool_), std::ssize(gone));
    for (const int64_t id : gone) vectors_.erase(id);
    add(**index, clusters, n, n + n / 8);
    index->reset();
    auto again = VectorIndex::open(options, pool_);
    EXPECT_TRUE(again) << again.error().message();
    return again ? std::move(*again) : nullptr;
  }
  void add(VectorIndex& index, Clusters& clusters, int64_t first, int64_t end) {
    const std::vector<float> points = clusters.points(end - first);
    std::vector<int64_t> ids;
    for (int64_t id = first; id < end; ++id) {
      ids.push_back(id);
      const float* const at = points.data() + (id - first) * clusters.n_dims;
      vectors_[id] = {at, at + clusters.n_dims};
    }
    ASSERT_TRUE(index.add(ids, points, pool_).ok());
  }

  // The share of the k nearest that is found: ids that are as near as the k-th count. Checks that
  // distances are those of the vectors.
  double recall_of(const VectorIndex& index, Metric metric, Clusters& clusters) {
    constexpr size_t kNearest = 10;
    constexpr int64_t kQueries = 20;
    HnswSearch memory;
    double n_found = 0;
    for (int64_t q = 0; q < kQueries; ++q) {
      const std::vector<float> query = clusters.points(1);
      std::vector<double> all;
      for (const auto& [id, vector] : vectors_) all.push_back(distance_of(metric, query, vector));
      std::sort(all.begin(), all.end());
      const double slack = 1e-5 * (1 + std::fabs(all[0]) + std::fabs(all[kNearest - 1]));
      const auto found = *index.search(query, {.k = kNearest, .n_looked_at = 200}, memory);
      EXPECT_EQ(found.size(), kNearest);
      for (const VectorIndex::Found& one : found) {
        const auto known = vectors_.find(one.id);
        if (known == vectors_.end()) {
          ADD_FAILURE() << "found the id " << one.id << ", which is not there";
          continue;
        }
        const double distance = distance_of(metric, query, known->second);
        EXPECT_NEAR(double{one.distance}, distance, slack);
        if (distance <= all[kNearest - 1] + slack) n_found += 1;
      }
    }
    return n_found / (kNearest * kQueries);
  }

  WorkerPool pool_{2};
  fs::path folder_;
  std::map<int64_t, std::vector<float>> vectors_;
};

TEST_F(VectorCodesTest, FindTheNearestInDrawnConfigurations) {
  const char* const wanted = std::getenv("RUV_CONFIGS");
  const int n_configs = wanted != nullptr ? std::atoi(wanted) : 12;
  constexpr int64_t kDims[] = {1, 3, 16, 17, 64, 65, 100, 130, 257, 769};
  Rng rng(21);
  int n_refused = 0;
  for (int config = 0; config < n_configs; ++config) {
    HnswOptions graph;
    graph.codes = kAllCodes[config % 6];
    graph.metric = static_cast<Metric>(rng.below(4));
    graph.n_dims = kDims[rng.below(std::size(kDims))];
    graph.m = 8 + static_cast<int>(rng.below(9));
    graph.n_looked_at = 60;
    const std::string name =
        std::string(name_of(graph.codes)) + ", " + std::string(name_of(graph.metric)) + ", " +
        std::to_string(graph.n_dims) + " numbers, m " + std::to_string(graph.m);
    if (!check(graph).ok()) {
      ++n_refused;
      continue;
    }
    Clusters clusters(graph.n_dims, rng.next());
    const int64_t n = graph.codes == VectorCodes::product ? 6000 : 1500;
    const auto index = changed(options_of(graph), clusters, n);
    ASSERT_TRUE(index) << name;
    EXPECT_EQ(index->size(), std::ssize(vectors_));
    const double recall = recall_of(*index, graph.metric, clusters);
    EXPECT_GE(recall, 0.95) << name;
    std::printf("%s: recall %.3f\n", name.c_str(), recall);
  }
  EXPECT_LT(n_refused, n_configs);
}

TEST_F(VectorCodesTest, ThoseThatDoNotFitAreRefusedByName) {
  const auto refusal = [](const HnswOptions& options) { return check(options).message(); };
  EXPECT_NE(
      refusal({.metric = Metric::manhattan, .n_dims = 99, .codes = VectorCodes::int4}).find("int4"),
      std::string::npos);
  EXPECT_NE(refusal({.metric = Metric::manhattan, .n_dims = 99, .codes = VectorCodes::binary})
                .find("manhattan"),
            std::string::npos);
  EXPECT_NE(refusal({.n_dims = 63, .codes = VectorCodes::binary}).find("64 at least"),
            std::string::npos);
  for (const VectorCodes codes : {VectorCodes::f16, VectorCodes::product}) {
    EXPECT_TRUE(check({.metric = Metric::manhattan, .n_dims = 1, .codes = codes}).ok());
  }
  for (const VectorCodes codes : kAllCodes) EXPECT_EQ(*vector_codes_of(name_of(codes)), codes);
  EXPECT_EQ(vector_codes_of("int2").error().code(), Code::invalid);
  EXPECT_EQ(metric_of("euclid").error().code(), Code::invalid);
  EXPECT_EQ(*metric_of("manhattan"), Metric::manhattan);
}

TEST_F(VectorCodesTest, AnIndexKeepsToItsCodes) {
  HnswOptions graph{.n_dims = 80, .m = 4, .n_looked_at = 10, .codes = VectorCodes::int4};
  Clusters clusters(80, 1);
  ASSERT_TRUE(changed(options_of(graph), clusters, 40));
  graph.codes = VectorCodes::f16;
  const auto refused = VectorIndex::open(options_of(graph), pool_);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("codes \"int4\", not \"f16\""), std::string::npos);
}

// Codes learn in the middle of the changes, of which some are in a graph's file and some are made
// again when the index is opened.
TEST_F(VectorCodesTest, AnswerTheSameAfterARestartAndForAnyNumberOfThreads) {
  for (const VectorCodes codes : kAllCodes) {
    const HnswOptions graph{
        .metric = Metric::cosine, .n_dims = 70, .m = 6, .n_looked_at = 24, .codes = codes};
    std::vector<uint64_t> hashes;
    for (const int n_threads : {1, 3}) {
      WorkerPool pool(n_threads);
      fs::remove_all(folder_);
      fs::create_directories(folder_);
      Clusters clusters(70, 5);
      const std::vector<float> queries = clusters.points(20);
      const auto hash = [&](const VectorIndex& index) {
        HnswSearch memory;
        uint64_t all = 0;
        for (int64_t q = 0; q < 20; ++q) {
          const auto query = std::span(queries).subspan(static_cast<size_t>(q * 70), 70);
          const auto found = *index.search(query, {.k = 5, .n_looked_at = 12}, memory);
          for (const auto& one : found) {
            all = hash_bytes(std::as_bytes(std::span(&one.distance, 1)),
                             all + static_cast<uint64_t>(one.id));
          }
        }
        return all;
      };
      auto index = VectorIndex::open(options_of(graph), pool);
      ASSERT_TRUE(index);
      int64_t next = 0;
      for (const int64_t n : {900, 3000, 300, 300}) {
        std::vector<int64_t> ids;
        for (int64_t i = 0; i < n; ++i) ids.push_back(next++);
        ASSERT_TRUE((*index)->add(ids, clusters.points(n), pool).ok());
        ASSERT_TRUE((*index)->remove(std::span(ids).first(30), pool));
        const uint64_t before = hash(**index);
        hashes.push_back(before);
        index->reset();
        index = VectorIndex::open(options_of(graph), pool);
        ASSERT_TRUE(index) << index.error().message();
        EXPECT_EQ(hash(**index), before) << name_of(codes) << " after " << next;
        if (n == 3000) {
          ASSERT_TRUE((*index)->checkpoint().ok());
        }
      }
    }
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(hashes[i], hashes[i + 4]) << name_of(codes);
  }
}

// On every machine, with each instruction set (RUV_ISA).
TEST_F(VectorCodesTest, AnswerTheSameOnEachMachine) {
  // Where codes miss nothing the answers are those of float32.
  constexpr uint64_t kExact = 0x0E21F8C437FD409E;
  constexpr uint64_t kHashes[] = {kExact, kExact, kExact, kExact, kExact, 0x6F6EC4581D39031A};
  for (size_t i = 0; i < std::size(kAllCodes); ++i) {
    Clusters clusters(67, 8);
    Hnsw index({.n_dims = 67, .m = 6, .n_looked_at = 16, .codes = kAllCodes[i]});
    const bool learns = kAllCodes[i] == VectorCodes::product;
    ASSERT_TRUE(index.add(clusters.points(learns ? 4200 : 500), pool_).ok());
    HnswSearch memory;
    std::vector<Neighbour> found;
    uint64_t hash = 0;
    for (int query = 0; query < 20; ++query) {
      index.search(clusters.points(1).data(), {.k = 4, .n_looked_at = 8}, memory, found);
      for (const Neighbour& one : found) {
        hash = hash_bytes(std::as_bytes(std::span(&one.distance, 1)), hash + one.node);
      }
    }
    EXPECT_EQ(hash, kHashes[i]) << name_of(kAllCodes[i]) << std::hex << " 0x" << hash;
  }
}

// Each bit of the part of a graph's file that codes are in, the last one before the ids.
TEST_F(VectorCodesTest, AFlippedBitOfLearntCodesIsFound) {
  const HnswOptions graph{.n_dims = 5, .m = 2, .n_looked_at = 4, .codes = VectorCodes::product};
  const VectorIndexOptions options = options_of(graph);
  Clusters clusters(5, 1);
  auto index = changed(options, clusters, 4200);
  ASSERT_TRUE(index);
  ASSERT_TRUE(index->checkpoint().ok());
  index.reset();
  std::string path;
  for (const auto& file : fs::directory_iterator(options.folder)) {
    if (file.path().filename().string().starts_with("graph")) path = file.path();
  }
  ASSERT_FALSE(path.empty());
  const auto size = fs::file_size(path);
  for (uintmax_t at = size / 3; at < size; at += size / 40) {
    const auto flip = [&] {
      std::FILE* const file = std::fopen(path.c_str(), "r+b");
      ASSERT_NE(file, nullptr);
      std::fseek(file, static_cast<long>(at), SEEK_SET);
      const int byte = std::fgetc(file) ^ 4;
      std::fseek(file, static_cast<long>(at), SEEK_SET);
      std::fputc(byte, file);
      std::fclose(file);
    };
    flip();
    const auto opened = VectorIndex::open(options, pool_);
    ASSERT_FALSE(opened) << at;
    EXPECT_EQ(opened.error().code(), Code::corrupt);
    flip();
  }
  EXPECT_TRUE(VectorIndex::open(options, pool_));
}

}  // namespace
}  // namespace ruv::vector_codes_test

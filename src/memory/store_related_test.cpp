// Edges between chunks come and go with documents, grow with searches that ask for it and fade, and
// what is related is what a walk over all of them gives.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "base/rng.h"
#include "memory/chunk_graph.h"
#include "memory/store.h"

namespace ruv::store_related_test {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kDims = 8;
constexpr int64_t kNow = 1'700'000'000;

struct EdgeRow {
  int64_t source = 0, target = 0, kind = 0, at_s = 0;
  double weight = 0;
  friend bool operator==(const EdgeRow&, const EdgeRow&) = default;
};

class StoreRelatedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("ruv_related_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    options_.folder = folder_ / "store";
    options_.embedder = "eight numbers";
    options_.n_dims = kDims;
    open();
  }
  void TearDown() override {
    store_.reset();
    fs::remove_all(folder_);
  }
  void open() {
    store_.reset();
    auto opened = MemoryStore::open(options_, pool_);
    ASSERT_TRUE(opened) << opened.error().message();
    store_ = std::move(*opened);
  }
  std::vector<float> drawn(size_t n) {
    std::vector<float> numbers(n);
    for (float& number : numbers) number = static_cast<float>(rng_.uniform()) - 0.5F;
    return numbers;
  }
  // A document of n chunks, whose words are its name and the chunk's number.
  int64_t add(const std::string& name, int64_t n, Json metadata = Json::object()) {
    std::string text;
    std::vector<TextChunk> chunks;
    for (int64_t i = 0; i < n; ++i) {
      const auto first = std::ssize(text);
      text += name + " part" + std::to_string(i);
      chunks.push_back({first, std::ssize(text), "", 0});
    }
    const auto id =
        store_->add({name, text, chunks, drawn(static_cast<size_t>(n * kDims)), metadata}, pool_);
    EXPECT_TRUE(id) << id.error().message();
    return id.value_or(0);
  }
  std::vector<EdgeRow> edges(const std::string& where = "1") const {
    const Database database = *Database::open(options_.folder + "/store.db", false);
    DbStatement statement =
        *database.prepare("SELECT source, target, kind, weight, at_s FROM edges WHERE " + where +
                          " ORDER BY kind, source, target");
    std::vector<EdgeRow> rows;
    while (*statement.step()) {
      rows.push_back({statement.integer(0), statement.integer(1), statement.integer(2),
                      statement.integer(4), statement.real(3)});
    }
    return rows;
  }
  // Every edge hangs on two chunks.
  void expect_whole() const {
    const Database database = *Database::open(options_.folder + "/store.db", false);
    EXPECT_EQ(*database.number("SELECT count(*) FROM pragma_foreign_key_check"), 0);
  }
  std::vector<FoundChunk> search(const MemoryQuery& query) const {
    auto found = store_->search(query);
    EXPECT_TRUE(found) << found.error().message();
    return found ? std::move(*found) : std::vector<FoundChunk>();
  }

  Rng rng_{5};
  WorkerPool pool_{1};
  fs::path folder_;
  MemoryStoreOptions options_;
  std::unique_ptr<MemoryStore> store_;
};

// Shares by the definition, over all edges of the table at once, in a dense matrix.
std::map<int64_t, double> brute_shares(const std::vector<EdgeRow>& edges,
                                       const std::vector<FoundChunk>& begin) {
  std::map<int64_t, double> restart, rank;
  std::map<int64_t, std::map<int64_t, double>> weights;
  for (const EdgeRow& edge : edges) {
    const double weight = edge.kind == 3 ? edge.weight / (1 + edge.weight) : edge.weight;
    weights[edge.source][edge.target] += weight;
    weights[edge.target][edge.source] += weight;
  }
  double total = 0;
  for (const FoundChunk& chunk : begin) total += chunk.score;
  for (const FoundChunk& chunk : begin) restart[chunk.id] = chunk.score / total;
  rank = restart;
  for (int step = 0; step < 64; ++step) {
    std::map<int64_t, double> next;
    for (const auto& [id, share] : restart) next[id] += 0.15 * share;
    for (const auto& [id, share] : rank) {
      double leaving = 0;
      for (const auto& [other, weight] : weights[id]) leaving += weight;
      for (const auto& [other, weight] : weights[id])
        next[other] += 0.85 * share * weight / leaving;
      if (leaving > 0) continue;
      for (const auto& [other, part] : restart) next[other] += 0.85 * share * part;
    }
    rank = next;
  }
  return rank;
}

TEST_F(StoreRelatedTest, IsWhatAWalkOverAllEdgesGives) {
  for (int i = 0; i < 40; ++i) add("doc" + std::to_string(i), 1 + static_cast<int64_t>(i % 5));
  for (int turn = 0; turn < 30; ++turn) {
    const std::vector<float> vector = drawn(kDims);
    search({.vector = vector, .k = 3, .remembers = true, .now_s = kNow});
  }
  for (int turn = 0; turn < 30; ++turn) {
    const std::vector<float> vector = drawn(kDims);
    MemoryQuery query{.vector = vector, .k = 4, .most_visited = 10'000, .now_s = kNow};
    const auto begin = search(query);
    query.n_related = 1000;
    const auto all = search(query);
    ASSERT_GT(all.size(), begin.size());
    auto shares = brute_shares(edges(), begin);
    for (size_t i = 0; i < begin.size(); ++i) EXPECT_EQ(all[i].id, begin[i].id);
    double last = 1;
    for (size_t i = begin.size(); i < all.size(); ++i) {
      EXPECT_NEAR(all[i].related, shares[all[i].id], 1e-9);
      EXPECT_EQ(all[i].score, 0);
      EXPECT_LE(all[i].related, last);
      EXPECT_FALSE(all[i].text.empty());
      last = all[i].related;
    }
    // Fewer are the first of them.
    query.n_related = 2;
    const auto two = search(query);
    ASSERT_EQ(two.size(), begin.size() + 2);
    EXPECT_EQ(two.back().id, all[begin.size() + 1].id);
    EXPECT_EQ(two.back().related, all[begin.size() + 1].related);
  }
}

TEST_F(StoreRelatedTest, AWalkVisitsNoMoreThanItMayAndNoOtherDocuments) {
  add("long", 200, {{"lang", "en"}});
  add("other", 50, {{"lang", "de"}});
  MemoryQuery query{.words = "part100", .k = 1, .n_related = 1000, .most_visited = 5};
  EXPECT_EQ(search(query).size(), 5U);
  query.most_visited = 1;
  EXPECT_EQ(search(query).size(), 1U);
  query.most_visited = 10'000;
  EXPECT_EQ(search(query).size(), 250U);
  query.metadata = {{"lang", "en"}};
  const auto english = search(query);
  EXPECT_EQ(english.size(), 200U);
  for (const FoundChunk& chunk : english) EXPECT_EQ(chunk.document, "long");
  // A budget below what was found.
  EXPECT_EQ(search({.words = "long", .k = 20, .n_related = 5, .most_visited = 3}).size(), 20U);
  for (const MemoryQuery& wrong :
       {MemoryQuery{.words = "a", .n_related = -1}, MemoryQuery{.words = "a", .n_related = 1001},
        MemoryQuery{.words = "a", .most_visited = 0},
        MemoryQuery{.words = "a", .most_visited = 10'001}}) {
    EXPECT_EQ(store_->search(wrong).error().code(), Code::invalid);
  }
}

TEST_F(StoreRelatedTest, EdgesComeAndGoWithDocuments) {
  add("a", 3);
  add("b", 4);
  EXPECT_EQ(
      edges("kind = 1"),
      (std::vector<EdgeRow>{
          {1, 2, 1, 0, 1}, {2, 3, 1, 0, 1}, {4, 5, 1, 0, 1}, {5, 6, 1, 0, 1}, {6, 7, 1, 0, 1}}));
  for (const EdgeRow& edge : edges("kind = 2")) {
    EXPECT_GT(edge.weight, 0);
    EXPECT_LE(edge.weight, 1.0001);
  }
  search({.words = "part0 part1", .k = 4, .remembers = true, .now_s = kNow});
  EXPECT_FALSE(edges("kind = 3").empty());
  EXPECT_EQ(store_->stats()->n_edges, std::ssize(edges()));
  add("a", 2);  // in place of the three
  EXPECT_TRUE(edges("source < 4").empty());
  EXPECT_EQ(edges("kind = 1 AND source > 7").size(), 1U);
  expect_whole();
  ASSERT_TRUE(*store_->remove("b", pool_));
  EXPECT_TRUE(edges("source < 8").empty());
  ASSERT_TRUE(*store_->remove("a", pool_));
  EXPECT_TRUE(edges().empty());
}

TEST_F(StoreRelatedTest, WhatIsFoundTogetherGrowsAndFades) {
  add("a", 1);
  add("b", 1);
  add("c", 1);
  const int64_t half_life = WalkTerms().half_life_s;
  const auto find = [&](int64_t now) {
    search({.words = "a b", .k = 2, .remembers = true, .now_s = now});
    const auto rows = edges("kind = 3");
    EXPECT_EQ(rows.size(), 1U);
    return rows.empty() ? EdgeRow() : rows[0];
  };
  EXPECT_EQ(find(kNow), (EdgeRow{1, 2, 3, kNow, 1}));
  EXPECT_EQ(find(kNow).weight, 2);
  EXPECT_NEAR(find(kNow + half_life).weight, 2, 1e-12);
  EXPECT_NEAR(find(kNow + 3 * half_life).weight, 1.5, 1e-12);
  // A clock that went back.
  EXPECT_NEAR(find(kNow).weight, 2.5, 1e-12);
  EXPECT_EQ(ChunkGraph::decayed(8, 0, 10), 8);
  EXPECT_NEAR(ChunkGraph::decayed(8, 30, 10), 1, 1e-14);
  // A search that does not ask for it changes nothing, and edges are there when it is opened again.
  const auto before = edges();
  search({.words = "a b c", .k = 3, .n_related = 1});
  open();
  EXPECT_EQ(edges(), before);
}

TEST_F(StoreRelatedTest, AChunkKeepsItsStrongestCompanions) {
  add("hub", 1);
  for (int i = 0; i < 50; ++i) {
    const std::string name = "n" + std::to_string(i);
    add(name, 1);
    const int times = i == 0 ? 3 : 1;
    for (int j = 0; j < times; ++j) {
      search({.words = "hub " + name + " ", .k = 2, .remembers = true, .now_s = kNow + i});
    }
  }
  const auto rows = edges("kind = 3 AND source = 1");
  EXPECT_EQ(rows.size(), kTogetherEdges);
  EXPECT_EQ(rows[0].target, 2) << "found together three times";
  EXPECT_EQ(rows.back().target, 51);
}

// Numbers that no store writes are worth nothing.
TEST_F(StoreRelatedTest, DamagedWeightsCountNothing) {
  add("a", 2);
  add("b", 1);
  store_.reset();
  ASSERT_TRUE(Database::open(options_.folder + "/store.db", false)
                  ->run("UPDATE edges SET weight = -1 WHERE kind = 1;"
                        "UPDATE edges SET weight = 9e999 WHERE kind = 2")
                  .ok());
  open();
  EXPECT_EQ(search({.words = "part1", .k = 1, .n_related = 5}).size(), 1U);
}

}  // namespace
}  // namespace ruv::store_related_test

// A store finds by meaning and by words, replaces and removes whole documents, and is what it was
// when it is opened again.
#include "memory/store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/rng.h"

namespace ruv::store_test {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kDims = 4;

class MemoryStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("ruv_store_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    options_.folder = folder_ / "store";
    options_.embedder = "words in four corners";
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
  // A direction for each text: what it speaks of.
  static std::vector<float> embedded(std::string_view text) {
    std::vector<float> vector = {0.1F, 0.1F, 0.1F, 0.1F};
    const std::string_view topics[] = {"sea", "bread", "stars", "law"};
    for (size_t i = 0; i < 4; ++i) vector[i] += text.find(topics[i]) != text.npos ? 1.0F : 0.0F;
    return vector;
  }
  Result<int64_t> add(const std::string& name, const std::string& text,
                      Json metadata = Json::object()) {
    const auto chunks = *chunks_of(text, {.most_bytes = 60, .overlap_bytes = 0});
    std::vector<float> vectors;
    for (const TextChunk& chunk : chunks) {
      const auto part = text.substr(static_cast<size_t>(chunk.first),
                                    static_cast<size_t>(chunk.end - chunk.first));
      const auto vector = embedded(part);
      vectors.insert(vectors.end(), vector.begin(), vector.end());
    }
    return store_->add({name, text, chunks, vectors, std::move(metadata)}, pool_);
  }
  void make_anew(std::optional<VectorCodes> codes) {
    store_.reset();
    fs::remove_all(options_.folder);
    options_.codes = codes;
    open();
  }
  std::vector<std::string> texts(const MemoryQuery& query) const {
    std::vector<std::string> all;
    const auto found = store_->search(query);
    EXPECT_TRUE(found) << found.error().message();
    if (!found) return all;
    for (const FoundChunk& chunk : *found) all.push_back(chunk.text);
    return all;
  }

  WorkerPool pool_{1};
  fs::path folder_;
  MemoryStoreOptions options_;
  std::unique_ptr<MemoryStore> store_;
};

TEST_F(MemoryStoreTest, FindsByMeaningAndByWords) {
  ASSERT_TRUE(add("a.txt",
                  "The sea was wide, and nobody spoke of the harbour.\n\n"
                  "We baked bread with rye that nobody had ground."));
  ASSERT_TRUE(add("b.txt", "Über the stars: Zoë's café was closed."));
  const std::vector<float> sea = embedded("sea");
  EXPECT_EQ(texts({.vector = sea, .k = 1})[0],
            "The sea was wide, and nobody spoke of the harbour.");
  EXPECT_EQ(texts({.words = "RYE?", .k = 3}),
            std::vector<std::string>{"We baked bread with rye that nobody had ground."});
  // Without accents, and words that are no words of the query's language.
  EXPECT_EQ(texts({.words = "uber \"cafe\" NOT (x", .k = 3}).size(), 1U);
  EXPECT_TRUE(texts({.words = "!!! \"", .k = 3}).empty());
  const auto both = *store_->search({.vector = sea, .words = "nobody harbour", .k = 3});
  ASSERT_EQ(both.size(), 3U);
  EXPECT_EQ(both[0].document, "a.txt");
  EXPECT_EQ(both[0].vector_rank, 1);
  EXPECT_EQ(both[0].word_rank, 1);
  EXPECT_DOUBLE_EQ(both[0].score, 2.0 / 61);
  EXPECT_EQ(both[0].first, 0);
  EXPECT_EQ(both[2].word_rank, 0);
  EXPECT_FALSE(store_->search({.words = "  ", .k = 3}));
  EXPECT_FALSE(store_->search({.words = "a", .k = 0}));
  EXPECT_FALSE(store_->search({.vector = std::span(sea).first(3), .k = 1}));
}

TEST_F(MemoryStoreTest, AWeightSaysWhichSearchDecides) {
  ASSERT_TRUE(add("a.txt", "The sea was wide."));
  ASSERT_TRUE(add("b.txt", "The stars were bright."));
  const std::vector<float> sea = embedded("sea");
  const auto first = [&](double weight) {
    return (*store_->search({.vector = sea, .vector_weight = weight, .words = "stars", .k = 3}))[0];
  };
  EXPECT_EQ(first(1.99).document, "a.txt");
  EXPECT_EQ(first(vector_weight_of(false)).document, "b.txt");
  EXPECT_NEAR(first(vector_weight_of(false)).score, 2.0 / 61, 1e-4);
  EXPECT_FALSE(store_->search({.vector = sea, .vector_weight = 2, .words = "a", .k = 3}));
}

TEST_F(MemoryStoreTest, PagesAreKeptAndADamagedOneIsNoticed) {
  const TextChunk chunks[] = {{0, 4, "", 2}, {4, 8, "T", 3}};
  const std::vector<float> vectors(2 * kDims, 0.5F);
  const NewDocument book{"book.pdf", "one two ", chunks, vectors};
  ASSERT_TRUE(store_->add(book, pool_));
  EXPECT_EQ((*store_->search({.words = "two"}))[0].page, 3);
  EXPECT_TRUE(store_->known(book)->is_same);
  const TextChunk others[] = {{0, 4, "", 2}, {4, 8, "T", 4}};
  EXPECT_FALSE(store_->known({"book.pdf", "one two ", others, {}})->is_same);
  const TextChunk wrong[] = {{0, 4, "", -1}};
  EXPECT_FALSE(store_->add({"x", "one two ", wrong, std::span(vectors).first(kDims)}, pool_));
  store_.reset();
  ASSERT_TRUE(Database::open(options_.folder + "/store.db", false)
                  ->run("UPDATE chunks SET page = 9 WHERE page = 3")
                  .ok());
  open();
  EXPECT_EQ(store_->search({.words = "two"}).error().code(), Code::corrupt);
}

TEST_F(MemoryStoreTest, MetadataFilterBothSearches) {
  ASSERT_TRUE(add("one", "The sea in the morning.", {{"lang", "en"}, {"year", 2020}}));
  ASSERT_TRUE(add("two", "The sea at night.", {{"lang", "en"}, {"draft", true}}));
  ASSERT_TRUE(add("three", "La sea.", {{"lang", "es"}, {"year", "2020"}}));
  const std::vector<float> sea = embedded("sea");
  const auto names = [&](const Json& metadata) {
    std::vector<std::string> all;
    for (const bool by_words : {true, false}) {
      MemoryQuery query{.k = 5, .metadata = metadata};
      if (by_words) query.words = "sea";
      if (!by_words) query.vector = sea;
      auto found = *store_->search(query);
      std::ranges::sort(found, {}, &FoundChunk::document);
      for (const FoundChunk& chunk : found) all.push_back(chunk.document);
    }
    return all;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names({{"lang", "en"}}), (Names{"one", "two", "one", "two"}));
  EXPECT_EQ(names({{"year", 2020}}), (Names{"one", "one"}));
  EXPECT_EQ(names({{"year", "2020"}}), (Names{"three", "three"}));
  EXPECT_EQ(names({{"draft", true}}), (Names{"two", "two"}));
  EXPECT_EQ(names({{"lang", "en"}, {"year", 2020}}), (Names{"one", "one"}));
  EXPECT_EQ(names({{"x'\") OR 1", 1}}), Names{});
  EXPECT_FALSE(store_->search({.words = "sea", .metadata = {{"lang", nullptr}}}));
}

// Each filter with the documents that it takes, by words and by vectors.
TEST_F(MemoryStoreTest, FiltersCompareMetadata) {
  ASSERT_TRUE(add("one", "The sea in the morning.", {{"lang", "en"}, {"year", 2020}, {"x", 0.1}}));
  ASSERT_TRUE(add("two", "The sea at night.", {{"lang", "en"}, {"draft", true}, {"year", 2021}}));
  ASSERT_TRUE(add("three", "La sea.", {{"lang", "es"}, {"year", "2020"}}));
  const std::pair<const char*, const char*> cases[] = {
      {R"({"type": "eq", "key": "lang", "value": "en"})", "one two"},
      {R"({"type": "ne", "key": "lang", "value": "en"})", "three"},
      {R"({"type": "eq", "key": "x", "value": 0.1})", "one"},
      {R"({"type": "eq", "key": "year", "value": 2020.0})", "one"},
      {R"({"type": "gt", "key": "year", "value": 2020})", "two"},
      {R"({"type": "gte", "key": "year", "value": 2019.5})", "one two"},
      {R"({"type": "lt", "key": "year", "value": 2021})", "one"},
      {R"({"type": "lte", "key": "year", "value": "2020"})", "three"},
      {R"({"type": "eq", "key": "draft", "value": true})", "two"},
      {R"({"type": "ne", "key": "draft", "value": true})", "one three"},
      {R"({"type": "in", "key": "year", "value": ["2020", 2021]})", "three two"},
      {R"({"type": "nin", "key": "draft", "value": [true, "x"]})", "one three"},
      {R"({"type": "or", "filters": [{"type": "eq", "key": "lang", "value": "es"},
           {"type": "and", "filters": [{"type": "eq", "key": "lang", "value": "en"},
             {"type": "gt", "key": "year", "value": 2020}]}]})",
       "three two"},
      {R"({"type": "eq", "key": "x') OR 1 --?", "value": "' OR 1 ?"})", ""}};
  const std::vector<float> sea = embedded("sea");
  for (const auto& [text, names] : cases) {
    const auto filter = MetadataFilter::parse(*parse_json(text, "filter"), "filters");
    ASSERT_TRUE(filter) << text << " " << filter.error().message();
    for (const bool by_words : {true, false}) {
      MemoryQuery query{.k = 5, .filter = *filter};
      if (by_words) query.words = "sea";
      if (!by_words) query.vector = sea;
      const auto found = store_->search(query);
      ASSERT_TRUE(found) << text << " " << found.error().message();
      std::vector<std::string> all;
      for (const FoundChunk& chunk : *found) all.push_back(chunk.document);
      std::ranges::sort(all);
      std::string joined;
      for (const std::string& name : all) joined += (joined.empty() ? "" : " ") + name;
      EXPECT_EQ(joined, names) << text;
    }
  }
  const MemoryQuery both{.words = "sea",
                         .k = 5,
                         .metadata = {{"lang", "en"}},
                         .filter = *MetadataFilter::parse(*parse_json(cases[1].first, ""), "")};
  EXPECT_TRUE(texts(both).empty());
}

TEST(MetadataFilters, ThatSayNothingClearAreRefusedWithTheirPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"[]", "'f' must be"},
      {"{}", "'f.type'"},
      {R"({"type": "like", "key": "a", "value": "x"})", "'f.type'"},
      {R"({"type": "eq", "value": "x"})", "'f.key'"},
      {R"({"type": "eq", "key": "a"})", "'f.value' is required"},
      {R"({"type": "eq", "key": "a", "value": [1]})", "'f.value'"},
      {R"({"type": "gt", "key": "a", "value": true})", "'f.value'"},
      {R"({"type": "in", "key": "a", "value": "x"})", "'f.value'"},
      {R"({"type": "in", "key": "a", "value": [{}]})", "'f.value[0]'"},
      {R"({"type": "eq", "key": "a", "value": 1, "boost": 2})", "'f.boost'"},
      {R"({"type": "and", "filters": []})", "'f.filters'"},
      {R"({"type": "and", "filters": [{"type": "eq", "key": "a", "value": 1}, 3]})",
       "'f.filters[1]'"}};
  for (const auto& [text, part] : cases) {
    const auto filter = MetadataFilter::parse(*parse_json(text, "filter"), "f");
    ASSERT_FALSE(filter) << text;
    EXPECT_NE(filter.error().message().find(part), std::string::npos) << filter.error().message();
  }
  Json many = {{"type", "in"}, {"key", "a"}, {"value", Json::array()}};
  for (size_t i = 0; i <= MetadataFilter::kMostComparisons; ++i) many["value"].push_back(i);
  EXPECT_FALSE(MetadataFilter::parse(many, "f"));
  Json deep = {{"type", "eq"}, {"key", "a"}, {"value", 1}};
  for (int i = 0; i < 90; ++i) {
    Json outer = {{"type", "and"}};
    outer["filters"].push_back(std::move(deep));
    deep = std::move(outer);
  }
  EXPECT_TRUE(MetadataFilter::parse(deep, "f"));
}

TEST_F(MemoryStoreTest, KnowsWhatItHasOfADocument) {
  const std::string text = "Words of the sea.\n\nAnd a second paragraph on the law of it, or so.";
  const auto known_of = [&](const std::string& changed, const Json& metadata) {
    const auto chunks = *chunks_of(changed, {.most_bytes = 60, .overlap_bytes = 0});
    return *store_->known({"a", changed, chunks, {}, metadata});
  };
  EXPECT_EQ(known_of(text, Json::object()).id, 0);
  ASSERT_TRUE(add("a", text, {{"year", 1}}));
  EXPECT_TRUE(known_of(text, {{"year", 1}}).is_same);
  EXPECT_FALSE(known_of(text, {{"year", 2}}).is_same);
  const auto changed = known_of("New " + text.substr(6), {{"year", 1}});
  EXPECT_FALSE(changed.is_same);
  ASSERT_EQ(changed.vectors.size(), 2U);
  EXPECT_TRUE(changed.vectors[0].empty());
  EXPECT_EQ(changed.vectors[1].size(), static_cast<size_t>(kDims));
  // The same parts in another order are another document.
  EXPECT_FALSE(known_of("And a second paragraph on the law of it, or so.\n\nWords of the sea.",
                        {{"year", 1}})
                   .is_same);
  EXPECT_TRUE(*store_->set_metadata("a", {{"year", 2}}));
  EXPECT_FALSE(*store_->set_metadata("b", {{"year", 2}}));
  EXPECT_FALSE(store_->set_metadata("a", 3));
  EXPECT_EQ((*store_->find("a"))->metadata, (Json{{"year", 2}}));
  EXPECT_EQ((*store_->search({.words = "law", .k = 1}))[0].metadata, (Json{{"year", 2}}));
  EXPECT_FALSE(*store_->find("b"));
}

TEST_F(MemoryStoreTest, ReplacesAndRemovesWholeDocuments) {
  const int64_t first = *add("a", "Old words of the sea.");
  const int64_t second =
      *add("a", "New words of bread.\n\nAnd a second paragraph on the law of it.");
  EXPECT_NE(first, second);
  EXPECT_TRUE(texts({.words = "old", .k = 5}).empty());
  for (const std::string& text : texts({.vector = embedded("sea"), .k = 5})) {
    EXPECT_EQ(text.find("Old"), std::string::npos);
  }
  auto stats = *store_->stats();
  EXPECT_EQ(stats.n_documents, 1);
  EXPECT_EQ(stats.n_chunks, 2);
  EXPECT_EQ(stats.n_vectors, 2);
  ASSERT_TRUE(add("b", "Another."));
  const auto list = *store_->list("", 10);
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].n_chunks, 2);
  EXPECT_EQ((*store_->list("a", 10)).at(0).name, "b");
  EXPECT_TRUE(*store_->remove("a", pool_));
  EXPECT_FALSE(*store_->remove("a", pool_));
  EXPECT_TRUE(texts({.words = "bread", .k = 5}).empty());
  stats = *store_->stats();
  EXPECT_EQ(stats.n_documents, 1);
  EXPECT_EQ(stats.n_vectors, 1);
}

TEST_F(MemoryStoreTest, IsWhatItWasAndRefusesAnotherEmbedder) {
  ASSERT_TRUE(add("a", "The stars are old.", {{"x", 1}}));
  open();
  EXPECT_EQ(texts({.words = "stars", .k = 5}).size(), 1U);
  EXPECT_EQ(texts({.vector = embedded("stars"), .k = 5}).size(), 1U);
  EXPECT_EQ(store_->list("", 1)->at(0).metadata, (Json{{"x", 1}}));
  EXPECT_EQ(MemoryStore::open(options_, pool_).error().code(), Code::unavailable);
  store_.reset();
  EXPECT_EQ(MemoryStore::kind_of(options_.folder)->embedder, "words in four corners");
  EXPECT_EQ(MemoryStore::kind_of(options_.folder)->n_dims, kDims);
  EXPECT_EQ(MemoryStore::kind_of(folder_).error().code(), Code::not_found);
  MemoryStoreOptions other = options_;
  other.embedder = "another";
  EXPECT_EQ(MemoryStore::open(other, pool_).error().code(), Code::invalid);
  other = options_;
  other.n_dims = 5;
  EXPECT_EQ(MemoryStore::open(other, pool_).error().code(), Code::invalid);
  open();
}

// By a vector of theirs, not by their names.
TEST_F(MemoryStoreTest, ModelsAreToldApartByWhatTheyGive) {
  store_.reset();
  fs::remove_all(options_.folder);
  options_.probe = {1, 2, 3, 4};
  open();
  ASSERT_TRUE(add("a", "The sea."));
  store_.reset();
  MemoryStoreOptions other = options_;
  other.embedder = "the same by another name";
  other.probe = {1.01F, 2, 3, 4};
  EXPECT_TRUE(MemoryStore::open(other, pool_));
  other.embedder = options_.embedder;
  other.probe = {4, 3, 2, 1};
  EXPECT_EQ(MemoryStore::open(other, pool_).error().code(), Code::invalid);
  other.probe = {1, 2, 3};
  EXPECT_EQ(MemoryStore::open(other, pool_).error().code(), Code::invalid);
  other.probe.clear();
  EXPECT_TRUE(MemoryStore::open(other, pool_));
  EXPECT_EQ(MemoryStore::kind_of(options_.folder)->probe, options_.probe);
  open();
}

// What a crash leaves between the vectors and the commit.
TEST_F(MemoryStoreTest, VectorsWithoutChunksAreRemovedAtOpen) {
  ASSERT_TRUE(add("a", "The sea."));
  store_.reset();
  {
    VectorIndexOptions index;
    index.folder = options_.folder + "/vectors";
    index.graph = {.metric = Metric::cosine, .n_dims = kDims, .codes = VectorCodes::int8};
    index.label = "memory store";
    auto opened = VectorIndex::open(index, pool_);
    ASSERT_TRUE(opened);
    // The number that the next chunk gets.
    ASSERT_TRUE((*opened)->add(std::vector<int64_t>{2}, embedded("law"), pool_).ok());
    Database database = *Database::open(options_.folder + "/store.db", false);
    ASSERT_TRUE(database.run("UPDATE about SET value = 'no' WHERE key = 'closed'").ok());
  }
  open();
  EXPECT_EQ(store_->stats()->n_vectors, 1);
  ASSERT_TRUE(add("b", "The law."));
  EXPECT_EQ(store_->stats()->n_vectors, 2);
}

TEST_F(MemoryStoreTest, ABackupIsAWholeStore) {
  ASSERT_TRUE(add("a", "The sea.\n\nThe bread that was baked on the shore in the morning hours."));
  ASSERT_TRUE(store_->backup(folder_ / "copy").ok());
  EXPECT_FALSE(store_->backup(folder_ / "copy").ok());
  ASSERT_TRUE(add("b", "The stars."));
  store_.reset();
  options_.folder = folder_ / "copy";
  open();
  EXPECT_EQ(store_->stats()->n_documents, 1);
  EXPECT_EQ(store_->stats()->n_vectors, 2);
  EXPECT_EQ(texts({.vector = embedded("bread"), .words = "bread", .k = 1})[0].substr(0, 9),
            "The bread");
}

TEST_F(MemoryStoreTest, BadDocumentsAreRefusedAndLoseNothing) {
  ASSERT_TRUE(add("a", "The sea."));
  const std::vector<TextChunk> chunks = {{0, 4, ""}};
  const std::vector<float> vector = {1, 0, 0, 0};
  const std::vector<float> nothing(4);
  EXPECT_FALSE(store_->add({"", "text", chunks, vector}, pool_));
  EXPECT_FALSE(store_->add({"a", "tex", chunks, vector}, pool_));
  EXPECT_FALSE(store_->add({"a", "text", chunks, std::span(vector).first(3)}, pool_));
  EXPECT_FALSE(store_->add({"a", "text", chunks, nothing}, pool_));
  EXPECT_FALSE(store_->add({"a", "text", chunks, vector, Json("no object")}, pool_));
  EXPECT_EQ(texts({.words = "sea", .k = 5}), std::vector<std::string>{"The sea."});
  EXPECT_EQ(texts({.vector = embedded("sea"), .k = 5}), std::vector<std::string>{"The sea."});
}

TEST_F(MemoryStoreTest, ADamagedTextIsNoticed) {
  ASSERT_TRUE(add("a", "The lighthouse by the sea."));
  store_.reset();
  const std::string path = options_.folder + "/store.db";
  std::string bytes = *read_text_file(path);
  for (size_t at = bytes.find("lighthouse"); at != bytes.npos; at = bytes.find("lighthouse", at)) {
    bytes[at] = 'f';
  }
  std::ofstream(path, std::ios::binary) << bytes;
  open();
  const auto found = store_->search({.vector = embedded("sea"), .k = 1});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), Code::corrupt);
  EXPECT_NE(found.error().message().find("of a is damaged"), std::string::npos);
}

TEST_F(MemoryStoreTest, OtherFilesAreRefused) {
  store_.reset();
  fs::remove(options_.folder + "/store.db");
  std::ofstream(options_.folder + "/store.db") << "SQLite format 3? no";
  EXPECT_EQ(MemoryStore::open(options_, pool_).error().code(), Code::corrupt);
  fs::remove(options_.folder + "/store.db");
  {
    Database other = *Database::open(options_.folder + "/store.db", false);
    ASSERT_TRUE(other.run("CREATE TABLE x(y); PRAGMA application_id = 7").ok());
  }
  EXPECT_EQ(MemoryStore::open(options_, pool_).error().code(), Code::corrupt);
  fs::remove(options_.folder + "/store.db");
  open();
  store_.reset();
  {
    Database changed = *Database::open(options_.folder + "/store.db", false);
    ASSERT_TRUE(changed.run("CREATE VIEW other AS SELECT 1").ok());
    EXPECT_EQ(MemoryStore::open(options_, pool_).error().code(), Code::corrupt);
    ASSERT_TRUE(changed.run("DROP VIEW other").ok());
  }
  {
    Database newer = *Database::open(options_.folder + "/store.db", false);
    ASSERT_TRUE(newer.run("PRAGMA user_version = 1000").ok());
  }
  EXPECT_EQ(MemoryStore::open(options_, pool_).error().code(), Code::unsupported);
}

TEST_F(MemoryStoreTest, KeepsToItsCodes) {
  EXPECT_EQ(store_->codes(), VectorCodes::int8);
  for (const VectorCodes codes :
       {VectorCodes::none, VectorCodes::f16, VectorCodes::int4, VectorCodes::product}) {
    make_anew(codes);
    ASSERT_TRUE(add("a", "the sea is wide"));
    ASSERT_TRUE(add("b", "bread is baked"));
    options_.codes.reset();
    open();
    EXPECT_EQ(store_->codes(), codes);
    const auto vector = embedded("bread");
    const auto found = *store_->search({.vector = vector, .k = 1});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].document, "b");
  }
  store_.reset();
  options_.codes = VectorCodes::int8;
  const auto refused = MemoryStore::open(options_, pool_);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("codes \"product\", not \"int8\""), std::string::npos);
  options_.folder += "-of-signs";
  options_.codes = VectorCodes::binary;
  EXPECT_EQ(MemoryStore::open(options_, pool_).error().code(), Code::unsupported);
}

}  // namespace
}  // namespace ruv::store_test

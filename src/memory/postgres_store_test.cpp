// A store in PostgreSQL answers as one in a folder does. RUV_TEST_POSTGRES_URL names the database,
// whose store is removed first; without it these tests are skipped.
#include "memory/postgres_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "memory/document_lines.h"
#include "memory/store.h"
#ifdef RUV_HAS_LIBPQ
#include "memory/postgres_filter.h"
#include "memory/postgres_wire.h"
#endif

namespace ruv::postgres_store_test {
namespace {

constexpr int64_t kDims = 4;

#ifndef RUV_HAS_LIBPQ
TEST(PostgresStoreTest, ABuildWithoutLibpqRefusesUrls) {
  const auto store = PostgresStore::open({"postgresql://host/db", {"a model", kDims, {}}});
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code(), Code::unsupported);
}
#else

TEST(PostgresWireTest, PasswordsAreNotShown) {
  const auto shown =
      PostgresStore::shown_url("postgresql://ann:tinsel@host:5433/db?password=garland");
  ASSERT_TRUE(shown);
  EXPECT_EQ(*shown, "postgresql://ann@host:5433/db");
  const auto wrong = PostgresStore::shown_url("postgresql://ann:tin%sel@host/db");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code(), Code::invalid);
  EXPECT_EQ(wrong.error().message().find("sel"), std::string::npos);
}

TEST(PostgresWireTest, FiltersHaveTheirKeysAndValuesAsParameters) {
  const Json filter =
      *parse_json(R"({"type": "or", "filters": [{"type": "ne", "key": "k'1", "value": true},)"
                  R"({"type": "in", "key": "n", "value": [1, "t'2"]}]})",
                  "filter");
  PostgresValues values;
  const std::string text = postgres_condition(*MetadataFilter::parse(filter, "filter"), values);
  EXPECT_EQ(text.find("k'1"), std::string::npos);
  EXPECT_EQ(text.find("t'2"), std::string::npos);
  EXPECT_NE(text.find("$5"), std::string::npos);
  EXPECT_EQ(text.find("$6"), std::string::npos);
  PostgresValues none;
  EXPECT_EQ(postgres_condition({}, none), "true");
}

class PostgresStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const url = std::getenv("RUV_TEST_POSTGRES_URL");
    if (url == nullptr) GTEST_SKIP() << "skipped: RUV_TEST_POSTGRES_URL names no database";
    options_ = {url, {"words in four corners", kDims, {}}};
    auto wire = PostgresWire::open(url);
    ASSERT_TRUE(wire) << wire.error().message();
    ASSERT_TRUE((*wire)->run("DROP SCHEMA IF EXISTS ruvllm_memory CASCADE").ok());
    auto opened = PostgresStore::open(options_);
    ASSERT_TRUE(opened) << opened.error().message();
    remote_ = std::move(*opened);
    folder_ = std::filesystem::temp_directory_path() / ("ruv_pg_" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    local_ = open_folder("local");
  }
  void TearDown() override {
    local_.reset();
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  std::unique_ptr<MemoryStore> open_folder(const std::string& name) {
    MemoryStoreOptions options;
    options.folder = folder_ / name;
    options.embedder = options_.kind.embedder;
    options.n_dims = kDims;
    options.codes = VectorCodes::none;
    auto opened = MemoryStore::open(options, pool_);
    EXPECT_TRUE(opened) << opened.error().message();
    return std::move(*opened);
  }
  // A direction for each text, no two the same.
  static std::vector<float> embedded(std::string_view text) {
    std::vector<float> vector = {0.1F, 0.1F, 0.1F, 0.001F * static_cast<float>(text.size())};
    const std::string_view topics[] = {"sea", "bread", "stars"};
    for (size_t i = 0; i < 3; ++i) vector[i] += text.find(topics[i]) != text.npos ? 1.0F : 0.0F;
    return vector;
  }
  Result<int64_t> add(DocumentStore& store, const std::string& name, const std::string& text,
                      const Json& metadata = Json::object()) {
    std::vector<TextChunk> chunks;
    std::vector<float> vectors;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      chunks.push_back({static_cast<int64_t>(at), static_cast<int64_t>(end), "Of " + name, 3});
      const auto vector = embedded(std::string_view(text).substr(at, end - at));
      vectors.insert(vectors.end(), vector.begin(), vector.end());
      at = end + 1;
    }
    return store.add({name, text, chunks, vectors, metadata}, pool_);
  }
  void add_books() {
    const std::vector<std::tuple<std::string, std::string, std::string> > books = {
        {"sea", "the sea is deep and the sea is wide\na ship on the sea", R"({"year": 1900})"},
        {"bread", "bread is made of flour\nrye", R"({"year": 1950.5, "tags": "food"})"},
        {"sky", "stars above the sea at night\nstars", R"({"year": 2000, "new": true})"},
        {"law", "law has nothing to say of this", R"({"year": "none", "new": false})"}};
    for (DocumentStore* store :
         {static_cast<DocumentStore*>(local_.get()), static_cast<DocumentStore*>(remote_.get())}) {
      for (const auto& [name, text, metadata] : books) {
        const auto added = add(*store, name, text, *parse_json(metadata, "metadata"));
        ASSERT_TRUE(added) << added.error().message();
      }
    }
  }
  // Both give the same chunks in the same order.
  void expect_same(const MemoryQuery& query, size_t n_wanted) {
    const auto here = local_->search(query), there = remote_->search(query);
    ASSERT_TRUE(here) << here.error().message();
    ASSERT_TRUE(there) << there.error().message();
    EXPECT_EQ(here->size(), n_wanted);
    ASSERT_EQ(here->size(), there->size());
    for (size_t i = 0; i < here->size(); ++i) {
      const FoundChunk &a = (*here)[i], &b = (*there)[i];
      EXPECT_EQ(a.document, b.document);
      EXPECT_EQ(std::tie(a.first, a.end, a.headings, a.text, a.page),
                std::tie(b.first, b.end, b.headings, b.text, b.page));
      EXPECT_EQ(std::tie(a.score, a.vector_rank, a.word_rank, a.metadata),
                std::tie(b.score, b.vector_rank, b.word_rank, b.metadata));
      EXPECT_NEAR(a.distance, b.distance, 1e-6);
    }
  }
  static std::vector<std::string> lines_of(const DocumentStore& store) {
    std::vector<std::string> lines;
    int64_t after = 0;
    while (true) {
      const auto document = store.next_document(after, true);
      EXPECT_TRUE(document) << document.error().message();
      if (!document || !*document) return lines;
      after = (*document)->id;
      lines.push_back(document_line(**document, kDims).dump());
    }
  }
  void copy(const DocumentStore& from, DocumentStore& to) {
    for (const std::string& line : lines_of(from)) {
      const KeptDocument kept = *read_document_line(*parse_json(line, "line"), kDims);
      const auto added = to.add({.name = kept.name,
                                 .text = {},
                                 .chunks = kept.chunks,
                                 .vectors = kept.vectors,
                                 .metadata = kept.metadata,
                                 .texts = kept.texts,
                                 .n_bytes = kept.n_bytes,
                                 .added_s = kept.added_s},
                                pool_);
      ASSERT_TRUE(added) << added.error().message();
    }
  }

  WorkerPool pool_{2};
  std::filesystem::path folder_;
  PostgresStoreOptions options_;
  std::unique_ptr<PostgresStore> remote_;
  std::unique_ptr<MemoryStore> local_;
};

TEST_F(PostgresStoreTest, FindsWhatAStoreInAFolderFinds) {
  add_books();
  expect_same({.words = "sea ship"}, 3);
  expect_same({.words = "deep"}, 1);
  expect_same({.words = "bread flour"}, 2);
  expect_same({.words = "  rye\tabsent "}, 1);
  const auto vector = embedded("bread and the sea");
  expect_same({.vector = vector}, 5);
  expect_same({.vector = vector, .k = 100}, 7);
  expect_same({.vector = vector, .words = "stars night", .k = 100}, 7);
  expect_same({.vector = vector, .vector_weight = 0.005, .words = "stars night", .k = 3}, 3);
  expect_same({.vector = vector, .k = 10, .metadata = {{"new", true}}}, 2);
  expect_same({.vector = vector, .k = 600}, 7);
}

TEST_F(PostgresStoreTest, FiltersTakeTheSameDocuments) {
  add_books();
  const std::pair<const char*, size_t> filters[] = {
      {R"({"type": "eq", "key": "year", "value": 1900})", 2},
      {R"({"type": "ne", "key": "year", "value": 1900.0})", 5},
      {R"({"type": "gt", "key": "year", "value": 1950.25})", 4},
      {R"({"type": "lte", "key": "year", "value": 1950.5})", 4},
      {R"({"type": "gte", "key": "year", "value": "n"})", 1},
      {R"({"type": "lt", "key": "tags", "value": "g"})", 2},
      {R"({"type": "eq", "key": "new", "value": false})", 1},
      {R"({"type": "ne", "key": "new", "value": false})", 6},
      {R"({"type": "in", "key": "year", "value": [2000, "none", true]})", 3},
      {R"({"type": "nin", "key": "year", "value": [2000, "none"]})", 4},
      {R"({"type": "eq", "key": "' OR true --", "value": "x"})", 0},
      {R"({"type": "or", "filters": [{"type": "eq", "key": "new", "value": true},
          {"type": "and", "filters": [{"type": "gt", "key": "year", "value": 1},
                                      {"type": "eq", "key": "tags", "value": "food"}]}]})",
       4}};
  const auto vector = embedded("the sea");
  for (const auto& [text, n_wanted] : filters) {
    SCOPED_TRACE(text);
    const auto filter = MetadataFilter::parse(*parse_json(text, "filter"), "filter");
    ASSERT_TRUE(filter) << filter.error().message();
    expect_same({.vector = vector, .k = 100, .filter = *filter}, n_wanted);
  }
}

TEST_F(PostgresStoreTest, DocumentsGoBothWaysAsTheyAre) {
  add_books();
  const auto back = open_folder("back");
  ASSERT_TRUE(remote_->remove("law", pool_).value());
  ASSERT_TRUE(local_->remove("law", pool_).value());
  EXPECT_FALSE(remote_->remove("law", pool_).value());
  copy(*local_, *remote_);  // in the place of those that are there
  EXPECT_EQ(lines_of(*remote_), lines_of(*local_));
  copy(*remote_, *back);
  EXPECT_EQ(lines_of(*back), lines_of(*local_));
  EXPECT_EQ(remote_->stats()->n_chunks, 6);
  EXPECT_EQ(remote_->stats()->n_documents, 3);
}

TEST_F(PostgresStoreTest, WhatIsKnownIsNotEmbeddedAgain) {
  add_books();
  const std::string text = "rye\nwheat";
  const TextChunk chunks[] = {{0, 3, "Of bread", 3}, {4, 9, "Of bread", 3}};
  const NewDocument document{"bread", text, chunks, {}};
  const auto known = remote_->known(document);
  ASSERT_TRUE(known) << known.error().message();
  EXPECT_FALSE(known->is_same);
  EXPECT_EQ(known->vectors[0], embedded("rye"));
  EXPECT_TRUE(known->vectors[1].empty());
  ASSERT_TRUE(add(*remote_, "bread", text));
  EXPECT_TRUE(remote_->known(document)->is_same);
  EXPECT_EQ(remote_->known({"absent", text, chunks, {}})->id, 0);
}

TEST_F(PostgresStoreTest, HostileDocumentsAreKeptOrRefused) {
  const std::string name = "'); DROP TABLE documents; -- \"$1\" \\ %s {}\n\xC3\xA4";
  Json metadata{{"it's \\ \"here\"", "'; --"}, {"n", 1e300}};
  metadata["long"] = std::string(900'000, 'x');
  const std::string text = "O'Hara said: \"$2\" \\n E'\\x00' {1,2} \xF0\x9F\x9A\xA2";
  ASSERT_TRUE(add(*remote_, name, text, metadata));
  const auto kept = remote_->next_document(0, true);
  ASSERT_TRUE(kept && *kept);
  EXPECT_EQ((*kept)->name, name);
  EXPECT_EQ((*kept)->metadata, metadata);
  EXPECT_EQ((*kept)->texts[0], text);
  const std::vector<std::string> before = lines_of(*remote_);
  EXPECT_EQ(add(*remote_, name, std::string("a\0b", 3)).error().code(), Code::invalid);
  EXPECT_EQ(add(*remote_, name, "\xFF\xFE").error().code(), Code::invalid);
  EXPECT_EQ(add(*remote_, std::string("a\0b", 3), "text").error().code(), Code::invalid);
  EXPECT_EQ(add(*remote_, std::string(2601, 'n'), "text").error().code(), Code::unsupported);
  const Json nul{{"k", std::string("a\0b", 3)}};
  EXPECT_EQ(add(*remote_, name, "text", nul).error().code(), Code::invalid);
  EXPECT_FALSE(remote_->find(std::string_view("a\0b", 3)).value());
  EXPECT_FALSE(remote_->remove(std::string_view("a\0b", 3), pool_).value());
  EXPECT_TRUE(remote_->search({.words = std::string_view("\0 ' & | ! <-> :* (", 18)}));
  EXPECT_EQ(lines_of(*remote_), before);
  EXPECT_EQ(remote_->search({.words = "text", .n_related = 1}).error().code(), Code::unsupported);
}

TEST_F(PostgresStoreTest, StoresOfOtherModelsAreRefused) {
  PostgresStoreOptions other = options_;
  other.kind.embedder = "another";
  EXPECT_EQ(PostgresStore::open(other).error().code(), Code::invalid);
  EXPECT_EQ(PostgresStore::kind_of(options_.url)->embedder, options_.kind.embedder);
  auto wire = PostgresWire::open(options_.url);
  ASSERT_TRUE(
      (*wire)->run("UPDATE ruvllm_memory.about SET value = '2' WHERE key = 'version'").ok());
  EXPECT_EQ(PostgresStore::open(options_).error().code(), Code::unsupported);
  ASSERT_TRUE((*wire)->run("DROP SCHEMA ruvllm_memory CASCADE").ok());
  EXPECT_EQ(PostgresStore::kind_of(options_.url).error().code(), Code::not_found);
}

TEST_F(PostgresStoreTest, DamagedTextsAreNoticed) {
  add_books();
  auto wire = PostgresWire::open(options_.url);
  ASSERT_TRUE(
      (*wire)->run("UPDATE ruvllm_memory.chunks SET text = 'rice' WHERE text = 'rye'").ok());
  EXPECT_EQ(remote_->search({.words = "rice"}).error().code(), Code::corrupt);
}

#endif

}  // namespace
}  // namespace ruv::postgres_store_test

// Documents that are written as lines and read back are the same, in another store too; a line that
// says anything else than a document is refused by the name of what is wrong.
#include "memory/document_lines.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/rng.h"
#include "memory/store.h"

namespace ruv::document_lines_test {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kDims = 8;

KeptDocument a_book() {
  KeptDocument book;
  book.name =
      "b\xC3\xBC"
      "ch \"er\".pdf";
  book.metadata = {{"year", 2020}, {"lang", "de"}};
  book.added_s = 1'600'000'000;
  book.n_bytes = 30;
  book.chunks = {{2, 6, "", 0}, {5, 13, "Sea > Ship", 12}};
  book.texts = {"w\xC3\xA4r", "rwhales\n"};
  book.vectors = {0.1F, -2, 3e-9F, 1.0F / 3, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8};
  return book;
}

TEST(DocumentLines, AreReadAsTheyWereWritten) {
  const KeptDocument book = a_book();
  const std::string text = document_line(book, kDims).dump();
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const KeptDocument read = *read_document_line(*parse_json(text, "line"), kDims);
  EXPECT_EQ(read.vectors, book.vectors);
  EXPECT_EQ(read.chunks[1].page, 12);
  EXPECT_EQ(document_line(read, kDims).dump(), text);
  KeptDocument bare = book;
  bare.vectors.clear();
  const Json line = document_line(bare, kDims);
  EXPECT_EQ(document_line(*read_document_line(line, 0), kDims), line);
  const LinesHead head{{"a model", kDims, {0.5F, 0.25F}}, true};
  const LinesHead again = *read_head_line(head_line(head));
  EXPECT_EQ(again.kind.embedder, "a model");
  EXPECT_EQ(again.kind.probe, head.kind.probe);
  EXPECT_TRUE(again.has_vectors);
}

// Each member in turn is absent, of another kind, or beside one that nobody knows.
TEST(DocumentLines, WhatIsWrongIsNamed) {
  const Json line = document_line(a_book(), kDims);
  const auto message = [](const Json& json) {
    const auto read = read_document_line(json, kDims);
    return read ? "taken" : read.error().message();
  };
  EXPECT_EQ(message(line), "taken");
  EXPECT_EQ(message(Json::array()), "not a JSON object");
  for (const char* name : {"name", "metadata", "added", "n_bytes", "chunks"}) {
    Json wrong = line;
    wrong[name] = nullptr;
    EXPECT_NE(message(wrong).find("'" + std::string(name) + "' must be"), std::string::npos);
    wrong.erase(name);
    EXPECT_EQ(message(wrong), "'" + std::string(name) + "' is missing");
  }
  for (const char* name : {"first", "end", "page", "headings", "text", "vector"}) {
    Json wrong = line;
    wrong["chunks"][1][name] = true;
    EXPECT_NE(message(wrong).find("'chunks[1]." + std::string(name) + "' must be"),
              std::string::npos);
  }
  Json more = line;
  more["chunks"][0]["pages"] = 1;
  EXPECT_EQ(message(more), "unknown member 'chunks[0].pages'");
  more = line;
  more["id"] = 1;
  EXPECT_EQ(message(more), "unknown member 'id'");
  Json shorter = line;
  shorter["chunks"][0]["vector"] = Json::array();
  EXPECT_EQ(message(shorter), "'chunks[0].vector' has 0 numbers, not 8");
  shorter["chunks"][0]["vector"] = Json::array();
  for (int i = 0; i < 8; ++i) shorter["chunks"][0]["vector"].push_back(1e300);
  EXPECT_NE(message(shorter).find("numbers of float32"), std::string::npos);
  EXPECT_EQ(read_document_line(line, 0).error().message(), "unknown member 'chunks[0].vector'");
  EXPECT_NE(read_head_line(line).error().message().find("memory export"), std::string::npos);
  Json newer = head_line({{"m", 1, {}}, false});
  newer["ruvllm_memory"] = 2;
  EXPECT_EQ(read_head_line(newer).error().code(), Code::unsupported);
}

class LinesStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("ruv_lines_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::unique_ptr<MemoryStore> open(const std::string& name) {
    MemoryStoreOptions options;
    options.folder = folder_ / name;
    options.embedder = "eight numbers";
    options.n_dims = kDims;
    auto store = MemoryStore::open(options, pool_);
    EXPECT_TRUE(store);
    return store ? std::move(*store) : nullptr;
  }
  static std::vector<std::string> lines_of(const MemoryStore& store, bool with_vectors = true) {
    std::vector<std::string> lines;
    int64_t after = 0;
    while (const auto document = *store.next_document(after, with_vectors)) {
      lines.push_back(document_line(*document, kDims).dump());
      after = document->id;
    }
    return lines;
  }
  Status take(MemoryStore& store, std::string_view line) {
    const KeptDocument kept = TRY(read_document_line(*parse_json(line, "line"), kDims));
    TRY(store.add({.name = kept.name,
                   .text = {},
                   .chunks = kept.chunks,
                   .vectors = kept.vectors,
                   .metadata = kept.metadata,
                   .texts = kept.texts,
                   .n_bytes = kept.n_bytes,
                   .added_s = kept.added_s},
                  pool_));
    return {};
  }

  WorkerPool pool_{1};
  fs::path folder_;
};

// Documents of drawn words, some of which were replaced or removed.
TEST_F(LinesStoreTest, AnotherStoreHasTheSameDocumentsAndFindsTheSame) {
  const auto from = open("from");
  Rng rng(7);
  const auto drawn = [&](size_t n) {
    std::vector<float> numbers(n);
    for (float& number : numbers) number = static_cast<float>(rng.uniform()) - 0.5F;
    return numbers;
  };
  const std::string_view words[] = {"sea ", "ship ", "whale ", "cook ", "bread ", "rye ", "star "};
  for (int64_t i = 0; i < 60; ++i) {
    std::string text;
    for (uint64_t n = rng.below(200); n > 0; --n) text += words[rng.below(std::size(words))];
    const auto chunks = *chunks_of(text, {.most_bytes = 60, .overlap_bytes = 10});
    const std::string name = "document " + std::to_string(rng.below(40));
    ASSERT_TRUE(from->add({name, text, chunks, drawn(chunks.size() * kDims), {{"i", i}}}, pool_));
    if (i % 9 != 0) continue;
    ASSERT_TRUE(*from->remove(name, pool_));
  }
  const auto to = open("to");
  const std::vector<std::string> lines = lines_of(*from);
  EXPECT_GT(lines.size(), 20U);
  for (const std::string& line : lines) ASSERT_TRUE(take(*to, line).ok());
  EXPECT_TRUE(lines_of(*to, false) == lines_of(*from, false));
  // A vector is given length 1 again, which may change the last bit of its numbers.
  for (int64_t a = 0, b = 0;;) {
    const auto before = *from->next_document(a, true), after = *to->next_document(b, true);
    ASSERT_EQ(before.has_value(), after.has_value());
    if (!before) break;
    ASSERT_EQ(before->vectors.size(), after->vectors.size());
    for (size_t i = 0; i < before->vectors.size(); ++i) {
      ASSERT_NEAR(before->vectors[i], after->vectors[i], 1e-6);
    }
    a = before->id;
    b = after->id;
  }
  for (int turn = 0; turn < 50; ++turn) {
    const std::vector<float> vector = drawn(kDims);
    const MemoryQuery query{.vector = vector, .words = words[rng.below(7)], .k = 10};
    const auto a = *from->search(query), b = *to->search(query);
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].document, b[i].document);
      EXPECT_EQ(a[i].first, b[i].first);
      EXPECT_EQ(a[i].text, b[i].text);
      EXPECT_EQ(a[i].score, b[i].score);
    }
  }
}

TEST_F(LinesStoreTest, ALineThatIsRefusedLosesNothing) {
  const auto store = open("to");
  ASSERT_TRUE(take(*store, document_line(a_book(), kDims).dump()).ok());
  const std::vector<std::string> before = lines_of(*store);
  EXPECT_EQ(store->find(a_book().name).value()->added_s, 1'600'000'000);
  EXPECT_EQ(store->find(a_book().name).value()->n_bytes, 30);
  KeptDocument wrong = a_book();
  wrong.texts[1] = "whale";
  EXPECT_NE(take(*store, document_line(wrong, kDims).dump()).message().find("chunk 2: a text of 5"),
            std::string::npos);
  wrong = a_book();
  wrong.n_bytes = 12;
  EXPECT_FALSE(take(*store, document_line(wrong, kDims).dump()).ok());
  wrong = a_book();
  wrong.vectors.assign(16, 0);
  EXPECT_FALSE(take(*store, document_line(wrong, kDims).dump()).ok());
  EXPECT_TRUE(lines_of(*store) == before);
  // A document that has no chunks.
  ASSERT_TRUE(store->add({"blank", "  \n", {}, {}}, pool_));
  EXPECT_TRUE(take(*store, lines_of(*store).back()).ok());
  EXPECT_EQ(store->find("blank").value()->n_bytes, 3);
}

}  // namespace
}  // namespace ruv::document_lines_test

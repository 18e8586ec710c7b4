// What the writer writes, the reader reads back; and no file appears before commit.
#include "format/gguf_writer.h"

#include <gtest/gtest.h>

#include "format/gguf.h"
#include "format/test_folder.h"

namespace ruv {
namespace {

Result<GgufContents> read_back(const std::string& path, const MappedFile& file) {
  return parse_gguf(file.bytes(), path);
}

MetaValue array_of(MetaArray array) { return std::make_shared<const MetaArray>(std::move(array)); }

const MetaArray& array_in(const GgufContents& contents, const std::string& key) {
  return *std::get<std::shared_ptr<const MetaArray>>(contents.metadata.at(key));
}

TEST(GgufWriter, MetadataOfEveryKindComesBack) {
  const TestFolder folder;
  const std::string path = folder.path() + "/meta.gguf";
  auto writer = GgufWriter::create(path);
  ASSERT_TRUE(writer.has_value()) << writer.error().message();
  writer->add_u32("u32", 4000000000U);
  writer->add_f32("f32", 1.5F);
  writer->add_bool("bool", true);
  writer->add_text("text", std::string_view("a\0b", 3));
  const std::vector<std::string> words{"", "ü", "x y"};
  writer->add_texts("texts", words);
  writer->add_i32s("i32s", std::vector<int32_t>{-1, 2});
  writer->add_f32s("f32s", std::vector<float>{0.25F});
  writer->add("value small", MetaValue(int64_t{7}));
  writer->add("value negative", MetaValue(int64_t{-7}));
  writer->add("value large", MetaValue(int64_t{1} << 40));
  writer->add("value most negative", MetaValue(std::numeric_limits<int64_t>::min()));
  writer->add("value fraction", MetaValue(0.1));
  writer->add("value text", MetaValue(std::string("t")));
  writer->add("value false", MetaValue(false));
  writer->add("array wide", array_of({{}, {1, int64_t{1} << 40}, {}, {}}));
  writer->add("array bools", array_of({{true, false}, {}, {}, {}}));
  writer->add("array fine", array_of({{}, {}, {0.1, 2.0}, {}}));
  writer->add("array empty", array_of({}));
  ASSERT_TRUE(writer->begin_tensors().ok());
  ASSERT_TRUE(writer->commit().ok());

  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file.has_value());
  const auto contents = read_back(path, *file);
  ASSERT_TRUE(contents.has_value()) << contents.error().message();
  const MetaMap& meta = contents->metadata;
  EXPECT_EQ(meta.size(), 18U);
  EXPECT_EQ(meta.at("u32"), MetaValue(int64_t{4000000000}));
  EXPECT_EQ(meta.at("f32"), MetaValue(1.5));
  EXPECT_EQ(meta.at("bool"), MetaValue(true));
  EXPECT_EQ(meta.at("text"), MetaValue(std::string("a\0b", 3)));
  EXPECT_EQ(array_in(*contents, "texts").strings, words);
  EXPECT_EQ(array_in(*contents, "i32s").integers, (std::vector<int64_t>{-1, 2}));
  EXPECT_EQ(array_in(*contents, "f32s").numbers, std::vector<double>{0.25});
  EXPECT_EQ(meta.at("value small"), MetaValue(int64_t{7}));
  EXPECT_EQ(meta.at("value negative"), MetaValue(int64_t{-7}));
  EXPECT_EQ(meta.at("value large"), MetaValue(int64_t{1} << 40));
  EXPECT_EQ(meta.at("value most negative"), MetaValue(std::numeric_limits<int64_t>::min()));
  EXPECT_EQ(meta.at("value fraction"), MetaValue(0.1));
  EXPECT_EQ(meta.at("value text"), MetaValue(std::string("t")));
  EXPECT_EQ(meta.at("value false"), MetaValue(false));
  EXPECT_EQ(array_in(*contents, "array wide").integers,
            (std::vector<int64_t>{1, int64_t{1} << 40}));
  EXPECT_EQ(array_in(*contents, "array bools").bools, (std::vector<bool>{true, false}));
  EXPECT_EQ(array_in(*contents, "array fine").numbers, (std::vector<double>{0.1, 2.0}));
  EXPECT_EQ(array_in(*contents, "array empty").size(), 0U);
}

// The type id that follows a key in the bytes of a file.
uint32_t type_after(std::string_view bytes, std::string_view key) {
  const size_t at = bytes.find(key);
  uint32_t type = 99;
  if (at != bytes.npos) std::memcpy(&type, bytes.data() + at + key.size(), sizeof(type));
  return type;
}

TEST(GgufWriter, ValuesGetTheTypesOtherReadersExpect) {
  const TestFolder folder;
  const std::string path = folder.path() + "/types.gguf";
  auto writer = GgufWriter::create(path);
  ASSERT_TRUE(writer.has_value());
  writer->add("key.count", MetaValue(int64_t{32}));
  writer->add("key.below", MetaValue(int64_t{-1}));
  writer->add("key.wide", MetaValue(int64_t{1} << 33));
  writer->add("key.exact", MetaValue(static_cast<double>(1e-6F)));
  writer->add("key.inexact", MetaValue(1e-6));
  ASSERT_TRUE(writer->begin_tensors().ok());
  ASSERT_TRUE(writer->commit().ok());
  const auto bytes = read_text_file(path);
  ASSERT_TRUE(bytes.has_value());
  EXPECT_EQ(type_after(*bytes, "key.count"), 4U);
  EXPECT_EQ(type_after(*bytes, "key.below"), 5U);
  EXPECT_EQ(type_after(*bytes, "key.wide"), 10U);
  EXPECT_EQ(type_after(*bytes, "key.exact"), 6U);
  EXPECT_EQ(type_after(*bytes, "key.inexact"), 12U);
}

TEST(GgufWriter, TensorsStandAlignedAndWhole) {
  const TestFolder folder;
  const std::string path = folder.path() + "/tensors.gguf";
  auto writer = GgufWriter::create(path);
  ASSERT_TRUE(writer.has_value());
  const std::vector<int64_t> one{3};
  const std::vector<int64_t> two{2, 32};
  writer->declare_tensor("first", DType::f32, one);
  writer->declare_tensor("second", DType::q8_0, two);
  writer->declare_tensor("third", DType::q8_kv, two);  // rows of 8 bytes and 32
  ASSERT_TRUE(writer->begin_tensors().ok());
  const std::vector<float> numbers{1.0F, 2.0F, 3.0F};
  const Bytes raw = std::as_bytes(std::span(numbers));
  ASSERT_TRUE(writer->write(raw.subspan(0, 5)).ok());
  ASSERT_TRUE(writer->write(raw.subspan(5)).ok());
  const std::string blocks(68, 'q');
  ASSERT_TRUE(writer->write(as_bytes(blocks)).ok());
  const std::string rows(80, 'r');
  ASSERT_TRUE(writer->write(as_bytes(rows)).ok());
  EXPECT_FALSE(file_exists(path));
  ASSERT_TRUE(writer->commit().ok());

  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file.has_value());
  const auto contents = read_back(path, *file);
  ASSERT_TRUE(contents.has_value()) << contents.error().message();
  ASSERT_EQ(contents->tensors.size(), 3U);
  EXPECT_EQ(as_text(contents->tensors[2].bytes), rows);
  EXPECT_EQ(contents->tensors[0].shape, one);
  EXPECT_EQ(contents->tensors[1].shape, two);
  EXPECT_EQ(contents->tensors[1].dtype, DType::q8_0);
  EXPECT_EQ(std::memcmp(contents->tensors[0].bytes.data(), numbers.data(), 12), 0);
  EXPECT_EQ(as_text(contents->tensors[1].bytes), blocks);
  for (const TensorInfo& tensor : contents->tensors) {
    EXPECT_EQ((tensor.bytes.data() - file->bytes().data()) % 32, 0) << tensor.name;
  }
  EXPECT_EQ(file->bytes().size() % 32, 0U);
}

TEST(GgufWriter, LeavesNothingWithoutCommit) {
  const TestFolder folder;
  const std::string path = folder.path() + "/half.gguf";
  {
    auto writer = GgufWriter::create(path);
    ASSERT_TRUE(writer.has_value());
    writer->add_bool("a", true);
    ASSERT_TRUE(writer->begin_tensors().ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(GgufWriter, SaysWhereItCannotWrite) {
  const auto writer = GgufWriter::create("/nowhere/at/all.gguf");
  ASSERT_FALSE(writer.has_value());
  EXPECT_NE(writer.error().message().find("/nowhere/at/all.gguf"), std::string::npos);
}

}  // namespace
}  // namespace ruv

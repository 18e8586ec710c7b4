// The GGUF parser on files made here: what it reads, and that every lie a file can tell is refused
// with the file's name, without a crash and without large allocations.
#include "format/gguf.h"

#include <gtest/gtest.h>

#include <array>

#include "fault/allocations.h"
#include "fault/damage.h"
#include "format/gguf_builder.h"

namespace ruv::gguf_test {
namespace {

constexpr uint32_t kF32 = 0;
constexpr uint32_t kQ4_0 = 2;

Result<GgufContents> parse(std::string_view bytes) { return parse_gguf(as_bytes(bytes), "x.gguf"); }

std::string error_of(const GgufBuilder& file) {
  const auto result = parse(file.bytes());
  return result ? "no error" : result.error().message();
}

#define EXPECT_ERROR(file, part) \
  EXPECT_NE(error_of(file).find(part), std::string::npos) << error_of(file)

// Every metadata type and three tensors of 24, 64 and 36 bytes.
GgufBuilder full_file() {
  GgufBuilder file(3, 3, 17);
  file.text_entry("general.architecture", "llama");
  file.key("a.u8", 0).raw(uint8_t{200});
  file.key("a.i8", 1).raw(int8_t{-2});
  file.key("a.u16", 2).raw(uint16_t{60000});
  file.key("a.i16", 3).raw(int16_t{-300});
  file.u32_entry("a.u32", 4000000000);
  file.key("a.i32", 5).raw(int32_t{-70000});
  file.key("a.f32", 6).raw(0.5F);
  file.key("a.bool", 7).raw(uint8_t{1});
  file.key("a.u64", 10).raw(uint64_t{1} << 40);
  file.key("a.i64", 11).raw(int64_t{-5});
  file.key("a.f64", 12).raw(0.25);
  file.array_entry<uint16_t>("a.numbers", 2, {1, 2, 3});
  file.array_entry<float>("a.floats", 6, {1.5F, -1});
  file.array_entry<uint8_t>("a.bools", 7, {1, 0});
  file.strings_entry("a.strings", {"x", "", "yz"});
  file.array_entry<uint32_t>("a.empty", 4, {});
  file.tensor("m", {3, 2}, kF32, 0);
  file.tensor("v", {16}, kF32, 32);
  file.tensor("q", {32, 2}, kQ4_0, 96);
  return file.data(32, 132);
}

TEST(Gguf, ReadsEveryMetadataType) {
  const auto file = parse(full_file().bytes());
  ASSERT_TRUE(file) << file.error().message();
  const MetaMap& meta = file->metadata;
  EXPECT_EQ(file->version, 3U);
  EXPECT_EQ(file->alignment, 32U);
  EXPECT_EQ(meta.size(), 17U);
  EXPECT_EQ(std::get<std::string>(meta.at("general.architecture")), "llama");
  EXPECT_EQ(std::get<int64_t>(meta.at("a.u8")), 200);
  EXPECT_EQ(std::get<int64_t>(meta.at("a.i8")), -2);
  EXPECT_EQ(std::get<int64_t>(meta.at("a.u16")), 60000);
  EXPECT_EQ(std::get<int64_t>(meta.at("a.i16")), -300);
  EXPECT_EQ(std::get<int64_t>(meta.at("a.u32")), 4000000000);
  EXPECT_EQ(std::get<int64_t>(meta.at("a.i32")), -70000);
  EXPECT_EQ(std::get<double>(meta.at("a.f32")), 0.5);
  EXPECT_TRUE(std::get<bool>(meta.at("a.bool")));
  EXPECT_EQ(std::get<int64_t>(meta.at("a.u64")), int64_t{1} << 40);
  EXPECT_EQ(std::get<int64_t>(meta.at("a.i64")), -5);
  EXPECT_EQ(std::get<double>(meta.at("a.f64")), 0.25);
  const auto array = [&](const char* key) {
    return std::get<std::shared_ptr<const MetaArray>>(meta.at(key));
  };
  EXPECT_EQ(array("a.numbers")->integers, (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(array("a.floats")->numbers, (std::vector<double>{1.5, -1}));
  EXPECT_EQ(array("a.bools")->bools, (std::vector<bool>{true, false}));
  EXPECT_EQ(array("a.strings")->strings, (std::vector<std::string>{"x", "", "yz"}));
  EXPECT_EQ(array("a.empty")->size(), 0U);
}

TEST(Gguf, TensorsHaveRowsFirstShapesAndTheirBytes) {
  const std::string bytes = full_file().bytes();
  const auto file = parse(bytes);
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_EQ(file->tensors.size(), 3U);
  const TensorInfo& m = file->tensors[0];
  EXPECT_EQ(m.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(m.n_elements(), 6);
  EXPECT_EQ(m.bytes.size(), 24U);
  EXPECT_TRUE(m.steps.empty());
  const TensorInfo& q = file->tensors[2];
  EXPECT_EQ(q.dtype, DType::q4_0);
  EXPECT_EQ(q.bytes.size(), 36U);
  EXPECT_EQ(static_cast<int>(q.bytes[0]), 96);
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  EXPECT_EQ(q.bytes.data() + q.bytes.size(), begin + bytes.size());
}

TEST(Gguf, ReadsVersion2AndOtherAlignments) {
  GgufBuilder file(2, 2, 1);
  file.u32_entry("general.alignment", 8);
  file.tensor("a", {2}, kF32, 0).tensor("b", {1}, kF32, 8).data(8, 12);
  const auto parsed = parse(file.bytes());
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(parsed->alignment, 8U);
  EXPECT_EQ(static_cast<int>(parsed->tensors[1].bytes[0]), 8);
}

TEST(Gguf, FileWithoutTensorsMayEndAfterItsMetadata) {
  GgufBuilder file(3, 0, 1);
  file.text_entry("general.architecture", "llama");
  EXPECT_EQ(error_of(file), "no error");
}

TEST(Gguf, RefusesOtherVersionsByName) {
  const auto v1 = parse(GgufBuilder(1, 0, 0).bytes());
  ASSERT_FALSE(v1);
  EXPECT_EQ(v1.error().code(), Code::unsupported);
  EXPECT_EQ(v1.error().message().rfind("x.gguf: offset 4: version: GGUF version 1", 0), 0U);
  EXPECT_EQ(parse(GgufBuilder(4, 0, 0).bytes()).error().code(), Code::unsupported);
  const auto big = parse(GgufBuilder(0x03000000, 0, 0).bytes());
  EXPECT_NE(big.error().message().find("big-endian"), std::string::npos);
  EXPECT_ERROR(GgufBuilder(0, 0, 0), "GGUF version 0");
  EXPECT_NE(parse("GGML and more").error().message().find("not a GGUF file"), std::string::npos);
}

TEST(Gguf, RefusesBrokenMetadata) {
  EXPECT_ERROR(GgufBuilder(3, 0, 1).key("k", 13).raw(uint64_t{0}), "unknown value type 13");
  EXPECT_ERROR(GgufBuilder(3, 0, 1).key("k", 7).raw(uint64_t{2}), "truth value 2");
  EXPECT_ERROR(GgufBuilder(3, 0, 1).key("k", 10).raw(uint64_t{1} << 63), "above 2^63 - 1");
  EXPECT_ERROR(GgufBuilder(3, 0, 1).array_entry<uint64_t>("k", 9, {4, 0}), "arrays of arrays");
  EXPECT_ERROR(GgufBuilder(3, 0, 2).u32_entry("k", 1).u32_entry("k", 1), "offset 41");
  EXPECT_ERROR(GgufBuilder(3, 0, 2).u32_entry("k", 1).u32_entry("k", 1), "appears twice");
  for (const uint32_t alignment : {0U, 4U, 12U, 1U << 21, 0xFFFFFFF8U}) {
    EXPECT_ERROR(GgufBuilder(3, 0, 1).u32_entry("general.alignment", alignment),
                 "general.alignment");
  }
  EXPECT_ERROR(GgufBuilder(3, 0, 1).text_entry("general.alignment", "32"), "general.alignment");
}

TEST(Gguf, RefusesBrokenTensors) {
  const auto one = [](const std::vector<uint64_t>& dims, uint32_t type, uint64_t offset) {
    return GgufBuilder(3, 1, 0).tensor("t", dims, type, offset).data(32, 64);
  };
  EXPECT_EQ(error_of(one({16}, kF32, 0)), "no error");
  EXPECT_ERROR(one({}, kF32, 0), "0 dimensions");
  EXPECT_ERROR(one({1, 1, 1, 1, 1}, kF32, 0), "5 dimensions");
  EXPECT_ERROR(one({4, 0}, kF32, 0), "dimension 1 of 0");
  EXPECT_ERROR(one({uint64_t{1} << 32, uint64_t{1} << 32}, kF32, 0), "too large");
  EXPECT_ERROR(one({(uint64_t{1} << 62) + 4}, kF32, 0), "do not fit in the file");
  EXPECT_ERROR(one({17}, kF32, 0), "offset 0 + 68 bytes lies past the end (file has ");
  EXPECT_ERROR(one({16}, kF32, 32), "offset 32 + 64 bytes lies past the end");
  EXPECT_ERROR(one({1}, kF32, 64), "lies past the end");
  EXPECT_ERROR(one({1}, kF32, uint64_t{0} - 32), "lies past the end");
  EXPECT_ERROR(one({1}, kF32, 4), "not a multiple of the alignment 32");
  EXPECT_ERROR(one({16}, kQ4_0, 0), "rows of 16 numbers are not whole q4_0 blocks of 32");
  for (const uint32_t type : {4U, 5U, 31U, 1000U, 0xFFFFFFFFU}) {
    const auto file = parse(one({1}, type, 0).bytes());
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_TRUE(file->tensors.empty());
    ASSERT_EQ(file->unread.count("t"), 1U);
    EXPECT_NE(file->unread.at("t").message().find(fmt::format("tensor type {}", type)),
              std::string::npos);
  }
}

// Rows of IQ1_BN are a scale, f16, and 13 bytes for 64 numbers.
TEST(Gguf, RowsWithAHeaderLieOneAfterTheOther) {
  const auto rows = [](uint64_t n, uint64_t n_bytes) {
    return GgufBuilder(3, 1, 0).tensor("t", {64, n}, 134, 0).data(32, n_bytes);
  };
  const std::string bytes = rows(3, 45).bytes();
  const auto file = parse(bytes);
  ASSERT_TRUE(file) << file.error().message();
  const TensorInfo& tensor = file->tensors[0];
  EXPECT_EQ(tensor.bytes.size(), 45U);
  EXPECT_EQ(tensor.row_offset(2), 30);
  for (int64_t row = 0; row < 3; ++row) {
    std::vector<float> numbers(64);
    std::vector<float> expected(64);
    tensor.decode_row(row, numbers.data());
    format_of(DType::iq1_bn).decode(tensor.bytes.data() + 15 * row, expected.data(), 64);
    EXPECT_EQ(numbers, expected) << row;
  }
  EXPECT_ERROR(rows(3, 44), "lies past the end");
  EXPECT_ERROR(rows(uint64_t{1} << 56, 45), "do not fit in the file");
}

TEST(Gguf, InterleavedRowsAreRefusedByTheNameOfTheirType) {
  const auto file = parse(GgufBuilder(3, 1, 0).tensor("t", {256, 4}, 339, 0).data(32, 64).bytes());
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_EQ(file->unread.count("t"), 1U);
  const std::string message = file->unread.at("t").message();
  EXPECT_NE(message.find("type 339 (iq4_k_r4)"), std::string::npos) << message;
  EXPECT_NE(message.find("type iq4_k interleaved"), std::string::npos) << message;
}

TEST(Gguf, RefusesOverlapAndQuotesNamesSafely) {
  GgufBuilder overlap(3, 2, 0);
  overlap.tensor("a", {9}, kF32, 0).tensor("b\n\xFF", {1}, kF32, 32).data(32, 64);
  EXPECT_ERROR(overlap, "tensor 'b?\xEF\xBF\xBD' overlaps tensor 'a'");
  GgufBuilder same(3, 2, 0);
  same.tensor("a", {1}, kF32, 0).tensor("b", {1}, kF32, 0).data(32, 64);
  EXPECT_ERROR(same, "overlaps");
}

// What must hold of any bytes: no more memory than a few times the file, an error that begins with
// the file's name, or tensors that lie inside the file.
void expect_safe(const std::string& bytes, const std::string& what) {
  const std::vector<char> exact(bytes.begin(), bytes.end());  // no slack behind the last byte
  const int64_t before = allocated_bytes();
  const auto file = parse({exact.data(), exact.size()});
  EXPECT_LT(allocated_bytes() - before, 64 * std::ssize(bytes) + 4096) << what;
  if (!file) {
    EXPECT_EQ(file.error().message().rfind("x.gguf: ", 0), 0U) << file.error().message();
    return;
  }
  const auto* begin = reinterpret_cast<const std::byte*>(exact.data());
  for (const TensorInfo& tensor : file->tensors) {
    EXPECT_GE(tensor.bytes.data(), begin) << what;
    EXPECT_LE(tensor.bytes.data() + tensor.bytes.size(), begin + exact.size()) << what;
    EXPECT_EQ(static_cast<int64_t>(tensor.bytes.size()),
              tensor.n_rows() * format_of(tensor.dtype).bytes_of(tensor.shape.back()))
        << what;
  }
}

TEST(GgufHostile, CutAnywhere) {
  const std::string bytes = full_file().bytes();
  for_each_cut(bytes, [](const std::string& cut) {
    expect_safe(cut, "");
    EXPECT_FALSE(parse(cut));
  });
}

TEST(GgufHostile, EveryNumberReplaced) {
  const GgufBuilder file = full_file();
  const uint64_t size = file.bytes().size();
  const std::vector<uint64_t> hostile = {0,
                                         1,
                                         2,
                                         3,
                                         4,
                                         7,
                                         9,
                                         size,
                                         size - 1,
                                         size + 1,
                                         1U << 31,
                                         (1U << 31) - 1,
                                         0xFFFFFFFF,
                                         uint64_t{1} << 32,
                                         uint64_t{1} << 60,
                                         uint64_t{1} << 61,
                                         uint64_t{1} << 62,
                                         (uint64_t{1} << 62) + 1,
                                         uint64_t{1} << 63,
                                         (uint64_t{1} << 63) - 1,
                                         ~uint64_t{0},
                                         ~uint64_t{0} - 1,
                                         ~uint64_t{0} - 31,
                                         ~uint64_t{0} / 4,
                                         ~uint64_t{0} / 18,
                                         0x5555555555555556};
  for (const GgufBuilder::Field& field : file.fields()) {
    for (const uint64_t value : hostile) {
      std::string bytes = file.bytes();
      std::memcpy(bytes.data() + field.offset, &value, field.n_bytes);
      expect_safe(bytes, fmt::format("{} = {}", field.name, value));
      if (field.n_bytes == 8 && value > size) {
        EXPECT_FALSE(parse(bytes)) << field.name << " = " << value;
      }
    }
  }
}

TEST(GgufHostile, EveryByteReplaced) {
  const auto values = [](int old) { return std::array{0, 1, 8, 9, 0x7F, 0x80, 0xFF, ~old & 0xFF}; };
  for_each_changed_byte(full_file().bytes(), values,
                        [](const std::string& bytes) { expect_safe(bytes, ""); });
}

TEST(GgufHostile, ManyArrayElementsAreRefusedBeforeAllocating) {
  std::string bytes =
      GgufBuilder(3, 0, 1).key("k", 9).raw(uint32_t{0}).raw((uint64_t{1} << 24) + 1).bytes();
  bytes.resize(bytes.size() + (size_t{1} << 24) + 1);
  const int64_t before = allocated_bytes();
  const auto file = parse(bytes);
  ASSERT_FALSE(file);
  EXPECT_LT(allocated_bytes() - before, 4096);
  EXPECT_NE(file.error().message().find("array elements"), std::string::npos);
}

}  // namespace
}  // namespace ruv::gguf_test

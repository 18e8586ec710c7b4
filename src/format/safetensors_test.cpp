// The safetensors parser on bytes made here: what it reads, and that every broken header is refused
// with the file's name, without a crash and without large allocations.
#include "format/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/file.h"
#include "fault/allocations.h"
#include "fault/damage.h"
#include "format/test_folder.h"

namespace ruv::safetensors_test {
namespace {

std::string file_of(std::string_view header, size_t n_data, uint64_t length) {
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof(length));
  bytes += header;
  for (size_t i = 0; i < n_data; ++i) bytes += static_cast<char>(i);
  return bytes;
}
std::string file_of(std::string_view header, size_t n_data) {
  return file_of(header, n_data, header.size());
}

Result<std::vector<SafetensorsTensor>> parse(std::string_view bytes) {
  return parse_safetensors(as_bytes(bytes), "x.safetensors");
}

std::string error_of(std::string_view header, size_t n_data) {
  const auto parsed = parse(file_of(header, n_data));
  return parsed ? "no error" : parsed.error().message();
}

#define EXPECT_REFUSED(header, n_data, part) \
  EXPECT_NE(error_of(header, n_data).find(part), std::string::npos) << error_of(header, n_data)

constexpr std::string_view kGood =
    R"({"__metadata__":{"format":"pt"},)"
    R"("b":{"dtype":"BF16","shape":[3],"data_offsets":[16,22]},)"
    R"("a":{"shape":[2,2],"data_offsets":[0,16],"dtype":"F32"},)"
    R"("mask":{"dtype":"BOOL","shape":[1,2],"data_offsets":[22,24]},)"
    R"("none":{"dtype":"I64","shape":[0],"data_offsets":[24,24]},)"
    R"("one":{"dtype":"F16","shape":[],"data_offsets":[24,26]}}  )";

TEST(Safetensors, ReadsTensorsInOrderOfTheirBytes) {
  const std::string bytes = file_of(kGood, 26);
  const auto parsed = parse(bytes);
  ASSERT_TRUE(parsed) << parsed.error().message();
  ASSERT_EQ(parsed->size(), 5U);
  const SafetensorsTensor& a = parsed->at(0);
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.dtype, DType::f32);
  EXPECT_EQ(a.shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(a.bytes.size(), 16U);
  const SafetensorsTensor& b = parsed->at(1);
  EXPECT_EQ(b.dtype, DType::bf16);
  EXPECT_EQ(static_cast<int>(b.bytes[0]), 16);
  EXPECT_EQ(parsed->at(2).dtype, std::nullopt);
  EXPECT_EQ(parsed->at(2).dtype_name, "BOOL");
  EXPECT_EQ(parsed->at(3).bytes.size(), 0U);
  EXPECT_TRUE(parsed->at(4).shape.empty());
  EXPECT_EQ(error_of("{}", 0), "no error");
}

std::string one(std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return fmt::format(R"({{"t":{{"dtype":{},"shape":{},"data_offsets":{}}}}})", dtype, shape,
                     offsets);
}

TEST(Safetensors, RefusesBrokenEntries) {
  EXPECT_EQ(error_of(one(R"("F32")", "[2]", "[0,8]"), 8), "no error");
  EXPECT_REFUSED(one(R"("F31")", "[2]", "[0,8]"), 8, "unknown dtype 'F31'");
  EXPECT_REFUSED(one("7", "[2]", "[0,8]"), 8, "dtype is not text");
  EXPECT_REFUSED(one(R"("F32")", "[3]", "[0,8]"), 8, "do not span the 12 bytes");
  EXPECT_REFUSED(one(R"("F32")", "[-2]", "[0,8]"), 8, "shape is not");
  EXPECT_REFUSED(one(R"("F32")", "[2.0]", "[0,8]"), 8, "shape is not");
  EXPECT_REFUSED(one(R"("F32")", "2", "[0,8]"), 8, "shape is not");
  EXPECT_REFUSED(one(R"("F32")", "[1,1,1,1,1,1,1,1,2]", "[0,8]"), 8, "shape is not");
  EXPECT_REFUSED(one(R"("F32")", "[9223372036854775808]", "[0,8]"), 8, "shape has the length");
  EXPECT_REFUSED(one(R"("F32")", "[4294967296,4294967296]", "[0,0]"), 0, "product");
  EXPECT_REFUSED(one(R"("F32")", "[4611686018427387905]", "[0,4]"), 4, "product");
  EXPECT_REFUSED(one(R"("F32")", "[2]", "[8,0]"), 8, "do not span");
  EXPECT_REFUSED(one(R"("F32")", "[2]", "[0]"), 8, "data_offsets is not");
  EXPECT_REFUSED(one(R"("F32")", "[2]", "[0,8,9]"), 8, "data_offsets is not");
  EXPECT_REFUSED(one(R"("F32")", "[2]", "[0,18446744073709551616]"), 8, "data_offsets is not");
  EXPECT_REFUSED(one(R"("F32")", "[2]", "[18446744073709551608,0]"), 8, "do not span");
  EXPECT_REFUSED(one(R"("F32")", "[2]", "[0,8]"), 7, "past the end (file has 7 bytes of data)");
  EXPECT_REFUSED(one(R"("F32")", "[2]", "[0,8]"), 9, "9 bytes of data, but the tensors cover 8");
  EXPECT_REFUSED(one(R"("F32")", "[2]", "[1,9]"), 9, "leave a hole");
  EXPECT_REFUSED(R"({"t":{"dtype":"F32","shape":[2]}})", 8, "is missing");
  EXPECT_REFUSED(R"({"t":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8,
                 "'dtype' appears twice");
  EXPECT_REFUSED(R"({"a":{"dtype":"I8","shape":[4],"data_offsets":[0,4]},)"
                 R"("b":{"dtype":"I8","shape":[4],"data_offsets":[2,6]}})",
                 6, "overlap");
}

TEST(Safetensors, RefusesBrokenHeaders) {
  for (const std::string_view header :
       {"", "{", "[]", "7", "{}x", "{}{}", "{\"t\":7}", "{\"t\":[]}", "{t:{}}", "{\"t\"}",
        "{\"t\":{}} extra", "\xFF\xFE", "{\"\xFF\":{}}", "{\"t\":{\"dtype\":\"F32\"", "null"}) {
    EXPECT_EQ(error_of(header, 0).rfind("x.safetensors: ", 0), 0U) << header;
  }
  const auto longest = parse(file_of("{}", 0, 100'000'001));
  ASSERT_FALSE(longest);
  EXPECT_NE(longest.error().message().find("offset 0: header length"), std::string::npos);
  EXPECT_NE(parse(file_of("{}", 0, 3)).error().message().find("3 bytes, 2 remain"),
            std::string::npos);
  EXPECT_FALSE(parse("1234567"));
}

// What must hold of any bytes.
bool is_safe(const std::string& bytes) {
  const std::vector<char> exact(bytes.begin(), bytes.end());  // no slack behind the last byte
  const int64_t before = allocated_bytes();
  const auto parsed = parse({exact.data(), exact.size()});
  EXPECT_LT(allocated_bytes() - before, 64 * std::ssize(bytes) + 16384);
  if (!parsed) return parsed.error().message().rfind("x.safetensors: ", 0) == 0;
  const auto* begin = reinterpret_cast<const std::byte*>(exact.data());
  for (const SafetensorsTensor& tensor : *parsed) {
    if (tensor.bytes.empty()) continue;
    if (tensor.bytes.data() < begin) return false;
    if (tensor.bytes.data() + tensor.bytes.size() > begin + exact.size()) return false;
  }
  return true;
}

TEST(SafetensorsHostile, CutAnywhereAndAnyByteReplaced) {
  const std::string good = file_of(kGood, 26);
  for_each_cut(good, [](const std::string& cut) {
    EXPECT_TRUE(is_safe(cut));
    EXPECT_FALSE(parse(cut));
  });
  const auto values = [](int) { return std::string_view("\0\xFF\x80\"\\{}[],:9- ", 14); };
  for_each_changed_byte(good, values,
                        [](const std::string& bytes) { EXPECT_TRUE(is_safe(bytes)); });
}

TEST(SafetensorsHostile, HeaderLengths) {
  for (const uint64_t length :
       {uint64_t{0}, uint64_t{1}, uint64_t{1} << 31, uint64_t{1} << 32, uint64_t{1} << 63,
        ~uint64_t{0}, ~uint64_t{0} - 7, ~uint64_t{0} - 8, uint64_t{kGood.size() + 1},
        uint64_t{kGood.size() - 3}, uint64_t{99'999'999}}) {
    const std::string bytes = file_of(kGood, 26, length);
    EXPECT_TRUE(is_safe(bytes)) << length;
    EXPECT_FALSE(parse(bytes)) << length;
  }
}

TEST(SafetensorsHostile, DeepNesting) {
  const std::string deep(60000, '[');
  EXPECT_TRUE(is_safe(file_of(deep, 0)));
  EXPECT_TRUE(is_safe(file_of("{\"t\":" + deep, 0)));
  EXPECT_TRUE(is_safe(file_of("{\"t\":{\"other\":" + deep, 0)));
  EXPECT_TRUE(is_safe(file_of("{\"__metadata__\":" + deep + std::string(60000, ']') + "}", 0)));
  EXPECT_TRUE(is_safe(file_of("{\"t\":{\"shape\":" + deep, 0)));
}

TEST(SafetensorsIndex, ReadsAndRefuses) {
  const auto index = [](std::string_view text) { return parse_safetensors_index(text, "i.json"); };
  const auto good = index(R"({"metadata":{"total_size":1},"weight_map":{"a":"m-1.safetensors"}})");
  ASSERT_TRUE(good) << good.error().message();
  EXPECT_EQ(good->at("a"), "m-1.safetensors");
  for (const std::string_view bad :
       {R"({"weight_map":{"a":"../x.safetensors"}})", R"({"weight_map":{"a":"/x.safetensors"}})",
        R"({"weight_map":{"a":"b\\x.safetensors"}})",
        R"({"weight_map":{"a":"x\u0000.safetensors"}})", R"({"weight_map":{"a":"x.bin"}})",
        R"({"weight_map":{"a":7}})", R"({"weight_map":[]})",
        R"({"weight_map":{"a":"x.safetensors","a":"x.safetensors"}})", R"({})", R"([])", "",
        R"({"weight_map":{"a":"x.safetensors")"}) {
    const auto parsed = index(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_EQ(parsed.error().message().rfind("i.json: ", 0), 0U) << parsed.error().message();
  }
  EXPECT_FALSE(index(std::string(60000, '[')));
  EXPECT_FALSE(index("{\"weight_map\":" + std::string(60000, '{')));
}

TEST(Safetensors, RealFiles) {
  for (const auto& [name, n_tensors] : std::initializer_list<std::pair<const char*, size_t>>{
           {"models/random/minicpm3-4b-tiny.safetensors", 15},
           {"trained/lora-pirate/adapter_model.safetensors", 32},
           {"adapters/mlx_llama3_8b_lora/adapters.safetensors", 8}}) {
    const std::string path = shared_file(name);
    if (path.empty()) GTEST_SKIP() << name << " is not here";
    const auto file = MappedFile::open(path);
    ASSERT_TRUE(file);
    const auto parsed = parse_safetensors(file->bytes(), path);
    ASSERT_TRUE(parsed) << parsed.error().message();
    EXPECT_EQ(parsed->size(), n_tensors) << name;
    uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, file->bytes().data(), sizeof(header_bytes));
    EXPECT_EQ(parsed->front().bytes.data(), file->bytes().data() + 8 + header_bytes);
  }
}

}  // namespace
}  // namespace ruv::safetensors_test

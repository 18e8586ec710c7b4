// The ggmf parser on files made here: what it reads, and what it refuses.
#include "format/ggmf.h"

#include <gtest/gtest.h>

#include <cstring>

#include "fault/damage.h"

namespace ruv::ggmf_test {
namespace {

class GgmfBuilder {
 public:
  explicit GgmfBuilder(uint32_t version, uint32_t type = 0) {
    bytes_ = "fmgg";
    for (const uint32_t x : {version, 8U, 4U, 1U, type}) number(x);
  }
  GgmfBuilder& number(uint32_t x) {
    bytes_.append(reinterpret_cast<const char*>(&x), sizeof x);
    return *this;
  }
  // dims: innermost first.
  GgmfBuilder& tensor(std::string_view name, const std::vector<uint32_t>& dims, uint32_t type,
                      size_t n_bytes) {
    number(static_cast<uint32_t>(dims.size())).number(static_cast<uint32_t>(name.size()));
    number(type);
    for (const uint32_t n : dims) number(n);
    bytes_ += name;
    bytes_.append(n_bytes, '\x3C');
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

Result<GgmfContents> parse(std::string_view bytes) { return parse_ggmf(as_bytes(bytes), "x.bin"); }

std::string error_of(const GgmfBuilder& file) {
  const auto result = parse(file.bytes());
  return result ? "no error" : result.error().message();
}

#define EXPECT_ERROR(file, part) \
  EXPECT_NE(error_of(file).find(part), std::string::npos) << error_of(file)

GgmfBuilder small_file() {
  GgmfBuilder file(101);
  file.tensor("emb.weight", {4, 8}, 0, 128).tensor("ln.bias", {4}, 1, 8);
  return file.tensor("head.weight", {32, 2}, 7, 44);
}

TEST(Ggmf, ReadsSizesAndTensors) {
  const GgmfBuilder built = small_file();
  EXPECT_TRUE(looks_like_ggmf(as_bytes(built.bytes())));
  const auto file = parse(built.bytes());
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->n_vocab, 8);
  EXPECT_EQ(file->n_embd, 4);
  EXPECT_EQ(file->n_layers, 1);
  ASSERT_EQ(file->tensors.size(), 3U);
  EXPECT_EQ(file->tensors[0].name, "emb.weight");
  EXPECT_EQ(file->tensors[0].shape, (std::vector<int64_t>{8, 4}));
  EXPECT_EQ(file->tensors[1].dtype, DType::f16);
  EXPECT_EQ(file->tensors[2].dtype, DType::q5_0);
  EXPECT_EQ(file->tensors[2].bytes.size(), 44U);
}

TEST(Ggmf, RefusesWhatItDoesNotKnow) {
  EXPECT_ERROR(GgmfBuilder(99), "version: 99");
  EXPECT_ERROR(GgmfBuilder(100, 7), "blocks of files before version 101");
  EXPECT_ERROR(GgmfBuilder(101, 4), "type: 4");
  EXPECT_ERROR(GgmfBuilder(101).tensor("x", {4}, 5, 16), "type: 5");
  EXPECT_ERROR(GgmfBuilder(101).tensor("x", {1, 1, 1, 1, 1}, 0, 4), "5 is not 1 to 4");
  EXPECT_ERROR(GgmfBuilder(101).tensor("x", {0}, 0, 0), "0 is out of range");
  EXPECT_ERROR(GgmfBuilder(101).tensor("", {1}, 0, 4), "length of a name");
  EXPECT_ERROR(GgmfBuilder(101).tensor("x", {33, 2}, 7, 88), "blocks of 32");
  EXPECT_ERROR(GgmfBuilder(101).tensor("x", {1U << 24, 1U << 24, 1U << 24}, 0, 4), "2^64");
}

TEST(Ggmf, EveryCutIsRefusedOrWhole) {
  const GgmfBuilder built = small_file();
  for (size_t n = 0; n < built.bytes().size(); ++n) {
    const auto file = parse(std::string_view(built.bytes()).substr(0, n));
    EXPECT_TRUE(!file || file->tensors.size() < 3) << n;
  }
}

}  // namespace
}  // namespace ruv::ggmf_test

#include "model/packed_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/rng.h"
#include "fault/damage.h"

namespace ruv {
namespace {

constexpr PackedKey kKey{{1, 2}};
const FoundReadAhead kFound = {77, {{DType::q8_0, 512}, {DType::f16, 1 << 20}}};

PackedMatrix matrix_of(const std::string& name, uint64_t n_bytes) {
  return {.name = name,
          .dtype = 8,
          .mr = 16,
          .n_out = 7,
          .n_in = 32,
          .rows_hash = 5,
          .n_bytes = n_bytes};
}

std::byte pattern(size_t matrix, uint64_t i) {
  return static_cast<std::byte>(matrix * 31 + i * 7 + (i >> 12));
}

class PackedFiles : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(root_); }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::unique_ptr<PackedFileWriter> writer(uint64_t max_bytes = uint64_t{1} << 30) const {
    auto result = PackedFileWriter::create(path_, kKey, max_bytes);
    EXPECT_TRUE(result.has_value()) << result.error().message();
    return result ? std::move(*result) : nullptr;
  }
  // Matrices "0", "1", … of these sizes, packed in slices of a length of their own.
  void write(const std::vector<uint64_t>& sizes) const {
    const auto to = writer();
    ASSERT_NE(to, nullptr);
    std::vector<SharedBytes> matrices;
    for (size_t m = 0; m < sizes.size(); ++m) {
      auto bytes = to->begin(matrix_of(std::to_string(m), sizes[m]));
      ASSERT_TRUE(bytes.has_value());
      matrices.push_back(*bytes);
      for (uint64_t at = 0; at < sizes[m];) {
        const uint64_t n = std::min<uint64_t>(sizes[m] - at, 777'777 * (m + 1));
        auto slice = to->next(static_cast<int64_t>(n));
        ASSERT_TRUE(slice.has_value());
        for (uint64_t i = 0; i < n; ++i, ++at) (*slice)[i] = pattern(m, at);
      }
    }
    ASSERT_TRUE(to->flush().ok());
    to->keep(kFound);
    for (size_t m = 0; m < sizes.size(); ++m) expect_pattern(m, matrices[m], sizes[m]);
    ASSERT_TRUE(to->publish().ok());
  }
  static void expect_pattern(size_t m, const SharedBytes& bytes, uint64_t size) {
    ASSERT_EQ(bytes.bytes().size(), size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.get()) % 64, 0U);
    for (uint64_t i = 0; i < size; ++i) ASSERT_EQ(bytes.get()[i], pattern(m, i)) << m << ", " << i;
  }
  Result<PackedFile> open(const PackedKey& key = kKey) const {
    WorkerPool pool(2);
    return PackedFile::open(path_, key, pool, {});
  }
  void expect_corrupt(const std::string& what) const {
    const auto file = open();
    ASSERT_FALSE(file.has_value()) << what;
    EXPECT_EQ(file.error().code(), Code::corrupt) << what;
    EXPECT_NE(file.error().message().find(path_), std::string::npos) << file.error().message();
  }
  int64_t size() const { return static_cast<int64_t>(std::filesystem::file_size(path_)); }

  const std::string root_ = testing::TempDir() + "ruv_packed_" + std::to_string(getpid());
  const std::string path_ = root_ + "/file";
};

TEST_F(PackedFiles, GiveBackWhatWasWritten) {
  const std::vector<uint64_t> sizes = {64, 1, kPackedBlock, 0, 3 * kPackedBlock + 17, 50'000'000};
  write(sizes);
  const auto file = open();
  ASSERT_TRUE(file.has_value()) << file.error().message();
  for (size_t m = 0; m < sizes.size(); ++m) {
    const PackedMatrix* found = file->find(matrix_of(std::to_string(m), sizes[m]));
    ASSERT_NE(found, nullptr) << m;
    expect_pattern(m, file->bytes_of(*found), sizes[m]);
  }
  EXPECT_EQ(file->read_ahead().processor_id, kFound.processor_id);
  EXPECT_EQ(file->read_ahead().distances, kFound.distances);
}

TEST_F(PackedFiles, FindOnlyWhatAgreesInEverything) {
  write({64});
  const auto file = open();
  ASSERT_TRUE(file.has_value());
  const PackedMatrix good = matrix_of("0", 64);
  ASSERT_NE(file->find(good), nullptr);
  std::vector<PackedMatrix> others(7, good);
  others[0].name = "1";
  others[1].dtype = 9;
  others[2].mr = 8;
  others[3].n_out = 8;
  others[4].n_in = 64;
  others[5].rows_hash = 6;
  others[6].n_bytes = 65;
  for (const PackedMatrix& other : others) EXPECT_EQ(file->find(other), nullptr);
}

TEST_F(PackedFiles, WithoutMatricesAreFiles) {
  write({});
  EXPECT_TRUE(open().has_value());
}

TEST_F(PackedFiles, OfAnotherKeyAreRefused) {
  write({64});
  const auto file = open({{1, 3}});
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error().code(), Code::corrupt);
  std::filesystem::remove(path_);
  EXPECT_EQ(open().error().code(), Code::not_found);
}

TEST_F(PackedFiles, AnyChangedByteIsSeen) {
  write({5'000'000, 100});
  std::vector<int64_t> offsets;
  for (int64_t i = 0; i < 64; ++i) offsets.push_back(i);            // header
  for (int64_t i = 1; i < 200; ++i) offsets.push_back(size() - i);  // directory
  Rng rng(3);
  for (int i = 0; i < 100; ++i)  // payload
    offsets.push_back(static_cast<int64_t>(kPackedBlock + rng.below(5'000'000)));
  for (const int64_t offset : offsets) {
    flip_bits(path_, offset, 1);
    expect_corrupt("byte " + std::to_string(offset));
    flip_bits(path_, offset, 1);
  }
  EXPECT_TRUE(open().has_value());
}

TEST_F(PackedFiles, CutOrGrownOrForeignAreRefused) {
  write({3'000'000});
  const int64_t whole = size();
  for (const int64_t n : {whole - 1, whole - 200, int64_t{3'000'000}, int64_t{64}, int64_t{63},
                          int64_t{8}, int64_t{7}, int64_t{0}}) {
    std::filesystem::resize_file(path_, static_cast<uintmax_t>(n));
    expect_corrupt("cut to " + std::to_string(n));
  }
  write({3'000'000});
  std::filesystem::resize_file(path_, static_cast<uintmax_t>(whole + 1));
  expect_corrupt("one byte more");
  std::ofstream(path_) << std::string(100000, 'x');
  expect_corrupt("garbage");
}

TEST_F(PackedFiles, WriterKeepsWithinItsReserve) {
  const auto to = writer(3 * kPackedBlock);
  const auto bytes = to->begin(matrix_of("a", kPackedBlock + 1));
  ASSERT_FALSE(bytes.has_value());
  EXPECT_EQ(bytes.error().code(), Code::out_of_memory);
  EXPECT_EQ(to->next(kMaxPackedSlice + 1).error().code(), Code::unsupported);
  EXPECT_TRUE(to->begin(matrix_of("b", kPackedBlock / 2)).has_value());
}

TEST_F(PackedFiles, WriterThatStopsLeavesNothing) {
  {
    const auto to = writer();
    ASSERT_TRUE(to->begin(matrix_of("a", 40'000'000)).has_value());
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(to->next(4'000'000).has_value());
  }
  EXPECT_TRUE(std::filesystem::is_empty(root_));
}

// What the fuzzer's seeds and the format's description say, byte by byte.
TEST(PackedDirectory, RefusesCountsAndPlacesBeyondTheFile) {
  const auto file_with = [](uint64_t n_matrices, uint64_t payload_end, const std::string& rest) {
    std::string out = "RUVPACK2";
    const uint64_t n_directory = rest.size();
    for (const uint64_t n :
         {n_matrices, uint64_t{1}, uint64_t{2}, payload_end, n_directory, uint64_t{0}, uint64_t{0}})
      out.append(reinterpret_cast<const char*>(&n), 8);
    out.resize(kPackedBlock);
    return out + rest;
  };
  const auto entry = [](uint64_t n_bytes, uint64_t offset) {
    std::string out("\1\0x\10\20", 5);
    for (const uint64_t n : {uint64_t{1}, uint64_t{2}, uint64_t{3}, n_bytes, offset})
      out.append(reinterpret_cast<const char*>(&n), 8);
    return out;
  };
  const auto reads = [](const std::string& file) {
    return read_packed_directory(as_bytes(file), "f").has_value();
  };
  const auto found = [](uint8_t n, uint32_t n_bytes) {  // and one distance
    std::string out(8, '\7');
    out.append(reinterpret_cast<const char*>(&n), 1);
    out += '\10';
    return out.append(reinterpret_cast<const char*>(&n_bytes), 4);
  };
  const std::string none(9, '\0');
  EXPECT_TRUE(reads(file_with(0, kPackedBlock, none)));
  EXPECT_TRUE(reads(file_with(1, kPackedBlock, entry(0, kPackedBlock) + none)));
  EXPECT_FALSE(reads(file_with(1, kPackedBlock, entry(1, kPackedBlock) + none)))
      << "one byte too many";
  EXPECT_FALSE(reads(file_with(1, kPackedBlock, entry(0, 0) + none))) << "in the header";
  EXPECT_FALSE(reads(file_with(1, kPackedBlock, entry(0, kPackedBlock + 4096) + none))) << "behind";
  EXPECT_FALSE(reads(file_with(1, kPackedBlock, entry(~uint64_t{0} - 4095, kPackedBlock) + none)));
  EXPECT_FALSE(reads(file_with(2, kPackedBlock, entry(0, kPackedBlock) + none)))
      << "one is missing";
  EXPECT_FALSE(reads(file_with(~uint64_t{0}, kPackedBlock, entry(0, kPackedBlock) + none)));
  const std::string twice = entry(0, kPackedBlock) + entry(0, kPackedBlock);
  EXPECT_FALSE(reads(file_with(2, kPackedBlock, twice + none))) << "twice the same name";
  EXPECT_TRUE(reads(file_with(0, kPackedBlock, found(1, 1 << 20))));
  EXPECT_FALSE(reads(file_with(0, kPackedBlock, found(1, (1 << 20) + 1)))) << "too far";
  EXPECT_FALSE(reads(file_with(0, kPackedBlock, found(2, 1)))) << "a distance is missing";
  EXPECT_FALSE(reads(file_with(0, kPackedBlock, found(0, 1)))) << "one too many";
  EXPECT_FALSE(reads(file_with(0, kPackedBlock, ""))) << "no distances";
  EXPECT_FALSE(reads(file_with(0, kPackedBlock, none + "x"))) << "one byte more";
  EXPECT_FALSE(reads(file_with(0, kPackedBlock + 1, none)));
  EXPECT_FALSE(reads(file_with(0, ~uint64_t{0} - 4095, none)));
  EXPECT_FALSE(reads(file_with(0, 0, none)));
}

}  // namespace
}  // namespace ruv

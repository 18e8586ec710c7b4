// What both containers share: opening by what stands at the path, and looking values up.
#include "format/model_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "format/gguf_builder.h"
#include "format/test_folder.h"

namespace ruv {
namespace {

TEST(ModelFile, FindsValuesWithAndWithoutArchitecture) {
  const TestFolder folder;
  GgufBuilder bytes(3, 0, 6);
  bytes.text_entry("general.architecture", "qwen2").u32_entry("qwen2.block_count", 4);
  bytes.key("qwen2.rope.freq_base", 6).raw(2.5F).u32_entry("general.file_type", 1);
  bytes.text_entry("tokenizer.chat_template", "{{ hi }}").u32_entry("block_count", 5);
  const auto opened = ModelFile::open(folder.write("m.gguf", bytes.bytes()));
  ASSERT_TRUE(opened) << opened.error().message();
  const ModelFile& file = **opened;
  EXPECT_EQ(file.integer("block_count").value(), 4);
  EXPECT_EQ(file.integer("general.file_type").value(), 1);
  EXPECT_EQ(file.number("rope.freq_base").value(), 2.5);
  EXPECT_EQ(file.number("block_count").value(), 4.0);
  EXPECT_EQ(file.chat_template(), "{{ hi }}");
  EXPECT_EQ(file.integer("nothing").error().code(), Code::not_found);
  EXPECT_EQ(file.integer("rope.freq_base").error().code(), Code::corrupt);
  EXPECT_NE(file.text("block_count").error().message().find("'block_count' is an integer"),
            std::string::npos);
}

TEST(ModelFile, OpensByWhatStandsAtThePath) {
  const TestFolder folder;
  EXPECT_NE(ModelFile::open(folder.path()).error().message().find("config.json"),
            std::string::npos);
  EXPECT_NE(ModelFile::open(folder.write("config.json", "{}")).error().message().find("folder"),
            std::string::npos);
  EXPECT_NE(ModelFile::open(folder.write("pytorch_model.bin", "PK\3\4 zip"))
                .error()
                .message()
                .find("a pickle of PyTorch"),
            std::string::npos);
  const auto missing = ModelFile::open(folder.path() + "/nowhere/model.gguf");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), Code::not_found);
}

TEST(ModelFile, ExpectsReadsInsideOfItsFilesOnly) {
  const TestFolder folder;
  GgufBuilder bytes(3, 1, 1);
  bytes.text_entry("general.architecture", "qwen2");
  bytes.tensor("x.weight", {32, 64}, 0, 0).data(32, 8192);
  const auto opened = ModelFile::open(folder.write("m.gguf", bytes.bytes()));
  ASSERT_TRUE(opened) << opened.error().message();
  const TensorInfo* const tensor = (*opened)->find_tensor("x.weight");
  ASSERT_NE(tensor, nullptr);
  const std::byte* const first = tensor->bytes.data();
  for (const Range after : {Range{0, 100}, Range{0, 1 << 30}, Range{1 << 29, 1 << 30},
                            Range{8191, 8192}, Range{8192, 8192}, Range{5, 3}}) {
    (*opened)->expect_read(first, after);
    (*opened)->expect_read(first + 8191, after);
  }
  const std::byte elsewhere{};
  (*opened)->expect_read(&elsewhere, {0, 1 << 20});
  (*opened)->expect_read(nullptr, {0, 1 << 20});
}

// Whether no page of n bytes of a file from `begin` on is in memory, by the system's own calls, so
// that a mistake of ours is not taken for a file system that keeps its files there.
bool is_out_of_memory(int fd, off_t begin, size_t n_bytes) {
  void* const mapped = ::mmap(nullptr, n_bytes, PROT_READ, MAP_SHARED, fd, begin);
  EXPECT_NE(mapped, MAP_FAILED);
  std::vector<unsigned char> pages(n_bytes / static_cast<size_t>(::sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(::mincore(mapped, n_bytes, pages.data()), 0);
  ::munmap(mapped, n_bytes);
  return std::ranges::none_of(pages, [](unsigned char page) { return (page & 1) != 0; });
}

// Gives the memory of a file back until this part of it stays out for a while: reading ahead that
// has begun still brings pages in. Returns whether it did.
bool leaves_memory(const std::string& path, off_t begin, size_t n_bytes) {
  const int fd = ::open(path.c_str(), O_RDONLY);
  EXPECT_EQ(::fsync(fd), 0);  // what is not written yet cannot be given back
  bool stays_out = false;
  for (int i = 0; i < 100 && !stays_out; ++i) {
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    stays_out = true;
    for (int looks = 0; looks < 10 && stays_out; ++looks) {
      stays_out = is_out_of_memory(fd, begin, n_bytes);
      ::usleep(10'000);
    }
  }
  ::close(fd);
  return stays_out;
}

TEST(ModelFile, ExpectedReadsComeIntoMemory) {
  constexpr size_t kBytes = 8 << 20;
  constexpr size_t kPart = 1 << 20;
  const TestFolder folder;
  GgufBuilder bytes(3, 1, 1);
  bytes.text_entry("general.architecture", "qwen2");
  bytes.tensor("x.weight", {4096, kBytes / 4096 / 4}, 0, 0).data(32, kBytes);
  const std::string path = folder.path() + "/m.gguf";
  auto writer = FileWriter::create(path);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write(as_bytes(bytes.bytes())).ok());
  ASSERT_TRUE(writer->commit().ok());
  if (!leaves_memory(path, kBytes / 2, kBytes / 2))
    GTEST_SKIP() << "the system keeps this file in memory";
  const auto opened = ModelFile::open(path);
  ASSERT_TRUE(opened) << opened.error().message();
  const Bytes tensor = (*opened)->find_tensor("x.weight")->bytes;
  const Bytes part = tensor.subspan(4 * kPart, kPart);
  ASSERT_TRUE(leaves_memory(path, kBytes / 2, kBytes / 2)) << "opening reads samples of all parts";
  (*opened)->expect_read(tensor.data(), {4 * kPart, 5 * kPart});
  for (int i = 0; i < 1000 && !MappedFile::is_in_memory(part); ++i) ::usleep(10'000);
  EXPECT_TRUE(MappedFile::is_in_memory(part));
  EXPECT_FALSE(MappedFile::is_in_memory(tensor.last(kPart))) << "was not asked for";
}

TEST(ModelFile, CountsElements) {
  TensorInfo tensor;
  tensor.shape = {3, 4, 5};
  EXPECT_EQ(tensor.n_elements(), 60);
  tensor.shape = {};
  EXPECT_EQ(tensor.n_elements(), 1);
}

}  // namespace
}  // namespace ruv

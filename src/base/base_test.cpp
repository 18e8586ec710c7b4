// The small tools everything stands on.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <numeric>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/file.h"
#include "base/rng.h"
#include "base/threads.h"
#include "base/utf8.h"

namespace ruv {
namespace {

std::string temporary_path(const char* name) {
  return (std::filesystem::temp_directory_path() / fmt::format("ruv_{}_{}", ::getpid(), name))
      .string();
}

TEST(Try, PassesValuesAndErrors) {
  const auto half = [](int n) -> Result<int> {
    if (n % 2 != 0) return fail(Code::invalid, "{} is odd", n);
    return n / 2;
  };
  const auto quarter = [&](int n) -> Result<int> { return TRY(half(TRY(half(n)))); };
  const auto check = [&](int n) -> Status {
    TRY(quarter(n));
    return {};
  };
  EXPECT_EQ(quarter(12).value(), 3);
  EXPECT_EQ(quarter(6).error().message(), "3 is odd");
  EXPECT_TRUE(check(12).ok());
  EXPECT_EQ(with_context("here", check(6)).message(), "here: 3 is odd");
}

TEST(ByteReader, NamesSourceOffsetAndField) {
  const std::string bytes("\x01\x00\x00\x00\x02", 5);
  ByteReader reader(as_bytes(bytes), "file.bin");
  EXPECT_EQ(reader.read<uint32_t>("count").value(), 1U);
  const Result<uint64_t> past = reader.read<uint64_t>("length");
  ASSERT_FALSE(past.has_value());
  EXPECT_EQ(past.error().code(), Code::corrupt);
  EXPECT_NE(past.error().message().find("file.bin: offset 4: length"), std::string::npos);
  EXPECT_EQ(reader.remaining(), 1U);
  EXPECT_FALSE(reader.take(~uint64_t{0}, "huge").has_value());
}

TEST(CheckedArithmetic, RefusesOverflow) {
  EXPECT_EQ(checked_multiply(1ULL << 32, 1ULL << 31), 1ULL << 63);
  EXPECT_FALSE(checked_multiply(1ULL << 32, 1ULL << 32).has_value());
  EXPECT_FALSE(checked_add(~0ULL, 1).has_value());
}

TEST(Utf8, RefusesWhatIsNotACharacter) {
  for (const char* bad : {"\x80", "\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                          "\xF8\x88\x80\x80\x80", "\xE2\x82"}) {
    EXPECT_FALSE(is_valid_utf8(bad)) << bad;
  }
  EXPECT_TRUE(is_valid_utf8("a¢€😀"));
}

TEST(Utf8, MistakesAreReplacedOnceOrByByte) {
  const std::pair<const char*, const char*> rows[] = {
      {"a\xE2\x82z", "a\uFFFDz"},
      {"\xF0\x9F\x98", "\uFFFD"},
      {"\xF0\x9F", "\uFFFD"},
      {"\xF0\x80\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},
      {"\xE2\xE2\x82\xAC", "\uFFFD\u20AC"},
      {"\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD"},
      {"\x80\xFF", "\uFFFD\uFFFD"},
  };
  for (const auto& [bytes, text] : rows) EXPECT_EQ(to_valid_utf8(bytes), text) << bytes;
  EXPECT_EQ(to_valid_utf8_bytewise("a\xE2\x82z"), "a\uFFFD\uFFFDz");
  EXPECT_EQ(to_valid_utf8_bytewise("\xF0\x9F\x98\x80"), "\U0001F600");
}

TEST(Utf8, EveryCodePointReturns) {
  for (uint32_t c = 0; c <= 0x10FFFF; c = c == 0xD7FF ? 0xE000 : c + 1) {
    std::string text;
    append_utf8(text, c);
    const CodePoint back = decode_utf8(text, 0);
    ASSERT_TRUE(back.valid);
    ASSERT_EQ(back.value, c);
    ASSERT_EQ(back.size, text.size());
    for (size_t n = 1; n < text.size(); ++n) ASSERT_EQ(whole_utf8_prefix(text.substr(0, n)), 0U);
    ASSERT_EQ(whole_utf8_prefix(text), text.size());
  }
}

TEST(PartOf, CoversEverythingOnceAtUnits) {
  for (int64_t n : {0, 1, 7, 16, 33, 1000}) {
    for (int parts : {1, 2, 3, 8}) {
      int64_t at = 0;
      for (int i = 0; i < parts; ++i) {
        const Range range = part_of(n, i, parts, 16);
        EXPECT_EQ(range.begin, at);
        at = range.end;
        EXPECT_TRUE(at == n || at % 16 == 0);
      }
      EXPECT_EQ(at, n);
    }
  }
}

TEST(WorkerPool, GivesEveryItemOnce) {
  for (const int n_threads : {1, 3}) {
    WorkerPool pool(n_threads);
    std::vector<std::atomic<int>> seen(1000);
    pool.run_items(1000, [&](int thread, int64_t item) {
      EXPECT_LT(thread, n_threads);
      ++seen[static_cast<size_t>(item)];
    });
    for (const auto& n : seen) EXPECT_EQ(n, 1);
    pool.run_items(0, [](int, int64_t) { FAIL() << "there is none"; });
  }
}

TEST(WorkerPool, RunsEveryThreadOnceAndWaits) {
  for (int n : {1, 2, 5}) {
    WorkerPool pool(n);
    std::vector<std::atomic<int>> seen(static_cast<size_t>(n));
    for (int round = 1; round <= 200; ++round) {
      pool.run([&](int thread) { ++seen[static_cast<size_t>(thread)]; });
      for (const std::atomic<int>& count : seen) ASSERT_EQ(count.load(), round);
    }
  }
}

TEST(WorkerPool, DoesThePartsOfWorkersThatHaveNoCore) {
  // More threads than cores: some begin late in nearly every round.
  WorkerPool pool(64);
  int n_by_caller = 0;
  std::vector<int> seen(64);
  for (int round = 1; round <= 300; ++round) {
    const std::thread::id caller = std::this_thread::get_id();
    pool.run([&](int thread) {
      ++seen[static_cast<size_t>(thread)];
      if (thread != 0 && std::this_thread::get_id() == caller) ++n_by_caller;
    });
    for (const int count : seen) ASSERT_EQ(count, round);
  }
  EXPECT_GT(n_by_caller, 0);
}

TEST(FileWriter, CommitsWholeFilesOrNothing) {
  const std::string path = temporary_path("writer");
  {
    Result<FileWriter> writer = FileWriter::create(path);
    ASSERT_TRUE(writer.has_value());
    ASSERT_TRUE(writer->write(as_bytes("half")).ok());
  }
  EXPECT_FALSE(file_exists(path));
  Result<FileWriter> writer = FileWriter::create(path);
  ASSERT_TRUE(writer->write(as_bytes("whole")).ok());
  ASSERT_TRUE(writer->commit().ok());
  EXPECT_EQ(read_text_file(path).value(), "whole");
  std::filesystem::remove(path);
}

TEST(Buffer, IsZeroedAndRefusesTheImpossible) {
  Result<Buffer> buffer = Buffer::allocate(1 << 20);
  ASSERT_TRUE(buffer.has_value());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->get()) % 64, 0U);
  EXPECT_EQ(std::accumulate(buffer->as<char>(), buffer->as<char>() + (1 << 20), 0), 0);
  EXPECT_EQ(Buffer::allocate(int64_t{1} << 62).error().code(), Code::out_of_memory);
  EXPECT_EQ(Buffer::allocate(-1).error().code(), Code::out_of_memory);
}

TEST(Rng, IsTheSameEverywhere) {
  Rng rng(42);
  EXPECT_EQ(rng.next(), 1546998764402558742ULL);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) sum += rng.uniform();
  EXPECT_NEAR(sum / 10000, 0.5, 0.02);
}

}  // namespace
}  // namespace ruv

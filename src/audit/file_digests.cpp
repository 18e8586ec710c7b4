#include "audit/file_digests.h"

#include <algorithm>
#include <atomic>

#include "base/folder.h"

namespace ruv {
namespace {

constexpr uint64_t kBlockBytes = uint64_t{4} << 20;
// Blocks between two looks at the progress.
constexpr int64_t kRunBlocks = 64;

// What a program reads of a folder. Other files, as verdicts and caches, may come and go.
constexpr std::array<std::string_view, 7> kFolderEndings{
    ".safetensors", ".json", ".model", ".txt", ".jinja", ".tiktoken", ".gguf"};

bool is_read(const std::string& path) {
  return std::ranges::any_of(kFolderEndings,
                             [&](std::string_view ending) { return path.ends_with(ending); });
}

// "model-00001-of-00003.gguf" and the parts after it; the path alone where it is not one of
// several.
std::vector<std::string> parts_of(const std::string& path) {
  constexpr std::string_view kEnding = ".gguf";
  constexpr size_t kTail = std::string_view("-00001-of-00003.gguf").size();
  if (path.size() < kTail || !path.ends_with(kEnding)) return {path};
  const std::string_view tail = std::string_view(path).substr(path.size() - kTail);
  const std::string_view count = tail.substr(10, 5);
  const bool is_first = tail.starts_with("-00001-of-") &&
                        std::ranges::all_of(count, [](char c) { return c >= '0' && c <= '9'; });
  if (!is_first) return {path};
  std::vector<std::string> parts;
  const int n = std::stoi(std::string(count));
  const std::string stem = path.substr(0, path.size() - kTail);
  for (int i = 1; i <= n; ++i) parts.push_back(fmt::format("{}-{:05}-of-{}.gguf", stem, i, count));
  return parts;
}

std::vector<std::string> files_of(const std::string& path) {
  if (!is_directory(path)) return parts_of(path);
  std::vector<std::string> files;
  for (const FolderEntry& entry : files_in(path)) {
    if (is_read(entry.path)) files.push_back(entry.path);
  }
  std::ranges::sort(files);
  return files;
}

Bytes block_of(Bytes bytes, int64_t block) {
  const uint64_t begin = static_cast<uint64_t>(block) * kBlockBytes;
  return bytes.subspan(begin, std::min<uint64_t>(kBlockBytes, bytes.size() - begin));
}

// Hashes the blocks of one file; `read` gets the bytes so far after each run.
Result<Digest> file_digest(const MappedFile& file, WorkerPool& pool,
                           const std::function<void(uint64_t)>& read) {
  const Bytes bytes = file.bytes();
  const auto n = static_cast<int64_t>((bytes.size() + kBlockBytes - 1) / kBlockBytes);
  std::vector<Digest> digests(static_cast<size_t>(n));
  file.expect_full_read();
  for (int64_t first = 0; first < n; first += kRunBlocks) {
    const int64_t end = std::min(first + kRunBlocks, n);
    pool.run_items(end - first, [&](int, int64_t item) {
      const int64_t block = first + item;
      digests[static_cast<size_t>(block)] =
          digest_of("ruvllm audit block", {block_of(bytes, block)});
    });
    read(std::min<uint64_t>(static_cast<uint64_t>(end) * kBlockBytes, bytes.size()));
  }
  TRY(file.check_read());
  return digest_of("ruvllm audit file",
                   {number_bytes(bytes.size()), std::as_bytes(std::span(digests))});
}

}  // namespace

// Names tell files of a folder apart; one file, or its parts, may have any.
Result<Digest> files_digest(const std::string& path, WorkerPool& pool,
                            const std::function<void(double)>& progress) {
  std::vector<MappedFile> files;
  uint64_t n_bytes = 0;
  for (const std::string& name : files_of(path)) {
    files.push_back(TRY(MappedFile::open(name)));
    n_bytes += files.back().bytes().size();
  }
  if (files.empty()) return fail(Code::not_found, "{}: no files of a model or adapter", path);
  Blake2Stream all("ruvllm audit files");
  uint64_t n_before = 0;
  for (const MappedFile& file : files) {
    const Digest digest = TRY(file_digest(file, pool, [&](uint64_t n) {
      if (progress && n_bytes > 0)
        progress(static_cast<double>(n_before + n) / static_cast<double>(n_bytes));
    }));
    if (is_directory(path)) {
      const std::string name = file_name_of(file.path());
      all.add(number_bytes(name.size()));
      all.add(as_bytes(name));
    }
    all.add(digest);
    n_before += file.bytes().size();
  }
  return all.finish();
}

}  // namespace ruv

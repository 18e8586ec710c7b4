#include "hub/model_digest.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/folder.h"
#include "base/tree.h"
#include "hub/choose_files.h"
#include "hub/digest.h"

namespace ruv {
namespace {

std::string model_folder(const std::string& path) {
  return is_directory(path) ? path : path.substr(0, path.rfind('/'));
}

// Parts are found by names of this ending.
bool is_gguf(const std::string& path) { return path.ends_with(".gguf") || path.ends_with(".GGUF"); }

// Their paths within the folder.
Result<std::vector<std::string>> file_names(const std::string& path) {
  std::vector<RepoFile> files;
  const bool is_folder = is_directory(path);
  const std::string folder = model_folder(path);
  if (is_folder) {
    for (const TreeEntry& entry : files_below(folder)) {
      if (!is_gguf(entry.path)) files.push_back({entry.path, 0, {}});
    }
  } else if (is_gguf(path)) {
    for (const FolderEntry& entry : files_in(folder))
      files.push_back({file_name_of(entry.path), 0, {}});
  } else {
    return std::vector{file_name_of(path)};
  }
  Result<ChosenFiles> chosen = choose_files(files, is_folder ? std::string() : file_name_of(path));
  if (!chosen) return tl::unexpected(with_context(path, chosen.error()));
  std::vector<std::string> names;
  for (RepoFile& file : chosen->files) names.push_back(std::move(file.path));
  std::ranges::sort(names);
  return names;
}

// Looks at the stamp again after reading, as a file that grows would have no digest of its own.
Result<VersionFile> digested(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name;
  const FileStamp stamp = TRY(stamp_of(path));
  VersionFile file;
  file.path = name;
  file.n_bytes = static_cast<int64_t>(stamp.n_bytes);
  file.modified_ns = stamp.modified_ns;
  file.changed_ns = stamp.changed_ns;
  file.sha256 = TRY(digest_of_file(path, DigestKind::sha256));
  if (TRY(stamp_of(path)) == stamp) return file;
  return fail(Code::unavailable, "{}: it was changed while it was read", path);
}

}  // namespace

Result<DigestedModel> digest_model(const std::string& path) {
  DigestedModel model;
  std::string lines;
  for (const std::string& name : TRY(file_names(path))) {
    VersionFile file = TRY(digested(model_folder(path), name));
    lines += fmt::format("{}  {}\n", file.sha256, file.path);
    model.n_bytes += file.n_bytes;
    model.files.push_back(std::move(file));
  }
  if (model.files.size() == 1) {
    model.sha256 = model.files.front().sha256;
    return model;
  }
  DigestStream stream = TRY(DigestStream::start(DigestKind::sha256, lines.size()));
  stream.add(as_bytes(lines));
  model.sha256 = stream.finish();
  return model;
}

Status check_version_files(const std::string& source, const std::vector<VersionFile>& files) {
  for (const VersionFile& file : files) {
    const std::string path = model_folder(source) + "/" + file.path;
    const FileStamp stamp = TRY(stamp_of(path));
    const FileStamp named{static_cast<uint64_t>(file.n_bytes), file.modified_ns, file.changed_ns};
    if (stamp == named) continue;
    if (stamp.n_bytes == named.n_bytes &&
        TRY(digest_of_file(path, DigestKind::sha256)) == file.sha256)
      continue;
    return fail(Code::corrupt, "{}: it was changed after it was named; name it anew", path);
  }
  return {};
}

}  // namespace ruv

// Names beside the folder's own end with ".partial", so that they are not taken for a model.
#include "convert/partial_folder.h"

#include <algorithm>

#include "base/append_file.h"
#include "base/folder.h"
#include "base/tree.h"

namespace ruv {
namespace {

bool is_there(const std::string& path) { return file_exists(path) || is_directory(path); }

// Only what looks like a model's folder may go, and never one with a file that is read.
Status check_target(const std::string& out, bool replace, std::span<const FileId> never) {
  if (!is_there(out)) return {};
  if (!is_directory(out)) {
    return fail(Code::invalid, "{}: a file, and what is written is a folder; give another name",
                out);
  }
  if (!replace) return fail(Code::invalid, "{}: exists already; --force replaces it", out);
  if (!file_exists(out + "/config.json")) {
    return fail(Code::invalid, "{}: a folder without config.json is not replaced", out);
  }
  for (const FolderEntry& entry : files_in(out)) {
    const Result<FileId> id = id_of(entry.path);
    if (id && std::ranges::find(never, *id) == never.end()) continue;
    return fail(Code::invalid, "{}: holds a file that is read here; give another name", out);
  }
  return {};
}

}  // namespace

Result<PartialFolder> PartialFolder::create(const std::string& out_path, bool replace,
                                            std::span<const FileId> never) {
  std::string out = out_path;
  while (out.size() > 1 && out.ends_with('/')) out.pop_back();
  TRY(check_target(out, replace, never));
  const std::string partial = out + ".partial";
  if (is_there(partial) && !replace) {
    return fail(Code::invalid, "{}: left by an earlier call; remove it, or --force replaces it",
                partial);
  }
  if (is_directory(partial)) TRY(remove_tree(partial));
  TRY(make_shared_folder(partial));
  return PartialFolder(std::move(out), partial);
}

PartialFolder::PartialFolder(PartialFolder&& other) noexcept
    : out_(std::move(other.out_)), path_(std::move(other.path_)) {
  other.path_.clear();
}

PartialFolder::~PartialFolder() {
  if (!path_.empty()) static_cast<void>(remove_tree(path_));
}

std::string PartialFolder::file(std::string_view name) const {
  return fmt::format("{}/{}", path_, name);
}

Status PartialFolder::write(std::string_view name, std::string_view text) const {
  FileWriter writer = TRY(FileWriter::create(file(name), {.replace = true}));
  TRY(writer.write(as_bytes(text)));
  return writer.commit();
}

// A folder that is replaced is moved away first, and comes back where the new one gets no name.
Status PartialFolder::commit() {
  const std::string old = out_ + ".old.partial";
  const bool replaces = is_directory(out_);
  if (replaces) TRY(rename_file(out_, old));
  const Status status = rename_file(path_, out_);
  if (!status.ok()) {
    if (replaces) static_cast<void>(rename_file(old, out_));
    return status;
  }
  path_.clear();
  const size_t slash = out_.rfind('/');
  TRY(sync_folder(slash == out_.npos ? "." : out_.substr(0, std::max<size_t>(slash, 1))));
  return replaces ? remove_tree(old) : Status();
}

}  // namespace ruv

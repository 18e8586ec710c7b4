#include "hub/folder_snapshot.h"

#include <algorithm>
#include <set>

#include "base/file.h"
#include "base/folder.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/random_file.h"
#include "base/tree.h"
#include "hub/digest.h"

namespace ruv {
namespace {

// S3 takes up to 5 GB in one exchange; what is cut off in the middle is sent again from its start.
constexpr uint64_t kSnapshotPieceBytes = uint64_t{1} << 30;
constexpr size_t kSnapshotReadBytes = size_t{1} << 20;
constexpr size_t kMostManifestBytes = size_t{64} << 20;
constexpr std::string_view kSnapshotFormat = "ruvllm-snapshot";

std::string manifest_name(const std::string& prefix) { return prefix + "/manifest.json"; }

Result<std::string> digest_of_part(const RandomFile& file, uint64_t first, uint64_t n_bytes) {
  DigestStream digest = TRY(DigestStream::start(DigestKind::sha256, n_bytes));
  std::vector<std::byte> bytes(
      static_cast<size_t>(std::min<uint64_t>(n_bytes, kSnapshotReadBytes)));
  for (uint64_t at = 0; at < n_bytes; at += bytes.size()) {
    const auto part =
        std::span(bytes).first(static_cast<size_t>(std::min<uint64_t>(n_bytes - at, bytes.size())));
    TRY(file.read_at(first + at, part));
    digest.add(part);
  }
  return digest.finish();
}

// Uploads a file's pieces and returns what the manifest has of it.
Result<Json> upload_snapshot_file(const std::string& folder, const std::string& path,
                                  ObjectStore& store, const std::string& prefix,
                                  int64_t& n_pieces) {
  const RandomFile file = TRY(RandomFile::open(folder + "/" + path));
  Json pieces = Json::array();
  for (uint64_t first = 0; first < file.n_bytes(); first += kSnapshotPieceBytes) {
    const uint64_t n_bytes = std::min(kSnapshotPieceBytes, file.n_bytes() - first);
    const std::string sha256 = TRY(digest_of_part(file, first, n_bytes));
    const std::string name = std::to_string(++n_pieces);
    TRY(store.put(prefix + "/" + name, n_bytes, sha256, [&](uint64_t offset, std::span<char> out) {
      return file.read_at(first + offset, std::as_writable_bytes(out));
    }));
    pieces.push_back(Json{{"name", name}, {"n_bytes", n_bytes}, {"sha256", sha256}});
  }
  return Json{{"path", path}, {"pieces", std::move(pieces)}};
}

struct SnapshotPiece {
  std::string name, sha256;
  int64_t n_bytes = 0;
};
struct SnapshotFile {
  std::string path;
  std::vector<SnapshotPiece> pieces;
};

// Names of files in the folder or in folders in it, and no others.
bool is_inner_path(std::string_view path) {
  if (path.empty() || path.size() > 1024 || path.find('\0') != path.npos) return false;
  const std::string inside = "/" + std::string(path) + "/";
  return path.find('\\') == path.npos && inside.find("//") == inside.npos &&
         inside.find("/./") == inside.npos && inside.find("/../") == inside.npos;
}

tl::unexpected<Status> wrong_snapshot(std::string_view place) {
  return fail(Code::corrupt, "manifest.json: '{}' is missing or wrong", place);
}

// The manifest may be anyone's: names of pieces are numbers, sizes are bounded, unknown members are
// left alone.
Result<SnapshotPiece> read_snapshot_piece(const Json& line) {
  if (!line.is_object()) return wrong_snapshot("pieces");
  const Json *name = find_field(line, "name"), *n_bytes = find_field(line, "n_bytes");
  const Json* sha256 = find_field(line, "sha256");
  if (name == nullptr || !name->is_string()) return wrong_snapshot("name");
  if (n_bytes == nullptr || !n_bytes->is_number_integer()) return wrong_snapshot("n_bytes");
  if (sha256 == nullptr || !sha256->is_string()) return wrong_snapshot("sha256");
  SnapshotPiece piece{std::string(name->text()), std::string(sha256->text()),
                      n_bytes->get<int64_t>()};
  const bool is_number = !piece.name.empty() && piece.name.size() < 10 &&
                         piece.name.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number) return wrong_snapshot("name");
  if (piece.n_bytes < 1 || piece.n_bytes > static_cast<int64_t>(kSnapshotPieceBytes)) {
    return wrong_snapshot("n_bytes");
  }
  return piece;
}

Result<std::vector<SnapshotFile>> read_snapshot_manifest(std::string_view text) {
  const Json manifest = TRY(parse_json(text, "manifest.json"));
  if (!manifest.is_object()) return wrong_snapshot("format");
  const Json *format = find_field(manifest, "format"), *version = find_field(manifest, "version");
  const Json* files = find_field(manifest, "files");
  if (format == nullptr || *format != Json(kSnapshotFormat)) return wrong_snapshot("format");
  if (version == nullptr || *version != 1) {
    return fail(Code::unsupported, "manifest.json: of another version; this program reads 1");
  }
  if (files == nullptr || !files->is_array()) return wrong_snapshot("files");
  std::vector<SnapshotFile> read;
  std::set<std::string> paths;
  for (const Json& line : *files) {
    if (!line.is_object()) return wrong_snapshot("files");
    const Json *path = find_field(line, "path"), *pieces = find_field(line, "pieces");
    if (path == nullptr || !path->is_string()) return wrong_snapshot("path");
    if (pieces == nullptr || !pieces->is_array()) return wrong_snapshot("pieces");
    SnapshotFile file{std::string(path->text()), {}};
    if (!is_inner_path(file.path) || !paths.insert(file.path).second) return wrong_snapshot("path");
    for (const Json& piece : *pieces) file.pieces.push_back(TRY(read_snapshot_piece(piece)));
    read.push_back(std::move(file));
  }
  return read;
}

Result<std::string> download_manifest(ObjectStore& store, const std::string& prefix) {
  std::string text;
  TRY(store.get(manifest_name(prefix), [&](std::string_view bytes) -> Status {
    if (text.size() + bytes.size() > kMostManifestBytes) return wrong_snapshot("size");
    text += bytes;
    return {};
  }));
  return text;
}

// Bytes are written before their hash is known, to a file that is not in place yet.
Status download_piece(ObjectStore& store, const std::string& prefix, const SnapshotPiece& piece,
                      FileWriter& out) {
  const std::string name = prefix + "/" + piece.name;
  const auto n_bytes = static_cast<uint64_t>(piece.n_bytes);
  DigestStream digest = TRY(DigestStream::start(DigestKind::sha256, n_bytes));
  uint64_t n_read = 0;
  TRY(store.get(name, [&](std::string_view bytes) -> Status {
    n_read += bytes.size();
    if (n_read > n_bytes) return fail(Code::corrupt, "{}: longer than {} bytes", name, n_bytes);
    digest.add(as_bytes(bytes));
    return out.write(as_bytes(bytes));
  }));
  if (n_read != n_bytes) {
    return fail(Code::corrupt, "{}: {} bytes, not {}", name, n_read, n_bytes);
  }
  if (digest.finish() == piece.sha256) return {};
  return fail(Code::corrupt, "{}: its SHA-256 is not that of the manifest", name);
}

Result<SnapshotTotals> download_snapshot_files(ObjectStore& store, const std::string& prefix,
                                               const std::vector<SnapshotFile>& files,
                                               const std::string& folder) {
  SnapshotTotals totals;
  for (const SnapshotFile& file : files) {
    const std::string path = folder + "/" + file.path;
    TRY(make_folder(path.substr(0, path.rfind('/'))));
    FileWriter out = TRY(FileWriter::create(path, {.readers = FileReaders::owner}));
    for (const SnapshotPiece& piece : file.pieces) {
      TRY(download_piece(store, prefix, piece, out));
      totals.n_bytes += piece.n_bytes;
    }
    TRY(out.commit());
    ++totals.n_files;
  }
  return totals;
}

}  // namespace

// A failure leaves pieces without a manifest, which the next try with this prefix replaces.
Result<SnapshotTotals> upload_snapshot(const std::string& folder, ObjectStore& store,
                                       const std::string& prefix) {
  const auto before = download_manifest(store, prefix);
  if (before) {
    return fail(Code::invalid, "{}: has a snapshot already; give another prefix",
                manifest_name(prefix));
  }
  const bool is_new = before.error().code() == Code::not_found;
  if (!is_new) return tl::unexpected(before.error());
  SnapshotTotals totals;
  int64_t n_pieces = 0;
  Json files = Json::array();
  for (const TreeEntry& entry : TRY(all_files_below(folder))) {
    if (entry.is_link) return fail(Code::invalid, "{}/{}: a link", folder, entry.path);
    files.push_back(TRY(upload_snapshot_file(folder, entry.path, store, prefix, n_pieces)));
    totals.n_bytes += entry.n_bytes;
    ++totals.n_files;
  }
  Json manifest{{"format", kSnapshotFormat}, {"version", 1}};
  manifest["files"] = std::move(files);
  const std::string text = manifest.dump() + "\n";
  DigestStream digest = TRY(DigestStream::start(DigestKind::sha256, text.size()));
  digest.add(as_bytes(text));
  TRY(store.put(manifest_name(prefix), text.size(), digest.finish(),
                [&](uint64_t offset, std::span<char> out) {
                  std::ranges::copy(std::string_view(text).substr(offset, out.size()), out.begin());
                  return Status();
                }));
  return totals;
}

// What a process that was killed left under the passing name is removed first.
Result<SnapshotTotals> download_snapshot(ObjectStore& store, const std::string& prefix,
                                         const std::string& folder) {
  if (is_directory(folder) || file_exists(folder)) {
    return fail(Code::invalid, "{}: exists; give a folder that does not", folder);
  }
  const auto files = TRY(read_snapshot_manifest(TRY(download_manifest(store, prefix))));
  const std::string partial = folder + ".partial";
  TRY(remove_tree(partial));
  TRY(make_folder(partial));
  const auto totals = download_snapshot_files(store, prefix, files, partial);
  if (!totals) {
    (void)remove_tree(partial);
    return tl::unexpected(totals.error());
  }
  TRY(rename_file(partial, folder));
  return *totals;
}

}  // namespace ruv

// Opening an index, and the files that a checkpoint writes.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "base/folder.h"
#include "base/json.h"
#include "memory/vector_index.h"

namespace ruv {
namespace {

constexpr int64_t kFormat = 1;
constexpr uint64_t kGraphMagic = 0x3248504152475652;    // "RVGRAPH2"
constexpr uint64_t kNoCodesMagic = 0x3148504152475652;  // "RVGRAPH1": only learnt codes are in it
constexpr int64_t kRowsOfItem = 256;

// The number after "graph-" or "log-"; -1: another file.
int64_t generation_of(const std::string& path, std::string_view kind) {
  const std::string name = file_name_of(path);
  if (!name.starts_with(kind) || name.size() > kind.size() + 18) return -1;
  const std::string_view digits = std::string_view(name).substr(kind.size());
  if (digits.empty() || digits.find_first_not_of("0123456789") != digits.npos) return -1;
  int64_t number = 0;
  for (const char digit : digits) number = number * 10 + (digit - '0');
  return number;
}

FileSeal seal_with(const SharedStoreKeys& keys, int64_t generation) {
  if (keys == nullptr) return {};
  return {&keys->of(StorePart::index), static_cast<uint64_t>(generation)};
}

// The newest log is that of a whole checkpoint: its graph was written before. -1: none.
int64_t newest_generation(const std::string& folder) {
  int64_t newest = -1;
  for (const FolderEntry& file : files_in(folder)) {
    newest = std::max(newest, generation_of(file.path, "log-"));
  }
  return newest;
}

}  // namespace

std::string VectorIndex::path_of(std::string_view kind, int64_t generation) const {
  return fmt::format("{}/{}-{}", options_.folder, kind, generation);
}

FileSeal VectorIndex::seal_of(int64_t generation) const {
  return seal_with(options_.keys, generation);
}

std::string VectorIndex::header() const {
  const HnswOptions& graph = options_.graph;
  Json header;
  header["format"] = kFormat;
  header["label"] = options_.label;
  header["metric"] = name_of(graph.metric);
  header["n_dims"] = graph.n_dims;
  header["m"] = graph.m;
  header["n_looked_at"] = graph.n_looked_at;
  header["codes"] = name_of(graph.codes);
  header["seed"] = graph.seed;
  return header.dump();
}

// Names the first member that differs.
Status VectorIndex::check_header(std::string_view found, const std::string& path) const {
  const std::string wanted = header();
  if (found == wanted) return {};
  const Json has = TRY(parse_json(found, path));
  const Json wants = TRY(parse_json(wanted, path));
  if (!has.is_object()) return fail(Code::corrupt, "{}: the header is not an object", path);
  for (const auto& [name, value] : wants.items()) {
    const Json* const other = has.find(name);
    if (other != nullptr && *other == value) continue;
    return fail(Code::invalid, "{}: the index has {} {}, not {}", options_.folder, name,
                other != nullptr ? other->dump() : "none", value.dump());
  }
  return fail(Code::unsupported, "{}: the header has members of a newer version", path);
}

Result<std::unique_ptr<VectorIndex>> VectorIndex::open(const VectorIndexOptions& options,
                                                       WorkerPool& pool) {
  TRY(check(options.graph));
  TRY(make_folder(options.folder));
  FileLock lock = TRY(FileLock::take(options.folder + "/lock"));
  const SealKey* const key =
      options.keys != nullptr ? &options.keys->of(StorePart::vectors) : nullptr;
  auto rows = std::make_unique<FileRows>(options.folder, options.graph.n_dims, key);
  std::unique_ptr<VectorIndex> index(new VectorIndex(options, std::move(lock), std::move(rows)));
  TRY(index->start(pool));
  return index;
}

Result<VectorIndex::Head> VectorIndex::head_of(const std::string& folder,
                                               const SharedStoreKeys& keys) {
  Head head;
  head.generation = newest_generation(folder);
  if (head.generation < 0) return head;
  const std::string path = fmt::format("{}/log-{}", folder, head.generation);
  const std::string text = TRY(IndexLog::header_of(path, seal_with(keys, head.generation)));
  head.header = TRY(parse_json(text, path));
  if (head.header.is_object()) return head;
  return fail(Code::corrupt, "{}: the header is not an object", path);
}

Result<std::optional<VectorCodes>> VectorIndex::codes_of(const std::string& folder,
                                                         const SharedStoreKeys& keys) {
  const Head head = TRY(head_of(folder, keys));
  if (head.generation < 0) return std::optional<VectorCodes>();
  const Json* const name = head.header.find("codes");
  if (name == nullptr || !name->is_string()) {
    return fail(Code::corrupt, "{}/log-{}: the header names no codes", folder, head.generation);
  }
  const auto codes = vector_codes_of(name->get<std::string>());
  if (!codes) return fail(Code::unsupported, "{}: {}", folder, codes.error().message());
  return std::optional(*codes);
}

Status VectorIndex::start(WorkerPool& pool) {
  generation_ = newest_generation(options_.folder);
  if (generation_ < 0) {
    for (const FolderEntry& file : files_in(options_.folder)) {
      if (generation_of(file.path, "graph-") < 0) continue;
      return fail(Code::corrupt, "{}: the log that belongs to it is missing", file.path);
    }
    generation_ = 0;
    log_.emplace(TRY(IndexLog::create(path_of("log", 0), header(), seal_of(0))));
    return sync_folder(options_.folder);
  }
  const std::string path = path_of("log", generation_);
  const auto visit = [&](IndexLog::Kind kind, Bytes payload) -> Status {
    if (kind != IndexLog::Kind::header) return replay(kind, payload, pool);
    TRY(check_header(as_text(payload), path));
    return generation_ > 0 ? load_graph(pool) : Status();
  };
  log_.emplace(TRY(IndexLog::open(path, visit, seal_of(generation_))));
  TRY(rows_->check_read());
  remove_others();
  return remove_damaged(pool);
}

// What earlier checkpoints left, and later ones that were not finished.
void VectorIndex::remove_others() const {
  for (const FolderEntry& file : files_in(options_.folder)) {
    for (const std::string_view kind : {"graph-", "log-"}) {
      const int64_t found = generation_of(file.path, kind);
      if (found >= 0 && found != generation_) (void)remove_file(file.path);
    }
  }
}

Status VectorIndex::write_graph(int64_t generation) const {
  PieceWriter file = TRY(PieceWriter::create(path_of("graph", generation), seal_of(generation)));
  TRY(file.put(kGraphMagic));
  TRY(graph_.save(file));
  const auto n = static_cast<size_t>(graph_.n_nodes());
  TRY(file.write(std::as_bytes(std::span(ids_).first(n))));
  TRY(file.write(std::as_bytes(std::span(checks_.hashes()).first(n))));
  return file.commit();
}

// After the graph come the ids of its nodes and the hashes of their rows, 8 bytes each.
Status VectorIndex::load_graph(WorkerPool& pool) {
  const std::string path = path_of("graph", generation_);
  const MappedFile mapping = TRY(MappedFile::open(path));
  PieceReader file(mapping.bytes(), path, seal_of(generation_));
  const auto magic = TRY(file.get<uint64_t>());
  if (magic != kGraphMagic && magic != kNoCodesMagic) return file.error("no graph");
  TRY(graph_.load(file, magic == kGraphMagic, pool));
  const auto n = static_cast<size_t>(graph_.n_nodes());
  std::vector<uint64_t> hashes(n);
  ids_.resize(n);
  TRY(file.read(std::as_writable_bytes(std::span(ids_))));
  TRY(file.read(std::as_writable_bytes(std::span(hashes))));
  TRY(file.end());
  TRY(mapping.check_read());
  checks_.resize(n);
  for (uint32_t node = 0; node < n; ++node) checks_.expect(node, hashes[node]);
  const std::vector<uint32_t> live = graph_.live_nodes();
  nodes_.reserve(live.size());
  for (const uint32_t node : live) {
    if (!nodes_.emplace(ids_[node], node).second) return file.error("an id twice");
  }
  // Codes that were made of the rows are as damaged as those.
  const bool reads_rows = options_.removes_damaged || magic == kNoCodesMagic;
  return reads_rows ? know_rows(pool) : Status();
}

Status VectorIndex::check_all(WorkerPool& pool) {
  const Lock held(writing_);
  return know_rows(pool);
}

Status VectorIndex::know_rows(WorkerPool& pool) {
  if (checks_.are_all_known()) return {};
  TRY(check_rows(graph_.used_nodes(), pool));
  TRY(rows_->check_read());
  checks_.know_all();
  return {};
}

// A row that is damaged becomes zeros where it may be left out, so that it can be measured until it
// is removed.
Status VectorIndex::check_rows(std::span<const uint32_t> nodes, WorkerPool& pool) {
  std::vector<uint8_t> is_damaged(nodes.size());
  const int64_t n = std::ssize(nodes);
  pool.run_items((n + kRowsOfItem - 1) / kRowsOfItem, [&](int, int64_t item) {
    for (int64_t at = item * kRowsOfItem; at < std::min(n, (item + 1) * kRowsOfItem); ++at) {
      const auto i = static_cast<size_t>(at);
      is_damaged[i] = checks_.is_sound(nodes[i]) ? 0 : 1;
    }
  });
  const std::vector<float> nothing(static_cast<size_t>(options_.graph.n_dims));
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (is_damaged[i] == 0) continue;
    const uint32_t node = nodes[i];
    if (!options_.removes_damaged) return damage_of(node);
    TRY(graph_.replace_row(node, nothing));
    checks_.set(node, checks_.hash_of(node));
    damaged_.push_back(node);
  }
  return {};
}

// Nodes whose ids were removed, or have another vector now, are damaged no more.
Status VectorIndex::remove_damaged(WorkerPool& pool) {
  std::vector<int64_t> ids;
  for (const uint32_t node : damaged_) {
    const auto named = nodes_.find(ids_[node]);
    if (named != nodes_.end() && named->second == node) ids.push_back(ids_[node]);
  }
  n_damaged_ = std::ssize(ids);
  if (ids.empty()) return {};
  TRY(remove_recorded(ids, pool));
  return write_checkpoint();
}

Status VectorIndex::replay(IndexLog::Kind kind, Bytes payload, WorkerPool& pool) {
  const std::string path = path_of("log", generation_);
  if (kind == IndexLog::Kind::add) return replay_add(payload, pool);
  if (kind == IndexLog::Kind::remove) return replay_remove(payload);
  return fail(Code::corrupt, "{}: a record of kind {}", path, static_cast<uint32_t>(kind));
}

Status VectorIndex::replay_add(Bytes payload, WorkerPool& pool) {
  const size_t n = payload.size() / (sizeof(int64_t) + sizeof(uint64_t));
  std::vector<int64_t> ids(n);
  std::vector<uint64_t> hashes(n);
  if (n * (sizeof(int64_t) + sizeof(uint64_t)) != payload.size()) {
    return fail(Code::corrupt, "{}: a record of {} bytes", path_of("log", generation_),
                payload.size());
  }
  const auto id_bytes = std::as_writable_bytes(std::span(ids));
  std::ranges::copy(payload.first(id_bytes.size()), id_bytes.begin());
  std::ranges::copy(payload.subspan(id_bytes.size()),
                    std::as_writable_bytes(std::span(hashes)).begin());
  if (const Status status = check_ids(ids); !status.ok()) {
    return fail(Code::corrupt, "{}: {}", path_of("log", generation_), status.message());
  }
  TRY(know_rows(pool));
  const std::vector<uint32_t> nodes = TRY(graph_.prepare_written(static_cast<int64_t>(n)));
  name(nodes, ids, hashes);
  for (size_t i = 0; i < nodes.size(); ++i) checks_.expect(nodes[i], hashes[i]);
  TRY(check_rows(nodes, pool));
  checks_.know_all();
  graph_.link_prepared(nodes, pool);
  n_changes_ += std::ssize(ids);
  return {};
}

Status VectorIndex::replay_remove(Bytes payload) {
  std::vector<int64_t> ids(payload.size() / sizeof(int64_t));
  const auto bytes = std::as_writable_bytes(std::span(ids));
  std::ranges::copy(payload.first(bytes.size()), bytes.begin());
  const int64_t n = take_out(ids);
  n_changes_ += n;
  if (n == std::ssize(ids) && payload.size() % sizeof(int64_t) == 0) return {};
  return fail(Code::corrupt, "{}: removes ids that are not there", path_of("log", generation_));
}

Status VectorIndex::copy_to(const std::string& folder) {
  const Lock held(writing_);
  if (n_changes_ > 0 || must_checkpoint_) TRY(write_checkpoint());
  TRY(make_folder(folder));
  if (!files_in(folder).empty()) return fail(Code::invalid, "{}: has files", folder);
  for (const FolderEntry& file : files_in(options_.folder)) {
    const std::string name = file_name_of(file.path);
    if (name == "lock") continue;
    const MappedFile from = TRY(MappedFile::open(file.path));
    FileWriter to = TRY(FileWriter::create(folder + "/" + name, {.readers = FileReaders::owner}));
    TRY(to.write(from.bytes()));
    TRY(from.check_read());
    TRY(to.commit());
  }
  return sync_folder(folder);
}

}  // namespace ruv

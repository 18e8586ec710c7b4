// Vectors in two places, searched as one, and how they get from the one to the other.
#include "memory/disk_vectors.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/folder.h"
#include "base/tree.h"
#include "memory/disk_writer.h"

namespace ruv {
namespace {

constexpr int kOpenTries = 4;
// Packed vectors are looked at by product codes, which tell less than those of an index mostly do.
constexpr int64_t kMoreOnDisk = 2;

Status copy_file(const std::string& from, const std::string& to) {
  const MappedFile mapping = TRY(MappedFile::open(from));
  FileWriter writer = TRY(FileWriter::create(to, {.readers = FileReaders::owner}));
  TRY(writer.write(mapping.bytes()));
  TRY(mapping.check_read());
  return writer.commit();
}

}  // namespace

std::string DiskVectors::disk_path(int64_t number) const {
  return fmt::format("{}/disk-{}", options_.folder, number);
}

std::string DiskVectors::since_path(int64_t number) const {
  return number == 0 ? options_.folder : fmt::format("{}/since-{}", options_.folder, number);
}

Result<int64_t> DiskVectors::packed() const {
  const VectorIndex::Head head = TRY(VectorIndex::head_of(options_.folder, options_.keys));
  const Json* const number = head.header.find("packed");
  if (number == nullptr) return int64_t{0};
  if (options_.keys != nullptr) {
    return fail(Code::unsupported, "{}: it is packed and encrypted", options_.folder);
  }
  if (number->is_number_integer() && number->get<int64_t>() > 0) return number->get<int64_t>();
  return fail(Code::corrupt, "{}/log-{}: packed is {}", options_.folder, head.generation,
              number->dump());
}

Result<std::unique_ptr<DiskIndex>> DiskVectors::open_disk(int64_t number, WorkerPool& pool) const {
  DiskIndexOptions options;
  options.path = disk_path(number);
  options.label = options_.label;
  options.syncs = options_.syncs;
  options.removes_damaged = options_.removes_damaged;
  auto disk = TRY(DiskIndex::open(options, pool));
  const DiskShape& shape = disk->shape();
  if (shape.n_dims == options_.graph.n_dims && shape.metric == options_.graph.metric) return disk;
  return fail(Code::corrupt, "{}: vectors of {} numbers by {}, not of {} by {}", options.path,
              shape.n_dims, name_of(shape.metric), options_.graph.n_dims,
              name_of(options_.graph.metric));
}

// The index has the lock: what the log says once it is open stays.
Result<bool> DiskVectors::try_open(WorkerPool& pool) {
  number_ = TRY(packed());
  VectorIndexOptions options = options_;
  options.folder = since_path(number_);
  auto index = VectorIndex::open(options, pool);
  if (TRY(packed()) != number_) return false;
  if (!index) return tl::unexpected(index.error());
  index_ = std::move(*index);
  if (number_ > 0) disk_ = TRY(open_disk(number_, pool));
  return true;
}

Result<std::unique_ptr<DiskVectors>> DiskVectors::open(const VectorIndexOptions& options,
                                                       WorkerPool& pool) {
  std::unique_ptr<DiskVectors> vectors(new DiskVectors(options));
  for (int tries = 0; tries < kOpenTries; ++tries) {
    if (!TRY(vectors->try_open(pool))) continue;
    vectors->n_damaged_ = vectors->index_->n_damaged() +
                          (vectors->disk_ != nullptr ? vectors->disk_->n_damaged() : 0);
    vectors->remove_others();
    return vectors;
  }
  return fail(Code::unavailable, "{}: another process packs its vectors", options.folder);
}

// Removes what a crash left, and what was packed. A folder that is an index itself is cleared by
// that index.
void DiskVectors::remove_others() const {
  const auto head = VectorIndex::head_of(options_.folder, options_.keys);
  if (!head) return;
  std::vector<std::string> kept = {"lock"};
  if (number_ > 0) {
    kept.push_back(fmt::format("log-{}", head->generation));
    kept.push_back(file_name_of(disk_path(number_)));
    kept.push_back(DiskIndex::path_of_removed(kept.back()));
  }
  for (const FolderEntry& file : files_in(options_.folder)) {
    const std::string name = file_name_of(file.path);
    const bool is_of_index =
        name.starts_with("rows-") || name.starts_with("graph-") || name.starts_with("log-");
    if (std::ranges::find(kept, name) != kept.end()) continue;
    if (name.starts_with("disk-") || (is_of_index && number_ > 0)) (void)remove_file(file.path);
  }
  for (const std::string& name : folders_in(options_.folder)) {
    const std::string path = options_.folder + "/" + name;
    const bool is_ours = name.starts_with("since-") || name == "packing";
    if (is_ours && path != since_path(number_)) (void)remove_tree(path);
  }
}

Status DiskVectors::add(std::span<const int64_t> ids, std::span<const float> vectors,
                        WorkerPool& pool) {
  for (const int64_t id : ids) {
    if (disk_ == nullptr || !disk_->has(id)) continue;
    return fail(Code::invalid, "the index has the id {} already", id);
  }
  return index_->add(ids, vectors, pool);
}

Result<int64_t> DiskVectors::remove(std::span<const int64_t> ids, WorkerPool& pool) {
  int64_t n = TRY(index_->remove(ids, pool));
  if (disk_ != nullptr) n += TRY(disk_->remove(ids));
  return n;
}

// The log that names the others is written last: a copy that was cut short does not open.
Status DiskVectors::copy_to(const std::string& folder) {
  if (disk_ == nullptr) return index_->copy_to(folder);
  TRY(make_folder(folder));
  if (!files_in(folder).empty()) return fail(Code::invalid, "{}: has files", folder);
  TRY(index_->copy_to(folder + "/" + file_name_of(since_path(number_))));
  const std::string disk = disk_path(number_), removed = DiskIndex::path_of_removed(disk);
  TRY(copy_file(disk, folder + "/" + file_name_of(disk)));
  if (file_exists(removed)) TRY(copy_file(removed, folder + "/" + file_name_of(removed)));
  const VectorIndex::Head head = TRY(VectorIndex::head_of(options_.folder, options_.keys));
  const std::string log = fmt::format("/log-{}", head.generation);
  TRY(copy_file(options_.folder + log, folder + log));
  return sync_folder(folder);
}

// Vectors that were packed before are copied to rows that are mapped, as they may be more than fit
// into memory.
Status DiskVectors::write_packed(int64_t number, WorkerPool& pool) const {
  const std::string folder = options_.folder + "/packing";
  TRY(remove_tree(folder));
  std::vector<std::pair<int64_t, const float*>> all;
  auto copies = std::make_unique<FileRows>(folder, options_.graph.n_dims);
  if (disk_ != nullptr) {
    TRY(make_folder(folder));
    const std::vector<int64_t> ids = disk_->ids();
    TRY(copies->grow(std::ssize(ids)));
    for (uint32_t row = 0; row < ids.size(); ++row) {
      const std::vector<float> numbers = TRY(disk_->vector(ids[row]));
      TRY(copies->set(row, numbers.data()));
      all.push_back({ids[row], copies->row(row)});
    }
  }
  DiskWriteOptions options;
  options.metric = options_.graph.metric;
  options.n_dims = options_.graph.n_dims;
  options.label = options_.label;
  const auto write = [&](std::span<const int64_t> ids, std::span<const float* const> rows) {
    for (size_t i = 0; i < ids.size(); ++i) all.push_back({ids[i], rows[i]});
    std::ranges::sort(all);
    std::vector<int64_t> all_ids;
    std::vector<const float*> all_rows;
    for (const auto& [id, row] : all) {
      all_ids.push_back(id);
      all_rows.push_back(row);
    }
    (void)remove_file(disk_path(number));
    (void)remove_file(DiskIndex::path_of_removed(disk_path(number)));
    return write_disk_index(disk_path(number), options, all_ids, all_rows, pool);
  };
  TRY(index_->with_all(write, pool));
  TRY(copies->check_read());
  copies.reset();
  return remove_tree(folder);
}

// From the log on, which is whole or not there, the store has what was packed.
Status DiskVectors::claim(int64_t number) const {
  VectorIndex::Head head = TRY(VectorIndex::head_of(options_.folder, options_.keys));
  head.header["packed"] = number;
  TRY(sync_folder(options_.folder));
  const std::string path = fmt::format("{}/log-{}", options_.folder, head.generation + 1);
  TRY(IndexLog::create(path, head.header.dump()));
  Status status = sync_folder(options_.folder);
  if (!status.ok()) (void)remove_file(path);
  return status;
}

Status DiskVectors::pack_as(int64_t number, WorkerPool& pool) {
  TRY(write_packed(number, pool));
  VectorIndexOptions options = options_;
  options.folder = since_path(number);
  TRY(remove_tree(options.folder));
  auto index = TRY(VectorIndex::open(options, pool));
  auto disk = TRY(open_disk(number, pool));
  TRY(claim(number));
  const auto held = gate_.alone();
  number_ = number;
  index_ = std::move(index);
  disk_ = std::move(disk);
  return {};
}

// Whether it was done or failed, what is not the store's then goes.
Result<bool> DiskVectors::pack(WorkerPool& pool) {
  if (options_.keys != nullptr) {
    return fail(Code::unsupported,
                "{}: an encrypted store cannot be packed, as the file would be plain",
                options_.folder);
  }
  const bool has_removed = disk_ != nullptr && disk_->n_removed() > 0;
  if (index_->size() == 0 && !has_removed) return false;
  const Status status = pack_as(number_ + 1, pool);
  remove_others();
  TRY(Status(status));
  return true;
}

Result<std::vector<DiskVectors::Found>> DiskVectors::search(std::span<const float> query,
                                                            const Query& asked,
                                                            Search& memory) const {
  const auto held = gate_.share();
  NodeSet nodes;
  SearchOptions options{.k = asked.k, .n_looked_at = asked.n_looked_at};
  if (asked.among != nullptr) {
    nodes = index_->nodes_of(*asked.among);
    options.among = &nodes;
  }
  std::vector<Found> found = TRY(index_->search(query, options, memory.graph));
  if (disk_ == nullptr) return found;
  DiskSearchOptions on_disk{.k = asked.k, .n_looked_at = kMoreOnDisk * asked.n_looked_at};
  if (asked.among != nullptr) {
    nodes = disk_->nodes_of(*asked.among);
    on_disk.among = &nodes;
  }
  for (const Found& one : TRY(disk_->search(query, on_disk, memory.disk))) found.push_back(one);
  std::ranges::sort(found, [](const Found& a, const Found& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.id < b.id;
  });
  if (std::ssize(found) > asked.k) found.resize(static_cast<size_t>(std::max<int64_t>(asked.k, 0)));
  return found;
}

bool DiskVectors::has(int64_t id) const {
  const auto held = gate_.share();
  return index_->has(id) || (disk_ != nullptr && disk_->has(id));
}

std::vector<int64_t> DiskVectors::ids() const {
  const auto held = gate_.share();
  std::vector<int64_t> ids = index_->ids();
  if (disk_ == nullptr) return ids;
  const std::vector<int64_t> packed = disk_->ids();
  ids.insert(ids.end(), packed.begin(), packed.end());
  return ids;
}

Result<std::vector<float>> DiskVectors::vector(int64_t id) const {
  const auto held = gate_.share();
  return disk_ != nullptr && disk_->has(id) ? disk_->vector(id) : index_->vector(id);
}

int64_t DiskVectors::size() const {
  const auto held = gate_.share();
  return index_->size() + (disk_ != nullptr ? disk_->size() : 0);
}

int64_t DiskVectors::n_packed() const {
  const auto held = gate_.share();
  return disk_ != nullptr ? disk_->size() : 0;
}

int64_t DiskVectors::n_bytes() const {
  const auto held = gate_.share();
  return index_->n_bytes() + (disk_ != nullptr ? disk_->n_bytes() : 0);
}

}  // namespace ruv

// Opening an index on disk, its blocks, and removals.
#include "memory/disk_index.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/file.h"
#include "base/json.h"

namespace ruv {
namespace {

constexpr size_t kReadAtOnce = size_t{1} << 20;

std::span<std::byte> bytes_in(const Buffer& buffer) {
  return {buffer.get(), static_cast<size_t>(buffer.n_bytes())};
}

float number_of_half(uint16_t half) {
  const int exponent = half >> 10 & 31, mantissa = half & 1023;
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                                   : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return (half >> 15) != 0 ? -size : size;
}

}  // namespace

// Nothing is allocated before the header fits the file's size.
Result<std::unique_ptr<DiskIndex>> DiskIndex::open(const DiskIndexOptions& options,
                                                   WorkerPool& pool) {
  const std::string& path = options.path;
  RandomFile file = TRY(RandomFile::open(path));
  file.expect_parts();
  std::vector<std::byte> page(DiskShape::kPageBytes);
  if (file.n_bytes() < page.size()) return fail(Code::corrupt, "{}: no index on disk", path);
  TRY(file.read_at(0, page));
  DiskHeader header = TRY(DiskHeader::of(page, path));
  if (static_cast<uint64_t>(header.shape.file_bytes()) != file.n_bytes()) {
    return fail(Code::corrupt, "{}: {} bytes, not {}", path, file.n_bytes(),
                header.shape.file_bytes());
  }
  if (header.label != options.label) {
    return fail(Code::invalid, "{}: its vectors are of \"{}\", not \"{}\"", path, header.label,
                options.label);
  }
  DiskCodes codes = TRY(DiskCodes::allocate(header.shape));
  std::unique_ptr<DiskIndex> index(new DiskIndex(options, std::move(file), std::move(header),
                                                 hash_of_disk_header(page), std::move(codes)));
  TRY(index->load());
  TRY(index->load_removed());
  if (options.removes_damaged) TRY(index->remove_damaged(pool));
  TRY(index->fill_cache());
  return index;
}

Status DiskIndex::load_part(int64_t at, std::span<std::byte> part, uint64_t hash,
                            const char* what) const {
  for (size_t done = 0; done < part.size(); done += kReadAtOnce) {
    const size_t n = std::min(kReadAtOnce, part.size() - done);
    TRY(file_.read_at(static_cast<uint64_t>(at) + done, part.subspan(done, n)));
  }
  if (hash_of_disk_part(part) == hash) return {};
  return fail(Code::corrupt, "{}: the {} are damaged", options_.path, what);
}

// Ids are sorted once, so that one is found without a second table of them.
Status DiskIndex::load() {
  const auto n = static_cast<size_t>(shape().n_nodes);
  ids_.resize(n);
  TRY(load_part(shape().centres_at(), codes_.centres(), header_.centres_hash, "centres"));
  TRY(load_part(shape().ids_at(), std::as_writable_bytes(std::span(ids_)), header_.ids_hash,
                "ids"));
  TRY(load_part(shape().codes_at(), codes_.codes(), header_.codes_hash, "codes"));
  if (!codes_.are_centres_numbers()) {
    return fail(Code::corrupt, "{}: a centre that is no vector", options_.path);
  }
  by_id_.resize(n);
  std::iota(by_id_.begin(), by_id_.end(), 0U);
  const auto id_of = [&](uint32_t node) { return ids_[node]; };
  std::ranges::sort(by_id_, {}, id_of);
  if (std::ranges::adjacent_find(by_id_, {}, id_of) == by_id_.end()) return {};
  return fail(Code::corrupt, "{}: an id twice", options_.path);
}

// The log belongs to this file and no other of its name.
std::string DiskIndex::removed_header() const {
  return Json{{"format", 1}, {"removed_from", std::to_string(file_hash_)}}.dump();
}

Status DiskIndex::load_removed() {
  const std::string path = path_of_removed(options_.path);
  if (!file_exists(path)) return {};
  const auto visit = [&](IndexLog::Kind kind, Bytes payload) -> Status {
    if (kind == IndexLog::Kind::header) {
      if (as_text(payload) == removed_header()) return {};
      return fail(Code::corrupt, "{}: not of {}", path, options_.path);
    }
    if (kind != IndexLog::Kind::remove || payload.size() % sizeof(int64_t) != 0) {
      return fail(Code::corrupt, "{}: a record that is no removal", path);
    }
    for (size_t at = 0; at < payload.size(); at += sizeof(int64_t)) {
      int64_t id = 0;
      std::memcpy(&id, payload.data() + at, sizeof id);
      const uint32_t node = node_of(id);
      if (node == kNone) return fail(Code::corrupt, "{}: there is no id {}", path, id);
      removed_.insert(node);
    }
    return {};
  };
  log_.emplace(TRY(IndexLog::open(path, visit)));
  return {};
}

// The blocks that searches come by first are the first ones of the file. One that is damaged is
// left to the search that reads it.
Status DiskIndex::fill_cache() {
  const int64_t block_bytes = shape().block_bytes;
  const int64_t n = std::clamp<int64_t>(options_.cache_bytes / block_bytes, 0, shape().n_blocks());
  cache_ = TRY(Buffer::allocate(n * block_bytes));
  for (; n_cached_ < n; ++n_cached_) {
    const Status status = read_block(n_cached_, cached(n_cached_));
    if (status.code() == Code::corrupt) return {};
    TRY(Status(status));
  }
  return {};
}

std::span<std::byte> DiskIndex::cached(int64_t block) const {
  const auto size = static_cast<size_t>(shape().block_bytes);
  return bytes_in(cache_).subspan(static_cast<size_t>(block) * size, size);
}

Status DiskIndex::read_block(int64_t number, std::span<std::byte> bytes) const {
  TRY(file_.read_at(static_cast<uint64_t>(offset_of(number)), bytes));
  const auto first = static_cast<size_t>(number * shape().nodes_of_block());
  const auto n = static_cast<size_t>(shape().n_nodes_in(number));
  const char* const fault = block_in(number, bytes).fault(std::span(ids_).subspan(first, n));
  if (fault == nullptr) return {};
  return fail(Code::corrupt, "{}: block {} is damaged: {}; removes_damaged opens it without",
              options_.path, number, fault);
}

bool DiskIndex::is_all_removed(int64_t block) const {
  const int64_t first = block * shape().nodes_of_block();
  for (int64_t i = 0; i < shape().n_nodes_in(block); ++i) {
    if (!removed_.has(static_cast<uint32_t>(first + i))) return false;
  }
  return true;
}

Status DiskIndex::check_all(WorkerPool& pool) const {
  std::vector<Status> statuses(static_cast<size_t>(shape().n_blocks()));
  pool.run_items(shape().n_blocks(), [&](int, int64_t block) {
    std::vector<std::byte> bytes(static_cast<size_t>(shape().block_bytes));
    statuses[static_cast<size_t>(block)] = read_block(block, bytes);
  });
  const auto held = gate_.share();
  for (size_t block = 0; block < statuses.size(); ++block) {
    if (!is_all_removed(static_cast<int64_t>(block))) TRY(Status(statuses[block]));
  }
  return {};
}

// A search passes by a damaged block when nothing in it can be found.
Status DiskIndex::remove_damaged(WorkerPool& pool) {
  std::vector<Status> statuses(static_cast<size_t>(shape().n_blocks()));
  pool.run_items(shape().n_blocks(), [&](int, int64_t block) {
    std::vector<std::byte> bytes(static_cast<size_t>(shape().block_bytes));
    statuses[static_cast<size_t>(block)] = read_block(block, bytes);
  });
  std::vector<int64_t> lost;
  for (int64_t block = 0; block < shape().n_blocks(); ++block) {
    const Status& status = statuses[static_cast<size_t>(block)];
    if (status.ok()) continue;
    if (status.code() != Code::corrupt) return status;
    const int64_t first = block * shape().nodes_of_block();
    for (int64_t i = 0; i < shape().n_nodes_in(block); ++i) {
      lost.push_back(ids_[static_cast<size_t>(first + i)]);
    }
  }
  n_damaged_ = TRY(remove(lost));
  return {};
}

uint32_t DiskIndex::node_of(int64_t id) const {
  const auto id_of = [&](uint32_t node) { return ids_[node]; };
  const auto at = std::ranges::lower_bound(by_id_, id, {}, id_of);
  return at != by_id_.end() && ids_[*at] == id ? *at : kNone;
}

NodeSet DiskIndex::nodes_of(std::span<const int64_t> ids) const {
  NodeSet nodes;
  const auto held = gate_.share();
  for (const int64_t id : ids) {
    const uint32_t node = node_of(id);
    if (node != kNone && !removed_.has(node)) nodes.insert(node);
  }
  return nodes;
}

bool DiskIndex::has(int64_t id) const {
  const auto held = gate_.share();
  const uint32_t node = node_of(id);
  return node != kNone && !removed_.has(node);
}

std::vector<int64_t> DiskIndex::ids() const {
  std::vector<int64_t> ids;
  const auto held = gate_.share();
  for (uint32_t node = 0; node < ids_.size(); ++node) {
    if (!removed_.has(node)) ids.push_back(ids_[node]);
  }
  return ids;
}

// Not from the cache: a reader of vectors takes each once.
Result<std::vector<float>> DiskIndex::vector(int64_t id) const {
  const auto held = gate_.share();
  const uint32_t node = node_of(id);
  if (node == kNone || removed_.has(node)) {
    return fail(Code::not_found, "the index has no id {}", id);
  }
  Buffer bytes = TRY(Buffer::allocate(shape().block_bytes));
  const int64_t block = block_of(node);
  TRY(read_block(block, bytes_in(bytes)));
  const DiskNode found =
      block_in(block, bytes_in(bytes)).node(node - block * shape().nodes_of_block());
  std::vector<float> numbers(static_cast<size_t>(shape().n_dims));
  if (!shape().has_halves) {
    std::memcpy(numbers.data(), found.row, numbers.size() * sizeof(float));
    return numbers;
  }
  const auto* const halves = reinterpret_cast<const uint16_t*>(found.row);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = number_of_half(halves[i]) * found.scale;
  return numbers;
}

// The record comes first: what a search does not find any more is removed for good.
Result<int64_t> DiskIndex::remove(std::span<const int64_t> ids) {
  std::vector<int64_t> known;
  NodeSet nodes;
  for (const int64_t id : ids) {
    const uint32_t node = node_of(id);
    if (node == kNone || removed_.has(node) || nodes.has(node)) continue;
    nodes.insert(node);
    known.push_back(id);
  }
  if (known.empty()) return int64_t{0};
  if (!log_) {
    log_.emplace(TRY(IndexLog::create(path_of_removed(options_.path), removed_header())));
  }
  TRY(log_->add(IndexLog::Kind::remove, std::as_bytes(std::span(known))));
  if (options_.syncs) TRY(log_->sync());
  const auto held = gate_.alone();
  nodes.for_each([&](uint32_t node) { removed_.insert(node); });
  return std::ssize(known);
}

int64_t DiskIndex::size() const {
  const auto held = gate_.share();
  return shape().n_nodes - removed_.size();
}

int64_t DiskIndex::n_removed() const {
  const auto held = gate_.share();
  return removed_.size();
}

int64_t DiskIndex::n_bytes() const {
  const auto held = gate_.share();
  return codes_.n_bytes() + cache_.n_bytes() + shape().n_nodes * 12 +
         (removed_.size() > 0 ? shape().n_nodes / 8 : 0);
}

}  // namespace ruv

// What the bytes of an index on disk are. Nothing that a file says is used before it is checked.
#include "memory/disk_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/hash.h"
#include "kernels/kernels.h"

namespace ruv {
namespace {

constexpr uint64_t kDiskMagic = 0x314B534944565552;  // "RUVDISK1"
constexpr uint64_t kMagicOfAnyVersion = 0x004B534944565552;
constexpr size_t kHashedBytes = DiskShape::kPageBytes - DiskShape::kHashBytes;
constexpr size_t kDiskPartBytes = size_t{1} << 20;
// The largest exponent of float16 is that of numbers that are not finite.
constexpr uint16_t kHalfExponentBits = 0x7C00;
constexpr float kMostHalf = 65504;
constexpr int kMostHalfExponent = 15;
constexpr int kLeastScaleExponent = -100;

struct DiskHeaderFields {
  uint64_t magic = kDiskMagic;
  uint32_t metric = 0;
  uint32_t has_halves = 0;
  uint32_t n_dims = 0;
  uint32_t most_links = 0;
  uint32_t block_bytes = 0;
  uint32_t n_entries = 0;
  uint64_t n_nodes = 0;
  std::array<uint32_t, DiskHeader::kMostEntries> entries = {};
  uint64_t centres_hash = 0, ids_hash = 0, codes_hash = 0;
  uint32_t n_label_bytes = 0;
  uint32_t zero = 0;
};
static_assert(sizeof(DiskHeaderFields) == 104);
static_assert(sizeof(DiskHeaderFields) + DiskHeader::kMostLabelBytes <= kHashedBytes);

struct DiskNodeHead {
  int64_t id = 0;
  float scale = 1;
  uint32_t n_links = 0;
};
static_assert(sizeof(DiskNodeHead) == DiskShape::kHeadBytes);

template <class T>
T read_at(std::span<const std::byte> bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <class T>
void write_at(std::span<std::byte> bytes, size_t at, const T& value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

bool are_floats(const std::byte* row, int64_t n) {
  const auto* const numbers = reinterpret_cast<const float*>(row);
  bool are = true;
  for (int64_t i = 0; i < n; ++i) are = are && std::fabs(numbers[i]) <= kMostNumber;
  return are;
}

bool are_halves(const std::byte* row, int64_t n, float scale) {
  if (!(scale > 0 && scale <= kMostNumber / kMostHalf * 2)) return false;
  const auto* const numbers = reinterpret_cast<const uint16_t*>(row);
  bool are = true;
  for (int64_t i = 0; i < n; ++i) {
    are = are && (numbers[i] & kHalfExponentBits) != kHalfExponentBits;
  }
  return are;
}

// A power of two, by which the largest number of a row becomes one that float16 has.
float scale_of(const float* row, int64_t n) {
  float most = 0;
  for (int64_t i = 0; i < n; ++i) most = std::max(most, std::fabs(row[i]));
  int exponent = 0;
  std::frexp(most, &exponent);
  return most > 0 ? std::ldexp(1.0F, std::max(exponent - kMostHalfExponent, kLeastScaleExponent))
                  : 1.0F;
}

}  // namespace

DiskShape DiskShape::of(Metric metric, bool has_halves, int64_t n_dims, int64_t n_nodes,
                        int64_t most_links) {
  DiskShape shape{metric, has_halves, n_dims, n_nodes, most_links, 0};
  const int64_t needed = shape.node_bytes() + kHashBytes;
  shape.block_bytes = (needed + kPageBytes - 1) / kPageBytes * kPageBytes;
  return shape;
}

Status DiskShape::check(const std::string& source) const {
  const auto wrong = [&](std::string_view what, int64_t number) {
    return fail(Code::corrupt, "{}: {} {}", source, number, what);
  };
  const bool is_known =
      metric == Metric::l2 || metric == Metric::cosine || metric == Metric::manhattan;
  if (!is_known) return wrong("as a metric", static_cast<int64_t>(metric));
  if (n_dims < 1 || n_dims > kMostDims) return wrong("numbers of a vector", n_dims);
  if (n_nodes < 0 || n_nodes >= kMostNodes) return wrong("nodes", n_nodes);
  if (most_links < 0 || most_links > kMostLinks) return wrong("links of a node", most_links);
  const bool is_size =
      block_bytes > 0 && block_bytes <= kMostBlockBytes && block_bytes % kPageBytes == 0;
  if (!is_size || nodes_of_block() < 1) return wrong("bytes of a block", block_bytes);
  return {};
}

int64_t DiskShape::n_nodes_in(int64_t block) const {
  return std::min(nodes_of_block(), n_nodes - block * nodes_of_block());
}

uint64_t hash_of_disk_header(Bytes page) { return hash_bytes(page.first(kHashedBytes)); }

uint64_t hash_of_disk_part(Bytes part) {
  uint64_t hash = 0;
  while (!part.empty()) {
    const size_t n = std::min(part.size(), kDiskPartBytes);
    hash = hash_bytes(part.first(n), hash + n);
    part = part.subspan(n);
  }
  return hash;
}

// Zeros follow the label up to the hash.
std::string DiskHeader::bytes() const {
  CHECK(entries.size() <= kMostEntries && label.size() <= kMostLabelBytes);
  DiskHeaderFields fields;
  fields.metric = static_cast<uint32_t>(shape.metric);
  fields.has_halves = shape.has_halves ? 1 : 0;
  fields.n_dims = static_cast<uint32_t>(shape.n_dims);
  fields.most_links = static_cast<uint32_t>(shape.most_links);
  fields.block_bytes = static_cast<uint32_t>(shape.block_bytes);
  fields.n_entries = static_cast<uint32_t>(entries.size());
  fields.n_nodes = static_cast<uint64_t>(shape.n_nodes);
  std::ranges::copy(entries, fields.entries.begin());
  fields.centres_hash = centres_hash;
  fields.ids_hash = ids_hash;
  fields.codes_hash = codes_hash;
  fields.n_label_bytes = static_cast<uint32_t>(label.size());
  std::string page(as_text(std::as_bytes(std::span(&fields, 1))));
  page += label;
  page.resize(DiskShape::kPageBytes);
  const uint64_t hash = hash_of_disk_header(as_bytes(page));
  page.replace(kHashedBytes, sizeof hash, as_text(std::as_bytes(std::span(&hash, 1))));
  return page;
}

Result<DiskHeader> DiskHeader::of(Bytes page, const std::string& source) {
  const auto wrong = [&](std::string_view what) {
    return fail(Code::corrupt, "{}: {}", source, what);
  };
  CHECK(std::ssize(page) == DiskShape::kPageBytes);
  const auto fields = read_at<DiskHeaderFields>(page, 0);
  if ((fields.magic & UINT64_MAX >> 8) != kMagicOfAnyVersion) return wrong("no index on disk");
  if (fields.magic != kDiskMagic) {
    return fail(Code::unsupported, "{}: an index on disk of another version", source);
  }
  if (read_at<uint64_t>(page, kHashedBytes) != hash_of_disk_header(page)) {
    return wrong("the header is damaged");
  }
  if (fields.has_halves > 1) return wrong("numbers are neither float32 nor float16");
  // Wider than the fields, so that none changes.
  if (fields.n_nodes >= uint64_t{DiskShape::kMostNodes}) return wrong("too many nodes");
  if (fields.metric > static_cast<uint32_t>(Metric::manhattan)) return wrong("an unknown metric");
  DiskHeader header;
  header.shape = {static_cast<Metric>(fields.metric),   fields.has_halves == 1, fields.n_dims,
                  static_cast<int64_t>(fields.n_nodes), fields.most_links,      fields.block_bytes};
  TRY(header.shape.check(source));
  const bool has_entries = fields.n_entries > 0;
  if (fields.n_entries > kMostEntries || has_entries != (fields.n_nodes > 0)) {
    return wrong("a wrong number of entries");
  }
  for (uint32_t i = 0; i < fields.n_entries; ++i) {
    if (fields.entries[i] >= fields.n_nodes) return wrong("an entry that is not there");
    header.entries.push_back(fields.entries[i]);
  }
  if (fields.n_label_bytes > kMostLabelBytes) return wrong("a label that is too long");
  header.label = as_text(page.subspan(sizeof fields, fields.n_label_bytes));
  header.centres_hash = fields.centres_hash;
  header.ids_hash = fields.ids_hash;
  header.codes_hash = fields.codes_hash;
  return header;
}

uint32_t DiskNode::link(size_t i) const { return read_at<uint32_t>(links, i * sizeof(uint32_t)); }

// A row, then the head, then the links; what follows of the room for them is zero.
DiskNode DiskBlock::node(int64_t i) const {
  const auto at = static_cast<size_t>(i * shape_.node_bytes());
  const auto row_bytes = static_cast<size_t>(shape_.row_bytes());
  const auto head = read_at<DiskNodeHead>(bytes_, at + row_bytes);
  const std::span<const std::byte> links =
      bytes_.subspan(at + row_bytes + sizeof head, size_t{head.n_links} * sizeof(uint32_t));
  return {bytes_.data() + at, head.id, head.scale, links};
}

void DiskBlock::set(int64_t i, int64_t id, const float* row, std::span<const uint32_t> links) {
  const auto at = static_cast<size_t>(i * shape_.node_bytes());
  const auto row_bytes = static_cast<size_t>(shape_.row_bytes());
  const int64_t step = shape_.step();
  DiskNodeHead head{id, 1, static_cast<uint32_t>(links.size())};
  if (shape_.has_halves) {
    head.scale = scale_of(row, step);
    std::vector<float> scaled(row, row + step);
    for (float& x : scaled) x /= head.scale;
    kernels().to_f16(scaled.data(), reinterpret_cast<uint16_t*>(bytes_.data() + at), step);
  } else {
    std::memcpy(bytes_.data() + at, row, row_bytes);
  }
  write_at(bytes_, at + row_bytes, head);
  if (!links.empty()) {
    std::memcpy(bytes_.data() + at + row_bytes + sizeof head, links.data(), links.size_bytes());
  }
}

// A block of another file or place has another hash.
uint64_t DiskBlock::hash() const {
  const Bytes hashed = bytes_.first(bytes_.size() - DiskShape::kHashBytes);
  return hash_bytes(hashed, file_hash_ + static_cast<uint64_t>(number_));
}

void DiskBlock::seal() { write_at(bytes_, bytes_.size() - DiskShape::kHashBytes, hash()); }

// Also where the hash is right, the bytes may be anybody's: a walk must stay among the nodes, and
// distances must be numbers that have an order.
const char* DiskBlock::fault_of(int64_t i, int64_t id) const {
  const auto at = static_cast<size_t>(i * shape_.node_bytes());
  const auto head = read_at<DiskNodeHead>(bytes_, at + static_cast<size_t>(shape_.row_bytes()));
  if (head.id != id) return "a node has another id";
  if (head.n_links > shape_.most_links) return "a node has too many links";
  const DiskNode one = node(i);
  for (size_t j = 0; j < one.n_links(); ++j) {
    if (one.link(j) >= shape_.n_nodes) return "a link leads to a node that is not there";
  }
  const bool are_numbers = shape_.has_halves ? are_halves(one.row, shape_.step(), one.scale)
                                             : are_floats(one.row, shape_.step());
  return are_numbers ? nullptr : "a number that no vector has";
}

const char* DiskBlock::fault(std::span<const int64_t> ids) const {
  if (read_at<uint64_t>(bytes_, bytes_.size() - DiskShape::kHashBytes) != hash()) {
    return "it has another hash";
  }
  for (int64_t i = 0; i < shape_.n_nodes_in(number_); ++i) {
    if (const char* const found = fault_of(i, ids[static_cast<size_t>(i)])) return found;
  }
  return nullptr;
}

}  // namespace ruv

#include "model/packed_file.h"

#include <algorithm>
#include <atomic>

#include "base/hash.h"
#include "base/thread.h"

namespace ruv {
namespace {

constexpr std::string_view kMagic = "RUVPACK2";
constexpr uint64_t kHeaderBytes = 64;
constexpr uint64_t kMatrixBytes = 2 + 1 + 1 + 5 * 8;  // with an empty name
constexpr uint64_t kAlignment = 4096;                 // of matrices and of the payload's end
constexpr uint32_t kMostAhead = 1 << 20;
constexpr uint64_t kStagingBytes = uint64_t{kMaxPackedSlice} + kPackedBlock;

uint64_t round_up(uint64_t n, uint64_t unit) { return (n + unit - 1) / unit * unit; }
uint64_t n_blocks(uint64_t payload_end) {
  return (payload_end - kPackedBlock + kPackedBlock - 1) / kPackedBlock;
}

// The last 8 bytes of the header are the hash of those before.
uint64_t header_hash(Bytes file) { return hash_bytes(file.first(kHeaderBytes - 8)); }

template <class T>
void put(std::string& out, T number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

std::string directory_text(const std::vector<uint64_t>& block_hashes,
                           const std::vector<PackedMatrix>& matrices,
                           const FoundReadAhead& read_ahead) {
  std::string out;
  for (const uint64_t hash : block_hashes) put(out, hash);
  for (const PackedMatrix& m : matrices) {
    put(out, static_cast<uint16_t>(m.name.size()));
    out += m.name;
    put(out, m.dtype);
    put(out, m.mr);
    for (const uint64_t number : {m.n_out, m.n_in, m.rows_hash, m.n_bytes, m.offset})
      put(out, number);
  }
  put(out, read_ahead.processor_id);
  put(out, static_cast<uint8_t>(read_ahead.distances.size()));
  for (const ReadAhead& distance : read_ahead.distances) {
    put(out, static_cast<uint8_t>(distance.dtype));
    put(out, distance.n_bytes);
  }
  return out;
}

Result<PackedMatrix> read_matrix(ByteReader& in, uint64_t payload_end) {
  PackedMatrix m;
  const auto n_name = TRY(in.read<uint16_t>("length of a name"));
  m.name = as_text(TRY(in.take(n_name, "name")));
  m.dtype = TRY(in.read<uint8_t>("type"));
  m.mr = TRY(in.read<uint8_t>("rows of a group"));
  m.n_out = TRY(in.read<uint64_t>("rows"));
  m.n_in = TRY(in.read<uint64_t>("columns"));
  m.rows_hash = TRY(in.read<uint64_t>("hash of the rows"));
  m.n_bytes = TRY(in.read<uint64_t>("size"));
  m.offset = TRY(in.read<uint64_t>("offset"));
  const bool inside = m.offset >= kPackedBlock && m.offset % kAlignment == 0 &&
                      m.offset <= payload_end && m.n_bytes <= payload_end - m.offset;
  if (!inside) return in.error("offset", "a matrix outside the payload");
  return m;
}

Result<FoundReadAhead> read_found_read_ahead(ByteReader& in) {
  FoundReadAhead found;
  found.processor_id = TRY(in.read<uint64_t>("processor"));
  const auto n = TRY(in.read<uint8_t>("number of distances"));
  for (int i = 0; i < n; ++i) {
    const auto dtype = TRY(in.read<uint8_t>("type of a distance"));
    const auto n_bytes = TRY(in.read<uint32_t>("distance"));
    if (n_bytes > kMostAhead) return in.error("distance", "farther than any that is tried");
    found.distances.push_back({static_cast<DType>(dtype), n_bytes});
  }
  return found;
}

}  // namespace

std::string PackedKey::text() const { return fmt::format("{:016x}{:016x}", words[0], words[1]); }

bool PackedMatrix::same_matrix(const PackedMatrix& other) const {
  return name == other.name && dtype == other.dtype && mr == other.mr && n_out == other.n_out &&
         n_in == other.n_in && rows_hash == other.rows_hash && n_bytes == other.n_bytes;
}

Result<PackedDirectory> read_packed_directory(Bytes file, const std::string& source) {
  PackedDirectory out;
  ByteReader header(file.first(std::min<size_t>(file.size(), kHeaderBytes)), source);
  if (as_text(TRY(header.take(kMagic.size(), "magic"))) != kMagic)
    return header.error("magic", "not a packed-weights file of this version");
  const auto n_matrices = TRY(header.read<uint64_t>("number of matrices"));
  for (uint64_t& word : out.key.words) word = TRY(header.read<uint64_t>("key"));
  out.payload_end = TRY(header.read<uint64_t>("end of the payload"));
  const auto n_directory = TRY(header.read<uint64_t>("size of the directory"));
  out.directory_hash = TRY(header.read<uint64_t>("hash of the directory"));
  TRY(header.read<uint64_t>("hash of the header"));

  const bool fits = out.payload_end >= kPackedBlock && out.payload_end <= file.size() &&
                    out.payload_end % kAlignment == 0 &&
                    n_directory == file.size() - out.payload_end;
  if (!fits) return header.error("end of the payload", "sizes that are not those of the file");
  ByteReader in(file.subspan(out.payload_end), source + ": directory");
  const uint64_t hash_size = n_blocks(out.payload_end) * sizeof(uint64_t);
  const Bytes hashes = TRY(in.take(hash_size, "hashes of the blocks"));
  out.block_hashes.resize(hash_size / sizeof(uint64_t));
  if (hash_size > 0) std::memcpy(out.block_hashes.data(), hashes.data(), hash_size);
  if (n_matrices > in.remaining() / kMatrixBytes)
    return in.error("number of matrices", "more than the directory has room for");
  for (uint64_t i = 0; i < n_matrices; ++i) {
    PackedMatrix matrix = TRY(read_matrix(in, out.payload_end));
    std::string name = matrix.name;
    if (!out.matrices.emplace(std::move(name), std::move(matrix)).second)
      return in.error("name", "two matrices of one name");
  }
  out.read_ahead = TRY(read_found_read_ahead(in));
  if (in.remaining() != 0) return in.error("directory", "more bytes than it needs");
  return out;
}

Result<PackedFile> PackedFile::open(const std::string& path, const PackedKey& key, WorkerPool& pool,
                                    const std::function<void(double)>& progress) {
  PackedFile packed;
  packed.file_ = std::make_shared<const MappedFile>(TRY(MappedFile::open(path)));
  packed.file_->expect_full_read();
  const Bytes bytes = packed.file_->bytes();
  packed.directory_ = TRY(read_packed_directory(bytes, path));
  uint64_t stored = 0;
  std::memcpy(&stored, bytes.data() + kHeaderBytes - 8, sizeof stored);
  if (stored != header_hash(bytes)) return fail(Code::corrupt, "{}: the header is damaged", path);
  if (packed.directory_.key != key)
    return fail(Code::corrupt, "{}: made for another model or machine", path);
  if (hash_bytes(bytes.subspan(packed.directory_.payload_end)) != packed.directory_.directory_hash)
    return fail(Code::corrupt, "{}: the directory is damaged", path);
  TRY(packed.check_payload(pool, progress));
  return packed;
}

// Blocks are taken in order by whichever thread is free, so that a disk reads nearly front to back.
Status PackedFile::check_payload(WorkerPool& pool,
                                 const std::function<void(double)>& progress) const {
  const uint64_t n = directory_.block_hashes.size();
  const Bytes payload = file_->bytes().first(directory_.payload_end).subspan(kPackedBlock);
  std::atomic<uint64_t> damaged{n};
  pool.run_items(static_cast<int64_t>(n), [&](int thread, int64_t item) {
    const auto i = static_cast<uint64_t>(item);
    const uint64_t begin = i * kPackedBlock;
    const uint64_t size = std::min<uint64_t>(kPackedBlock, payload.size() - begin);
    if (hash_bytes(payload.subspan(begin, size), i) != directory_.block_hashes[i]) damaged = i;
    if (thread == 0 && progress) progress(static_cast<double>(i) / static_cast<double>(n));
  });
  if (damaged == n) return {};
  return fail(Code::corrupt, "{}: damaged within {} bytes from offset {}", file_->path(),
              kPackedBlock, (damaged + 1) * kPackedBlock);
}

const PackedMatrix* PackedFile::find(const PackedMatrix& expected) const {
  const auto found = directory_.matrices.find(expected.name);
  if (found == directory_.matrices.end() || !found->second.same_matrix(expected)) return nullptr;
  return &found->second;
}

SharedBytes PackedFile::bytes_of(const PackedMatrix& matrix) const {
  return {file_->bytes().subspan(matrix.offset, matrix.n_bytes), file_};
}

std::vector<Bytes> PackedFile::parts() const {
  std::vector<Bytes> parts;
  for (const auto& [name, matrix] : directory_.matrices)
    parts.push_back(file_->bytes().subspan(matrix.offset, matrix.n_bytes));
  return parts;
}

std::vector<Bytes> PackedFileWriter::parts() const {
  std::vector<Bytes> parts;
  for (const PackedMatrix& matrix : matrices_)
    parts.push_back(mapping()->bytes().subspan(matrix.offset, matrix.n_bytes));
  return parts;
}

Result<std::unique_ptr<PackedFileWriter>> PackedFileWriter::create(const std::string& path,
                                                                   const PackedKey& key,
                                                                   uint64_t max_bytes) {
  Buffer front = TRY(Buffer::allocate(kStagingBytes));
  Buffer back = TRY(Buffer::allocate(kStagingBytes));
  SharedFileWriter file = TRY(SharedFileWriter::create(path, max_bytes));
  // The header's block, so that a file without payload is as long as it says.
  TRY(file.write_at(0, Bytes(front.get(), kPackedBlock)));
  std::unique_ptr<PackedFileWriter> writer(new PackedFileWriter(std::move(file), key, max_bytes));
  writer->front_ = std::move(front);
  writer->back_ = std::move(back);
  return writer;
}

Result<SharedBytes> PackedFileWriter::begin(PackedMatrix matrix) {
  const uint64_t padding = round_up(position(), kAlignment) - position();
  if (padding > 0) std::memset(TRY(next(static_cast<int64_t>(padding))), 0, padding);
  matrix.offset = position();
  // The directory must find room too.
  const uint64_t room = max_bytes_ > position() ? max_bytes_ - position() : 0;
  if (matrix.n_bytes > room || room - matrix.n_bytes < kPackedBlock)
    return fail(Code::out_of_memory, "the packed weights grow beyond the {} bytes reserved",
                max_bytes_);
  SharedBytes bytes(file_.mapping()->bytes().subspan(matrix.offset, matrix.n_bytes),
                    file_.mapping());
  matrices_.push_back(std::move(matrix));
  return bytes;
}

Result<std::byte*> PackedFileWriter::next(int64_t n_bytes) {
  if (n_bytes > kMaxPackedSlice)
    return fail(Code::unsupported, "a group of {} bytes is too large for a packed file", n_bytes);
  if (used_ + static_cast<uint64_t>(n_bytes) > kStagingBytes)
    TRY(hand_over(used_ / kPackedBlock * kPackedBlock));
  std::byte* const at = front_.get() + used_;
  used_ += static_cast<uint64_t>(n_bytes);
  return at;
}

// The first n_bytes of what is filled go to the writing thread, the rest stays in front.
Status PackedFileWriter::hand_over(uint64_t n_bytes) {
  TRY(wait());
  std::memcpy(back_.get(), front_.get() + n_bytes, used_ - n_bytes);
  std::swap(front_, back_);
  const Bytes bytes(back_.get(), n_bytes);
  const uint64_t offset = front_offset_;
  front_offset_ += n_bytes;
  used_ -= n_bytes;
  writing_ = run_beside([this, bytes, offset]() -> Status {
    for (uint64_t at = 0; at < bytes.size(); at += kPackedBlock) {
      const Bytes block = bytes.subspan(at, std::min<uint64_t>(kPackedBlock, bytes.size() - at));
      block_hashes_.push_back(hash_bytes(block, block_hashes_.size()));
    }
    return file_.write_at(offset, bytes);
  });
  return {};
}

Status PackedFileWriter::wait() { return writing_.valid() ? writing_.get() : Status(); }

Status PackedFileWriter::flush() {
  const uint64_t padding = round_up(position(), kAlignment) - position();
  if (padding > 0) std::memset(TRY(next(static_cast<int64_t>(padding))), 0, padding);
  TRY(hand_over(used_));
  TRY(wait());
  front_ = {};
  back_ = {};
  return {};
}

Status PackedFileWriter::publish() {
  const std::string directory = directory_text(block_hashes_, matrices_, read_ahead_);
  const uint64_t payload_end = position();
  TRY(file_.write_at(payload_end, as_bytes(directory)));
  std::string header(kMagic);
  put(header, static_cast<uint64_t>(matrices_.size()));
  for (const uint64_t number :
       {key_.words[0], key_.words[1], payload_end, static_cast<uint64_t>(directory.size()),
        hash_bytes(as_bytes(directory))})
    put(header, number);
  put(header, hash_bytes(as_bytes(header)));
  TRY(file_.write_at(0, as_bytes(header)));
  return file_.commit();
}

}  // namespace ruv

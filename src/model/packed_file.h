// The packed-weights file: matrices as one instruction set multiplies them, to be mapped and used
// in place. Layout: docs/formats/packed-weights.md. Every byte of it is hashed; a file that is
// wrong in any way is worth nothing and costs nothing, because it can be written again.
#pragma once

#include <functional>
#include <map>

#include "base/buffer.h"
#include "base/file.h"
#include "base/thread.h"
#include "base/worker_pool.h"
#include "device/read_ahead.h"

namespace ruv {

// Payload begins after one block, each block has its hash, and writes are whole blocks on block
// boundaries: the page cache then holds huge pages, which the mapping uses as they are.
inline constexpr uint64_t kPackedBlock = uint64_t{2} << 20;
// Most bytes PackedFileWriter::next gives at once.
inline constexpr int64_t kMaxPackedSlice = int64_t{30} << 20;

// What a packed file was made from and for; see model/packed_key.h.
struct PackedKey {
  uint64_t words[2] = {};
  bool operator==(const PackedKey&) const = default;
  // 32 hexadecimal digits.
  std::string text() const;
};

// A matrix of the file. All but `offset` must be what the loader expects of a matrix of this name.
struct PackedMatrix {
  std::string name;
  uint8_t dtype = 0;
  uint8_t mr = 0;
  uint64_t n_out = 0;
  uint64_t n_in = 0;
  uint64_t rows_hash = 0;  // where each row comes from
  uint64_t n_bytes = 0;
  uint64_t offset = 0;
  bool same_matrix(const PackedMatrix& other) const;
};

// What was fastest on a processor (Device::find_read_ahead).
struct FoundReadAhead {
  uint64_t processor_id = 0;
  std::vector<ReadAhead> distances;
};

struct PackedDirectory {
  PackedKey key;
  uint64_t payload_end = 0;
  uint64_t directory_hash = 0;
  std::vector<uint64_t> block_hashes;
  std::map<std::string, PackedMatrix, std::less<>> matrices;
  FoundReadAhead read_ahead;
};
// The directory of a whole file, every field checked against the bytes there are; hashes are read
// and not compared. Fails: corrupt.
Result<PackedDirectory> read_packed_directory(Bytes file, const std::string& source);

// A packed file opened for reading. Copies share the mapping.
class PackedFile {
 public:
  // Compares the hashes of header, directory and, on all threads of `pool`, payload: about 30 ms a
  // GB when the system still has the file in memory. `progress` is called from one thread.
  // Fails: not_found, corrupt (also another key).
  static Result<PackedFile> open(const std::string& path, const PackedKey& key, WorkerPool& pool,
                                 const std::function<void(double)>& progress);

  // Null when there is no such matrix, or one that differs in anything but its place.
  const PackedMatrix* find(const PackedMatrix& expected) const;
  SharedBytes bytes_of(const PackedMatrix& matrix) const;
  // The bytes of all matrices.
  std::vector<Bytes> parts() const;
  const FoundReadAhead& read_ahead() const { return directory_.read_ahead; }
  const std::shared_ptr<const MappedFile>& file() const { return file_; }

 private:
  Status check_payload(WorkerPool& pool, const std::function<void(double)>& progress) const;
  std::shared_ptr<const MappedFile> file_;
  PackedDirectory directory_;
};

// Writes a packed file from front to back while the matrices are packed, and gives the memory they
// are used from afterwards: the file's own pages, so that weights are held once. Hashing and
// writing run on a thread of their own beside the packing.
class PackedFileWriter {
 public:
  // Fails: as SharedFileWriter::create.
  static Result<std::unique_ptr<PackedFileWriter>> create(const std::string& path,
                                                          const PackedKey& key, uint64_t max_bytes);

  // Begins a matrix (its offset is set here) and gives its bytes, which may be read after flush().
  // Fails: out_of_memory (the file would become larger than max_bytes), or what a write said.
  Result<SharedBytes> begin(PackedMatrix matrix);
  // Memory for the next n_bytes of the matrix, to be filled before the next call of anything.
  // Fails: unsupported (n_bytes above kMaxPackedSlice), or what a write said.
  Result<std::byte*> next(int64_t n_bytes);
  // Writes what is left of the payload. After it, all matrices may be read, published or not.
  Status flush();
  // What the weights are used from.
  const std::shared_ptr<const MappedFile>& mapping() const { return file_.mapping(); }
  // The bytes of all matrices so far.
  std::vector<Bytes> parts() const;
  // For readers of the file.
  void keep(FoundReadAhead found) { read_ahead_ = std::move(found); }
  // Adds directory and header and gives the file its name. Requires: flush() succeeded.
  Status publish();

 private:
  PackedFileWriter(SharedFileWriter file, const PackedKey& key, uint64_t max_bytes)
      : file_(std::move(file)), key_(key), max_bytes_(max_bytes) {}
  Status hand_over(uint64_t n_bytes);
  Status wait();
  uint64_t position() const { return front_offset_ + used_; }

  SharedFileWriter file_;
  PackedKey key_;
  uint64_t max_bytes_;
  std::vector<PackedMatrix> matrices_;
  FoundReadAhead read_ahead_;
  std::vector<uint64_t> block_hashes_;  // the writing thread's between hand_over() and wait()
  Buffer front_;                        // being filled
  Buffer back_;                         // being written
  uint64_t front_offset_ = kPackedBlock;
  uint64_t used_ = 0;
  Pending<Status> writing_;
};

}  // namespace ruv

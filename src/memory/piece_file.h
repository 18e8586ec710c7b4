// A file that is written and read from its beginning to its end in pieces, with a hash of all that
// came before after each: damage is found before what is damaged is used. For snapshots.
//
// A piece is {u32 n_bytes, bytes, u64 hash}; the last piece is empty. All numbers are
// little-endian. With a key it is {u32 n_bytes, nonce, sealed bytes, tag}, bound to the file's
// generation and to the length and the tag of the piece before.
#pragma once

#include <array>
#include <cstring>
#include <string>

#include "base/file.h"
#include "memory/file_seal.h"

namespace ruv {

using PieceTag = std::array<std::byte, kSealTagBytes>;

class PieceWriter {
 public:
  // As FileWriter::create; what is there is replaced.
  static Result<PieceWriter> create(const std::string& path, const FileSeal& seal = {});

  Status write(Bytes bytes);
  template <class T>
  Status put(const T& number) {
    static_assert(std::is_trivially_copyable_v<T>);
    return write(std::as_bytes(std::span<const T, 1>(&number, 1)));
  }
  // Writes the end, syncs, and gives the file its name. Fails: as FileWriter.
  Status commit();

 private:
  PieceWriter(FileWriter file, const FileSeal& seal) : file_(std::move(file)), seal_(seal) {}
  Status flush();
  Status flush_sealed();

  FileWriter file_;
  FileSeal seal_;
  PieceTag tag_ = {};  // of the piece before
  std::string piece_;
  uint64_t hash_ = 0;
};

class PieceReader {
 public:
  // Requires: `bytes` lives as long. `source` is quoted in errors.
  PieceReader(Bytes bytes, std::string source, const FileSeal& seal = {})
      : bytes_(bytes), source_(std::move(source)), seal_(seal) {}

  // Fills `bytes`. Fails: corrupt (damage, or the file ends before), by the byte where the piece
  // begins.
  Status read(std::span<std::byte> bytes);
  template <class T>
  Result<T> get() {
    static_assert(std::is_trivially_copyable_v<T>);
    T number;
    TRY(read(std::as_writable_bytes(std::span<T, 1>(&number, 1))));
    return number;
  }
  // Fails: corrupt (something follows).
  Status end();
  // An error of what was read last.
  tl::unexpected<Status> error(std::string_view what) const;
  // Bytes of the file that were not looked at yet.
  uint64_t n_left() const { return bytes_.size() - offset_ + left_.size(); }

 private:
  Status next();
  Status next_sealed();

  Bytes bytes_;
  std::string source_;
  FileSeal seal_;
  PieceTag tag_ = {};   // of the piece before
  std::string opened_;  // the piece, where it was sealed
  uint64_t offset_ = 0;
  Bytes left_;  // of the piece
  uint64_t hash_ = 0;
  bool has_ended_ = false;
};

}  // namespace ruv

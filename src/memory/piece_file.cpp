#include "memory/piece_file.h"

#include <algorithm>

#include "base/hash.h"

namespace ruv {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;

template <class T>
Bytes bytes_of(const T& number) {
  return std::as_bytes(std::span<const T, 1>(&number, 1));
}

// What a sealed piece is bound to. Before the first piece the tag is zeros.
std::array<std::byte, 32> piece_bound(const FileSeal& seal, uint64_t n_bytes, const PieceTag& tag) {
  std::array<std::byte, 32> bound;
  put(bound, 0, seal.generation);
  put(bound, 8, n_bytes);
  put(bound, 16, tag);
  return bound;
}

}  // namespace

Result<PieceWriter> PieceWriter::create(const std::string& path, const FileSeal& seal) {
  return PieceWriter(
      TRY(FileWriter::create(path, {.readers = FileReaders::owner, .replace = true})), seal);
}

Status PieceWriter::write(Bytes bytes) {
  while (!bytes.empty()) {
    const size_t n = std::min(bytes.size(), kPieceBytes - piece_.size());
    piece_ += as_text(bytes.first(n));
    bytes = bytes.subspan(n);
    if (piece_.size() == kPieceBytes) TRY(flush());
  }
  return {};
}

Status PieceWriter::flush_sealed() {
  std::string sealed;
  append_sealed(sealed, *seal_.key, as_bytes(piece_), piece_bound(seal_, piece_.size(), tag_));
  std::ranges::copy(as_bytes(sealed).last(tag_.size()), tag_.begin());
  TRY(file_.write(bytes_of(static_cast<uint32_t>(piece_.size()))));
  piece_.clear();
  return file_.write(as_bytes(sealed));
}

Status PieceWriter::flush() {
  if (seal_.key != nullptr) return flush_sealed();
  hash_ = hash_bytes(as_bytes(piece_), hash_ + piece_.size());
  TRY(file_.write(bytes_of(static_cast<uint32_t>(piece_.size()))));
  TRY(file_.write(as_bytes(piece_)));
  piece_.clear();
  return file_.write(bytes_of(hash_));
}

Status PieceWriter::commit() {
  if (!piece_.empty()) TRY(flush());
  TRY(flush());
  return file_.commit();
}

tl::unexpected<Status> PieceReader::error(std::string_view what) const {
  return fail(Code::corrupt, "{}: offset {}: {}", source_, offset_, what);
}

Status PieceReader::next_sealed() {
  ByteReader reader(bytes_.subspan(offset_), source_);
  const auto n = reader.read<uint32_t>("length");
  if (!n || *n > kPieceBytes || reader.remaining() < *n + kSealedExtraBytes) {
    return error("no whole piece");
  }
  const Bytes sealed = *reader.take(*n + kSealedExtraBytes, "piece");
  opened_.resize(*n);
  const auto room = std::as_writable_bytes(std::span(opened_));
  if (!open_sealed(*seal_.key, sealed, piece_bound(seal_, *n, tag_), room)) {
    return error("the piece is damaged, or of another key");
  }
  std::ranges::copy(sealed.last(tag_.size()), tag_.begin());
  offset_ += reader.offset();
  left_ = as_bytes(opened_);
  has_ended_ = opened_.empty();
  return {};
}

// The hash of a piece depends on its length as well, so that none can be cut or joined.
Status PieceReader::next() {
  if (has_ended_) return error("the file has ended");
  if (seal_.key != nullptr) return next_sealed();
  ByteReader reader(bytes_.subspan(offset_), source_);
  const auto n = reader.read<uint32_t>("length");
  if (!n || *n > kPieceBytes || reader.remaining() < *n + sizeof hash_) {
    return error("no whole piece");
  }
  const Bytes piece = *reader.take(*n, "piece");
  const uint64_t hash = hash_bytes(piece, hash_ + *n);
  if (*reader.read<uint64_t>("hash") != hash) return error("the piece is damaged");
  hash_ = hash;
  offset_ += reader.offset();
  left_ = piece;
  has_ended_ = piece.empty();
  return {};
}

Status PieceReader::read(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    if (left_.empty()) TRY(next());
    if (has_ended_) return error("the file ends too early");
    const size_t n = std::min(bytes.size(), left_.size());
    std::copy_n(left_.data(), n, bytes.data());
    bytes = bytes.subspan(n);
    left_ = left_.subspan(n);
  }
  return {};
}

Status PieceReader::end() {
  if (!left_.empty()) return error("more than expected");
  TRY(next());
  if (!has_ended_ || offset_ != bytes_.size()) return error("more than expected");
  return {};
}

}  // namespace ruv

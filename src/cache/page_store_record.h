// The bytes of the page store's files: the header of a segment and the header of a page record,
// plain (hashes notice damage) or sealed (XChaCha20-Poly1305 hides and authenticates cells, scope
// and payload). docs/formats/page-store.md has the layout.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/sealing.h"
#include "cache/prefix_cell.h"

namespace ruv {

inline constexpr size_t kSegmentHeaderBytes = 512;
inline constexpr size_t kRecordHeaderBytes = 576;
inline constexpr size_t kMaxScopeBytes = 344;
inline constexpr size_t kMaxLayoutBytes = 400;

using SegmentHeader = std::array<std::byte, kSegmentHeaderBytes>;
using RecordHeader = std::array<std::byte, kRecordHeaderBytes>;
using StateTag = std::array<std::byte, kSealTagBytes>;

// Stands for a scope and all cells up to the end of a page: two hashes of the prefix before it and
// of its cells.
struct PrefixHash {
  uint64_t words[2] = {};
  bool operator==(const PrefixHash&) const = default;
};
PrefixHash prefix_of_scope(std::string_view scope);
PrefixHash prefix_with(const PrefixHash& before, const PageCells& cells);

// What a record says of itself besides its payload.
struct RecordLabel {
  int64_t id = 0;
  int64_t parent = -1;  // the record of the page before; -1: the first page of its scope
  PrefixHash before;    // of the parent, or of the scope
  PageCells cells = {};
  std::string scope;       // of first pages; otherwise empty
  bool has_state = false;  // the running states at the end of the page follow it

  PrefixHash prefix() const { return prefix_with(before, cells); }
};

// Writes and checks the bytes of one store's files. Immutable: any number of threads.
class RecordCodec {
 public:
  // What a store's records must agree on. Requires: layout.size() <= kMaxLayoutBytes.
  struct Origin {
    uint64_t model_hash[2] = {};
    std::string layout;
    uint64_t payload_bytes = 0;
    uint64_t state_bytes = 0;  // of a checkpoint; 0: the model has no running states
  };

  // Fails: internal (the encryption library does not start).
  static Result<RecordCodec> create(const Origin& origin, const std::optional<SealKey>& key);

  bool sealed() const { return keys_.sealed(); }
  // Bytes of a slot: header and payload, to a multiple of 64. A record takes one, and as many more
  // as a state and its tag need if it has one.
  uint64_t stride() const;
  uint32_t n_slots(bool has_state) const;
  int64_t record_bytes(bool has_state) const;
  uint64_t payload_bytes() const { return origin_.payload_bytes; }
  uint64_t state_bytes() const { return origin_.state_bytes; }

  SegmentHeader segment_header(uint32_t number) const;
  // Why a segment with this header is not read; empty: it is ours.
  std::string refusal(const SegmentHeader& header, uint32_t number) const;
  // The bytes with which a segment of any model and version begins.
  static Bytes segment_magic();

  // The header of a record. `payload` is sealed in place when the codec has a key.
  // Requires: payload_bytes() bytes, label.scope.size() <= kMaxScopeBytes.
  RecordHeader close(const RecordLabel& label, std::span<std::byte> payload) const;
  // The label, or nothing when any bit of it is not as written or of another origin.
  std::optional<RecordLabel> open_label(const RecordHeader& header) const;
  // Checks the payload against an opened header and unseals it in place; false: not as written.
  bool open_payload(const RecordHeader& header, std::span<std::byte> payload) const;
  // The same for a state; it has a tag of its own, since most reads of a page do not need it.
  // Requires: state_bytes() bytes.
  StateTag close_state(const RecordHeader& header, int64_t id, std::span<std::byte> state) const;
  bool open_state(const RecordHeader& header, int64_t id, const StateTag& tag,
                  std::span<std::byte> state) const;

 private:
  RecordCodec(const Origin& origin, const std::optional<SealKey>& key);
  uint32_t version() const;
  std::optional<RecordLabel> read_label(Bytes label) const;

  Origin origin_;
  std::string binding_;  // the origin as bytes that every label is bound to
  SealKeys keys_;
};

}  // namespace ruv

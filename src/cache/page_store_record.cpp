#include "cache/page_store_record.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"

namespace ruv {
namespace {

constexpr std::string_view kSegmentMagic = "RUVPAGES";
constexpr std::string_view kRecordMagic = "RUVPAGE2";
// Version 3 is 2 with checkpoints: files of models without running states are the same in both.
constexpr uint32_t kVersion = 2;
constexpr uint32_t kVersionWithStates = 3;
constexpr std::string_view kKeyContext = "ruvpages";
// Labels, payloads and states share a record's nonce, so each has a key of its own.
enum PageKeyUse : size_t { kHeaders, kLabels, kPayloads, kStates };

struct HeaderField {
  size_t offset;
  size_t size;
};

// Segment header:
//   0 magic │ 8 version │ 12 sealed │ 16 number │ 24 payload bytes │ 32 model hash
//   48 nonce │ 72 tag │ 88 length of the layout │ 96 layout │ 496 state bytes
//   504 hash of all before
constexpr HeaderField kSegmentOrigin = {0, 48};
constexpr HeaderField kSegmentNonce = {48, 24};
constexpr HeaderField kSegmentTag = {72, 16};
constexpr size_t kLayoutLength = 88;
constexpr HeaderField kLayout = {96, kMaxLayoutBytes};
constexpr size_t kStateBytes = 496;
constexpr size_t kSegmentHash = 504;
static_assert(kLayout.offset + kLayout.size <= kStateBytes);

// Record header:
//   0 magic │ 8 tag or hash of the label │ 24 nonce │ 48 tag or hash of the payload │ 64 label
// Label:
//   0 id │ 8 parent │ 16 prefix before │ 32 cells │ 160 length of the scope │ 164 has a state
//   168 scope
constexpr HeaderField kMagic = {0, 8};
constexpr HeaderField kLabelTag = {8, 16};
constexpr HeaderField kNonce = {24, 24};
constexpr HeaderField kPayloadTag = {48, 16};
constexpr HeaderField kLabel = {64, kRecordHeaderBytes - 64};
constexpr HeaderField kHashed = {24,
                                 kRecordHeaderBytes - 24};  // in plain records, by the label's hash
constexpr HeaderField kPayloadBinding = {8, 40};            // the label's tag and the nonce
constexpr size_t kScopeLength = 160;
constexpr size_t kHasState = 164;
constexpr size_t kScope = 168;
static_assert(kScope + kMaxScopeBytes <= kLabel.size);
static_assert(kNonce.size == kSealNonceBytes);
static_assert(kLabelTag.size == kSealTagBytes);

template <size_t N>
std::span<std::byte> part(std::array<std::byte, N>& of, HeaderField field) {
  return std::span(of).subspan(field.offset, field.size);
}
template <size_t N>
Bytes part(const std::array<std::byte, N>& of, HeaderField field) {
  return std::span(of).subspan(field.offset, field.size);
}

void put_bytes(std::span<std::byte> to, Bytes from) {
  std::copy(from.begin(), from.end(), to.begin());
}

uint64_t hash_of_label(const RecordHeader& header, std::string_view binding) {
  return hash_bytes(part(header, kHashed), hash_bytes(as_bytes(binding)));
}
// Seeded with the id, so that a payload under another record's label is noticed.
uint64_t hash_of_payload(Bytes payload, int64_t id) {
  return hash_bytes(payload, static_cast<uint64_t>(id));
}

uint64_t hash_of_state(Bytes state, int64_t id) {
  return hash_bytes(state, ~static_cast<uint64_t>(id));
}

// The header of a segment has no secret text, only a tag. (libsodium wants an address all the
// same.)
std::byte empty_text[1];
std::span<std::byte> no_text() { return std::span(empty_text).first(0); }

std::string bound_header(const SegmentHeader& header) {
  std::string bound(as_text(part(header, kSegmentOrigin)));
  return bound.append(as_text(Bytes(header).subspan(kLayoutLength, kSegmentHash - kLayoutLength)));
}

}  // namespace

PrefixHash prefix_of_scope(std::string_view scope) {
  return {{hash_bytes(as_bytes(scope), 1), hash_bytes(as_bytes(scope), 2)}};
}

PrefixHash prefix_with(const PrefixHash& before, const PageCells& cells) {
  std::array<std::byte, sizeof before + sizeof cells> text;
  put(text, 0, before);
  put(text, sizeof before, cells);
  return {{hash_bytes(text, 1), hash_bytes(text, 2)}};
}

Result<RecordCodec> RecordCodec::create(const Origin& origin, const std::optional<SealKey>& key) {
  CHECK(origin.layout.size() <= kMaxLayoutBytes);
  TRY(start_sealing());
  return RecordCodec(origin, key);
}

RecordCodec::RecordCodec(const Origin& origin, const std::optional<SealKey>& key)
    : origin_(origin), keys_(key, kKeyContext) {
  binding_.append(kRecordMagic);
  binding_.append(as_text(std::as_bytes(std::span(origin.model_hash))));
  binding_.append(as_text(std::as_bytes(std::span(&origin.payload_bytes, 1))));
  binding_.append(origin.layout);
  if (origin.state_bytes == 0) return;
  binding_.append(as_text(std::as_bytes(std::span(&origin.state_bytes, 1))));
}

uint32_t RecordCodec::version() const {
  return origin_.state_bytes > 0 ? kVersionWithStates : kVersion;
}

uint64_t RecordCodec::stride() const {
  return (kRecordHeaderBytes + origin_.payload_bytes + 63) / 64 * 64;
}

uint32_t RecordCodec::n_slots(bool has_state) const {
  if (!has_state) return 1;
  const uint64_t n_bytes = sizeof(StateTag) + origin_.state_bytes;
  return 1 + static_cast<uint32_t>((n_bytes + stride() - 1) / stride());
}

int64_t RecordCodec::record_bytes(bool has_state) const {
  return static_cast<int64_t>(n_slots(has_state) * stride());
}

Bytes RecordCodec::segment_magic() { return as_bytes(kSegmentMagic); }

SegmentHeader RecordCodec::segment_header(uint32_t number) const {
  SegmentHeader header = {};
  put_bytes(header, as_bytes(kSegmentMagic));
  put(header, 8, version());
  put(header, 12, uint32_t{sealed()});
  put(header, 16, uint64_t{number});
  put(header, 24, origin_.payload_bytes);
  put(header, 32, origin_.model_hash);
  put(header, kLayoutLength, static_cast<uint64_t>(origin_.layout.size()));
  put_bytes(part(header, kLayout), as_bytes(origin_.layout));
  put(header, kStateBytes, origin_.state_bytes);
  if (sealed()) {
    fill_random(part(header, kSegmentNonce));
    const std::string bound = bound_header(header);
    seal({keys_[kHeaders], part(header, kSegmentNonce), as_bytes(bound)}, no_text(),
         part(header, kSegmentTag));
  }
  put(header, kSegmentHash, hash_bytes(Bytes(header).first(kSegmentHash)));
  return header;
}

std::string RecordCodec::refusal(const SegmentHeader& header, uint32_t number) const {
  const Bytes bytes(header);
  if (as_text(bytes.first(kSegmentMagic.size())) != kSegmentMagic) return "not a page segment";
  if (const auto found = get<uint32_t>(bytes, 8); found != version())
    return fmt::format("of format version {}, pages of this model have {}", found, version());
  if (get<uint64_t>(bytes, kSegmentHash) != hash_bytes(bytes.first(kSegmentHash)))
    return "its header is damaged";
  if (std::memcmp(bytes.data() + 32, origin_.model_hash, sizeof origin_.model_hash) != 0)
    return "of another model";
  const auto n_layout = get<uint64_t>(bytes, kLayoutLength);
  if (n_layout > kMaxLayoutBytes ||
      as_text(part(header, kLayout).first(n_layout)) != origin_.layout)
    return "of another layout or precision";
  if (get<uint64_t>(bytes, 24) != origin_.payload_bytes) return "of another page size";
  if (get<uint64_t>(bytes, kStateBytes) != origin_.state_bytes)
    return "of running states of another size";
  if (const auto sealed = get<uint32_t>(bytes, 12); sealed != uint32_t{keys_.sealed()})
    return std::string(keys_.refusal());
  if (get<uint64_t>(bytes, 16) != number) return "renamed";
  if (sealed()) {
    const std::string bound = bound_header(header);
    if (!unseal({keys_[kHeaders], part(header, kSegmentNonce), as_bytes(bound)}, no_text(),
                part(header, kSegmentTag)))
      return "encrypted with another key";
  }
  return "";
}

RecordHeader RecordCodec::close(const RecordLabel& label, std::span<std::byte> payload) const {
  CHECK(label.scope.size() <= kMaxScopeBytes && payload.size() == origin_.payload_bytes);
  RecordHeader header = {};
  put_bytes(part(header, kMagic), as_bytes(kRecordMagic));
  const std::span<std::byte> text = part(header, kLabel);
  put(text, 0, label.id);
  put(text, 8, label.parent);
  put(text, 16, label.before);
  put(text, 32, label.cells);
  put(text, kScopeLength, static_cast<uint32_t>(label.scope.size()));
  put(text, kHasState, uint32_t{label.has_state});
  put_bytes(text.subspan(kScope), as_bytes(label.scope));
  if (sealed()) {
    const std::span<std::byte> nonce = part(header, kNonce);
    fill_random(nonce);
    seal({keys_[kLabels], nonce, as_bytes(binding_)}, text, part(header, kLabelTag));
    seal({keys_[kPayloads], nonce, part(header, kPayloadBinding)}, payload,
         part(header, kPayloadTag));
  } else {
    put_plain_tag(part(header, kPayloadTag), hash_of_payload(payload, label.id));
    put_plain_tag(part(header, kLabelTag), hash_of_label(header, binding_));
  }
  return header;
}

std::optional<RecordLabel> RecordCodec::open_label(const RecordHeader& header) const {
  if (as_text(part(header, kMagic)) != kRecordMagic) return std::nullopt;
  if (!sealed()) {
    const bool as_written = is_plain_tag(part(header, kLabelTag), hash_of_label(header, binding_));
    return as_written ? read_label(part(header, kLabel)) : std::nullopt;
  }
  std::array<std::byte, kLabel.size> text;
  put_bytes(text, part(header, kLabel));
  const Sealing sealing = {keys_[kLabels], part(header, kNonce), as_bytes(binding_)};
  if (!unseal(sealing, text, part(header, kLabelTag))) return std::nullopt;
  return read_label(text);
}

std::optional<RecordLabel> RecordCodec::read_label(Bytes text) const {
  RecordLabel label;
  label.id = get<int64_t>(text, 0);
  label.parent = get<int64_t>(text, 8);
  label.before = get<PrefixHash>(text, 16);
  label.cells = get<PageCells>(text, 32);
  const auto n_scope = get<uint32_t>(text, kScopeLength);
  const auto has_state = get<uint32_t>(text, kHasState);
  if (n_scope > kMaxScopeBytes || label.id < 0 || label.parent < -1) return std::nullopt;
  if (!std::ranges::all_of(label.cells, &PrefixCell::is_valid)) return std::nullopt;
  if (has_state > uint32_t{origin_.state_bytes > 0}) return std::nullopt;
  label.has_state = has_state != 0;
  label.scope = as_text(text.subspan(kScope, n_scope));
  const bool first = label.parent == -1;
  if (first ? label.before != prefix_of_scope(label.scope) : !label.scope.empty())
    return std::nullopt;
  return label;
}

bool RecordCodec::open_payload(const RecordHeader& header, std::span<std::byte> payload) const {
  CHECK(payload.size() == origin_.payload_bytes);
  const Bytes tag = part(header, kPayloadTag);
  if (!sealed()) {
    const auto id = get<int64_t>(part(header, kLabel), 0);
    return is_plain_tag(tag, hash_of_payload(payload, id));
  }
  const Sealing sealing = {keys_[kPayloads], part(header, kNonce), part(header, kPayloadBinding)};
  return unseal(sealing, payload, tag);
}

StateTag RecordCodec::close_state(const RecordHeader& header, int64_t id,
                                  std::span<std::byte> state) const {
  CHECK(state.size() == origin_.state_bytes);
  StateTag tag;
  if (sealed()) {
    seal({keys_[kStates], part(header, kNonce), part(header, kPayloadBinding)}, state, tag);
  } else {
    put_plain_tag(tag, hash_of_state(state, id));
  }
  return tag;
}

bool RecordCodec::open_state(const RecordHeader& header, int64_t id, const StateTag& tag,
                             std::span<std::byte> state) const {
  CHECK(state.size() == origin_.state_bytes);
  if (!sealed()) return is_plain_tag(tag, hash_of_state(state, id));
  return unseal({keys_[kStates], part(header, kNonce), part(header, kPayloadBinding)}, state, tag);
}

}  // namespace ruv

#include "memory/record_form.h"

#include <algorithm>

#include "base/hash.h"

namespace ruv {
namespace {

uint64_t hash_after(const RecordHead& head, Bytes payload) {
  return hash_bytes(payload, head.hash + 1);
}

std::array<std::byte, 32> record_bound(const FileSeal& seal, const RecordHead& head,
                                       const std::array<std::byte, kSealTagBytes>& last) {
  std::array<std::byte, 32> bound;
  put(bound, 0, seal.generation);
  put(bound, 8, head.kind);
  put(bound, 12, head.n_bytes);
  put(bound, 16, last);
  return bound;
}

}  // namespace

// The hash of kind and length tells a record that was cut short from a length that is damaged.
RecordHead RecordForm::head_of(RecordKind kind, uint64_t n_bytes) const {
  RecordHead head{static_cast<uint32_t>(kind), static_cast<uint32_t>(n_bytes), 0};
  head.hash = hash_bytes(std::as_bytes(std::span(&head, 1)).first(8), get<uint64_t>(last_, 0));
  return head;
}

bool RecordForm::fits(const RecordHead& head) const {
  return head_of(static_cast<RecordKind>(head.kind), head.n_bytes).hash == head.hash;
}

std::string RecordForm::record(RecordKind kind, Bytes first, Bytes second) const {
  const RecordHead head = head_of(kind, first.size() + second.size());
  std::string record(as_text(std::as_bytes(std::span(&head, 1))));
  // One hash of the payload, as a reader has it in one piece.
  std::string payload;
  payload.reserve(head.n_bytes);
  payload += as_text(first);
  payload += as_text(second);
  if (seal_.key != nullptr) {
    append_sealed(record, *seal_.key, as_bytes(payload), record_bound(seal_, head, last_));
    return record;
  }
  const uint64_t hash = hash_after(head, as_bytes(payload));
  record += payload;
  record += as_text(std::as_bytes(std::span(&hash, 1)));
  return record;
}

void RecordForm::follow(Bytes record) {
  const size_t n = seal_.key != nullptr ? kSealTagBytes : sizeof(uint64_t);
  std::ranges::copy(record.last(n), last_.begin());
}

std::optional<Bytes> RecordForm::payload(const RecordHead& head, Bytes after) {
  if (seal_.key == nullptr) {
    const Bytes text = after.first(head.n_bytes);
    const bool is_whole = get<uint64_t>(after, head.n_bytes) == hash_after(head, text);
    return is_whole ? std::optional(text) : std::nullopt;
  }
  opened_.resize(head.n_bytes);
  const auto room = std::as_writable_bytes(std::span(opened_));
  if (!open_sealed(*seal_.key, after, record_bound(seal_, head, last_), room)) return std::nullopt;
  return as_bytes(opened_);
}

}  // namespace ruv

#include "net/openai/answer_reader.h"

#include <algorithm>

#include "base/hash.h"

namespace ruv {
namespace {

constexpr size_t kShortId = 9;
constexpr std::string_view kAlphabet =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

// Letters and digits, the same for the same text.
std::string id_from(std::string_view text, size_t n) {
  std::string id;
  uint64_t bits = hash_bytes(as_bytes(text));
  for (size_t i = 0; i < n; ++i) {
    id += kAlphabet[bits % kAlphabet.size()];
    bits /= kAlphabet.size();
  }
  return id;
}

}  // namespace

AnswerReader::AnswerReader(const AnswerReading& reading, std::string seed, bool keeps)
    : parser_(reading.dialect, reading.options),
      seed_(std::move(seed)),
      keeps_(keeps),
      has_ids_(reading.dialect.has_ids) {}

std::vector<ToolDelta> AnswerReader::read(std::string_view text, bool last) {
  std::vector<ToolDelta> deltas;
  parser_.feed(text, deltas);
  if (last) parser_.finish(deltas);
  for (const ToolDelta& delta : deltas) {
    if (keeps_) message_.add(delta);
    n_calls_ += delta.kind == ToolDelta::Kind::call_end;
    if (delta.kind == ToolDelta::Kind::call_begin) own_ids_.push_back(delta.id);
  }
  return deltas;
}

// Templates of dialects with ids want short ones back; elsewhere ids are those that clients know.
std::string AnswerReader::id_of(size_t call) const {
  if (has_ids_ && !own_ids_.at(call).empty()) return own_ids_[call];
  const std::string place = seed_ + "/" + std::to_string(call);
  return has_ids_ ? id_from(place, kShortId)
                  : "call_" + id_from(place, kShortId) + id_from(place + "+", kShortId);
}

std::vector<ToolCall> AnswerReader::calls() const {
  std::vector<ToolCall> calls = message_.calls();
  const std::vector<size_t> places = message_.call_places();
  for (size_t i = 0; i < calls.size(); ++i) calls[i].id = id_of(places[i]);
  return calls;
}

}  // namespace ruv

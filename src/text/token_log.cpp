#include "text/token_log.h"

namespace ruv {
namespace {

// Small numbers of either sign become small ones without.
uint64_t folded(int64_t number) {
  return number < 0 ? 2 * static_cast<uint64_t>(-(number + 1)) + 1
                    : 2 * static_cast<uint64_t>(number);
}

int64_t unfolded(uint64_t number) {
  const auto half = static_cast<int64_t>(number / 2);
  return number % 2 == 1 ? -half - 1 : half;
}

}  // namespace

void NumberLog::push(uint64_t number) {
  for (bool more = true; more;) {
    if (n_bytes_ == blocks_.size() * kBlockBytes) blocks_.push_back(std::make_unique<Block>());
    more = number >= 0x80;
    const uint64_t byte = (number & 0x7F) | (more ? 0x80 : 0);
    (*blocks_.back())[n_bytes_ % kBlockBytes] = static_cast<uint8_t>(byte);
    ++n_bytes_;
    number >>= 7;
  }
}

uint64_t NumberLog::Reader::next() {
  uint64_t number = 0;
  for (int shift = 0;; shift += 7) {
    const uint64_t byte = (*log_->blocks_[at_ / kBlockBytes])[at_ % kBlockBytes];
    ++at_;
    number |= (byte & 0x7F) << shift;
    if (byte < 0x80) return number;
  }
}

void NumberLog::cut(Place from) {
  n_bytes_ = from.at;
  blocks_.resize((n_bytes_ + kBlockBytes - 1) / kBlockBytes);
}

void SpanLog::push(TokenSpan span) {
  last_ = end();
  has_last_ = true;
  const int64_t gap = int64_t{span.begin} - int64_t{before_};
  numbers_.push(2 * folded(int64_t{span.end} - int64_t{span.begin}) + (gap != 0 ? 1 : 0));
  if (gap != 0) numbers_.push(folded(gap));
  before_ = span.end;
}

void SpanLog::extend_last(uint32_t end) {
  if (!has_last_) return;
  const TokenSpan span = Reader(*this, last_).next();
  numbers_.cut(last_.at);
  before_ = last_.before;
  push({span.begin, end});
}

TokenSpan SpanLog::Reader::next() {
  const uint64_t number = numbers_.next();
  const int64_t gap = number % 2 == 1 ? unfolded(numbers_.next()) : 0;
  const int64_t begin = int64_t{before_} + gap;
  before_ = static_cast<uint32_t>(begin + unfolded(number / 2));
  return {static_cast<uint32_t>(begin), before_};
}

}  // namespace ruv

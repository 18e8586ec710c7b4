// TokenLog: tokens and their places in few bytes, to be read in order. Numbers are stored 7 bits to
// a byte. A place is stored as its length and, unless it begins at the end of the one before, its
// distance from it, so a short token that follows another takes one byte. The log grows in blocks
// and never copies what it holds: millions of tokens need a third of the memory of vectors, at the
// price of decoding them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "text/token_index.h"
#include "text/token_span.h"

namespace ruv {

// Numbers below 2^63, small ones in few bytes.
class NumberLog {
 public:
  // Where a number begins.
  struct Place {
    size_t at = 0;
  };
  // Reads from the start, or from a Place, to the end. The log must not change meanwhile.
  class Reader {
   public:
    explicit Reader(const NumberLog& log) : Reader(log, Place{}) {}
    Reader(const NumberLog& log, Place from) : log_(&log), at_(from.at) {}
    bool done() const { return at_ == log_->n_bytes_; }
    // Requires: !done().
    uint64_t next();

   private:
    const NumberLog* log_;
    size_t at_;
  };

  void push(uint64_t number);
  Place end() const { return {n_bytes_}; }
  // Forgets the numbers from there on.
  void cut(Place from);
  size_t held_bytes() const { return blocks_.size() * kBlockBytes; }

 private:
  static constexpr size_t kBlockBytes = 16 << 10;
  using Block = std::array<uint8_t, kBlockBytes>;

  std::vector<std::unique_ptr<Block>> blocks_;
  size_t n_bytes_ = 0;
};

// The places of tokens; see above.
class SpanLog {
 public:
  // Where a span begins, and the end of the one before.
  struct Place {
    NumberLog::Place at;
    uint32_t before = 0;
  };
  class Reader {
   public:
    explicit Reader(const SpanLog& log) : Reader(log, Place{}) {}
    Reader(const SpanLog& log, Place from)
        : numbers_(log.numbers_, from.at), before_(from.before) {}
    bool done() const { return numbers_.done(); }
    TokenSpan next();

   private:
    NumberLog::Reader numbers_;
    uint32_t before_;
  };

  // Spans must be pushed in the order of their tokens; they may overlap.
  void push(TokenSpan span);
  // Moves the end of the last span; does nothing without one.
  void extend_last(uint32_t end);
  Place end() const { return {numbers_.end(), before_}; }
  // Replaces every span from there on by change(span).
  template <class Change>
  void rewrite(Place from, const Change& change);
  size_t held_bytes() const { return numbers_.held_bytes(); }

 private:
  NumberLog numbers_;
  uint32_t before_ = 0;  // the end of the last span
  Place last_;           // where the last span begins
  bool has_last_ = false;
};

struct TokenLog {
  NumberLog ids;
  SpanLog spans;

  size_t held_bytes() const { return ids.held_bytes() + spans.held_bytes(); }
};

template <class Change>
void SpanLog::rewrite(Place from, const Change& change) {
  SpanLog tail;
  for (Reader spans(*this, from); !spans.done();) tail.push(change(spans.next()));
  numbers_.cut(from.at);
  before_ = from.before;
  has_last_ = false;
  for (Reader spans(tail); !spans.done();) push(spans.next());
}

}  // namespace ruv

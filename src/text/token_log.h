// TokenLog: tokens and their places in few bytes, to be read in order. Ids are numbers of 7 bits a
// byte; a place is its length and, where it does not begin at the end of the one before, how far
// from it: one byte where short tokens follow one another. It grows without being copied.
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

  void push(TokenSpan span);
  // The last span ends there. Without one nothing happens.
  void extend_last(uint32_t end);
  Place end() const { return {numbers_.end(), before_}; }
  // Every span from there on becomes change(span).
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

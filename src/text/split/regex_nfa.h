// RegexNfa: a syntax tree as a graph of places (Thompson, 1968), in which every fork has a
// preferred way first. The order encodes leftmost-first choice and greedy or lazy loops, as a
// backtracking matcher would try them.
#pragma once

#include <vector>

#include "base/result.h"
#include "text/split/split_regex.h"

namespace ruv {

enum class PlaceKind : uint8_t {
  match,
  take,        // one character of `set`, then `next`
  look,        // the next character is of `set`, or the end if `at_end`; then `next`
  text_start,  // only at the beginning of a text; then `next`
  fork,        // `next`, and less wanted `other`
};

// A place in the pattern. `set` is an index into SplitRegex::sets(), `next` and `other` into
// places.
struct RegexPlace {
  PlaceKind kind = PlaceKind::match;
  bool at_end = false;
  uint32_t set = 0;
  uint32_t next = 0;
  uint32_t other = 0;
};

struct RegexNfa {
  // Fails: unsupported (too large).
  static Result<RegexNfa> build(const SplitRegex& regex);

  std::vector<RegexPlace> places;  // places[0] is the match
  uint32_t start = 0;
};

}  // namespace ruv

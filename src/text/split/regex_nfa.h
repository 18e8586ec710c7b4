// RegexNfa: a syntax tree as a graph of places, with the more wanted way first at each fork.
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

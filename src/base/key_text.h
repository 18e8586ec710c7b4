// What a key is made of, as bytes that cannot be read in two ways: numbers have 8 bytes, texts
// their length before them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/hash.h"

namespace ruv {

class KeyText {
 public:
  void number(uint64_t n) { text_.append(reinterpret_cast<const char*>(&n), sizeof n); }
  void text(std::string_view s) {
    number(s.size());
    text_ += s;
  }
  uint64_t hash(uint64_t seed) const { return hash_bytes(as_bytes(text_), seed); }

 private:
  std::string text_;
};

}  // namespace ruv

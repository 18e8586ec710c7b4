// TokenIndex: the texts of tokens in one buffer, found by text in about one probe. Grows while
// tokens are added; immutable and safe to share between threads afterwards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ruv {

using Token = int32_t;

class TokenIndex {
 public:
  // Appends the text of the next id, counted from 0. When `findable`, find() knows it; the first
  // of two equal texts wins. Empty texts are never found.
  void add(std::string_view text, bool findable = true);

  // The text of an id; valid until the next add. Requires: 0 <= id < the number of texts added.
  std::string_view text(Token id) const;
  // The id of a findable text; nothing when there is none.
  std::optional<Token> find(std::string_view text) const;
  // Bytes of the longest findable text.
  size_t longest() const { return longest_; }

 private:
  size_t slot_of(std::string_view text) const;
  void grow();

  std::string bytes_;
  std::vector<uint64_t> ends_;
  std::vector<Token> slots_;  // open addressing, -1 is empty, the size is a power of two
  size_t n_used_ = 0;
  size_t longest_ = 0;
};

}  // namespace ruv

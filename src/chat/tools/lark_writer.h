// LarkWriter: makes the text of a grammar in the dialect of Lark (grammar/rules/lark.h): rules,
// texts in which some tokens count by their numbers, and terminals of texts without certain marks.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "ruv/token.h"

namespace ruv {

// Lengths in characters, and a regular expression of the whole text; empty: none.
struct TextLimits {
  uint64_t min = 0;
  uint64_t max = UINT64_MAX;
  std::string pattern = {};
};

class LarkWriter {
 public:
  // `control`: texts of tokens that count by their numbers. Must outlive the writer.
  explicit LarkWriter(std::span<const std::pair<std::string, Token>> control) : control_(control) {}

  void rule(std::string_view name, std::string_view body);
  // A rule of a name of its own, which is returned.
  std::string add(std::string_view body);
  std::string new_name();
  // Exactly this text, as items of a rule; empty for the empty text.
  std::string text(std::string_view text) const;
  // The name of a terminal of all texts within the limits in which none of `marks` is, and that
  // do not begin, after whitespace, with one of the characters of `no_start`. Parsers see texts
  // only, so a mark that is a token of its own is kept out of texts, too.
  std::string text_without(const std::vector<std::string_view>& marks,
                           const TextLimits& limits = {}, std::string_view no_start = {});

  const std::string& grammar() const { return text_; }

  // What is there now; rewind() forgets all that came later.
  struct Mark {
    size_t n_bytes = 0;
    size_t n_names = 0;
    size_t n_terminals = 0;
  };
  Mark mark() const { return {text_.size(), n_names_, terminals_.size()}; }
  void rewind(const Mark& mark);

 private:
  std::span<const std::pair<std::string, Token>> control_;
  std::string text_;
  size_t n_names_ = 0;
  std::map<std::string, size_t> terminals_;  // number by body
};

// A text between Lark's quotes, and a regular expression of exactly this text.
std::string lark_quoted(std::string_view text);
std::string escaped_pattern(std::string_view text);

}  // namespace ruv

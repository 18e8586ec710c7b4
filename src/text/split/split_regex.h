// SplitRegex: a splitting pattern as a syntax tree. The syntax is Oniguruma's, as tokenizer.json
// files use it. What an automaton cannot run exactly is refused, with the reason and the place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/split/code_point_set.h"

namespace ruv {

enum class RegexKind : uint8_t {
  empty,       // matches nothing, always
  set,         // one character of a set
  look,        // takes nothing; the next character is in a set, or the text ends if `at_end`
  text_start,  // takes nothing; at the beginning of the text
  sequence,
  choice,  // the first that fits
  repeat,  // greedy, or `lazy`
};

inline constexpr uint32_t kUnlimited = UINT32_MAX;

// A node of the tree. Children are indices, so a tree is two vectors and is freed without
// recursion.
struct RegexNode {
  RegexKind kind = RegexKind::empty;
  bool at_end = false;
  bool lazy = false;
  uint16_t depth = 0;
  uint32_t set = 0;  // index into SplitRegex::sets()
  uint32_t min = 0;
  uint32_t max = 0;                // or kUnlimited
  std::vector<uint32_t> children;  // indices into SplitRegex::nodes()
};

// Supported: alternation, groups (named ones too), (?i) for ASCII letters, classes with ranges,
// nesting, && and POSIX names, \s \d \w \h \p{…} and their negations, greedy and lazy loops,
// possessive loops over one class, lookahead of one character, $ (the end of a line, as in
// Oniguruma), \z and \A.
class SplitRegex {
 public:
  // Fails: corrupt (not a regular expression), unsupported (look-behind, back references, lookahead
  // of several characters, …). Messages name the byte of the pattern. Nesting is limited, so a
  // hostile pattern cannot exhaust the stack.
  static Result<SplitRegex> parse(std::string_view pattern);
  // A pattern that matches exactly this text.
  static std::string quote(std::string_view text);

  const std::vector<RegexNode>& nodes() const { return nodes_; }
  uint32_t root() const { return root_; }
  // Distinct.
  const std::vector<CodePointSet>& sets() const { return sets_; }

 private:
  friend class RegexParser;
  std::vector<RegexNode> nodes_;
  std::vector<CodePointSet> sets_;
  uint32_t root_ = 0;
};

}  // namespace ruv

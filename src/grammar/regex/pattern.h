// Pattern: a regular expression as a syntax tree, read from the syntax of ECMAScript or RE2.
// Captures are read as groups, since only the set of matching texts matters here. Patterns come
// from requests: their nesting and size are bounded, and reading takes linear time.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/split/code_point_set.h"

namespace ruv {

enum class PatternKind : uint8_t {
  empty,
  set,  // one character of a set
  sequence,
  choice,
  repeat,
  intersection,  // a text of all children; only with PatternOptions::operators
  complement,    // a text that is not of the child
  start,         // takes nothing; at the beginning of the text
  end,           // takes nothing; at the end of the text
  line_start,    // takes nothing; there, or after a line break
  line_end,
  word_edge,  // takes nothing; a word begins or ends here
  not_word_edge,
  ahead,  // takes nothing; the child matches what follows
  not_ahead,
};

// A node of the tree. Children are indices, so a tree is freed without recursion.
struct PatternNode {
  PatternKind kind = PatternKind::empty;
  bool has_place = false;  // it or a child depends on what is around it
  uint32_t set = 0;        // index into Pattern::sets
  uint32_t min = 0;        // of repeat
  uint32_t max = 0;        // or UINT32_MAX, without limit
  std::vector<uint32_t> children = {};
};

struct Pattern {
  std::vector<PatternNode> nodes;
  std::vector<CodePointSet> sets;
  uint32_t root = 0;
};

enum class PatternSyntax {
  ecma,  // ECMAScript with the flag u, as JSON Schema wants it; literal braces are tolerated
  re2,   // Go, Rust and RE2
};

struct PatternOptions {
  PatternSyntax syntax = PatternSyntax::ecma;
  bool operators = false;  // `a&b` is both, `~a` what a is not
  bool any_case = false;   // ASCII letters match in both cases
  bool dot_all = false;    // `.` takes line breaks, too
  bool lines = false;      // `^` and `$` are those of lines
};

// Laziness of loops is read and means nothing: which texts match does not depend on it. Fails:
// corrupt (not a regular expression), unsupported (back references, look-behind, …). Messages name
// the byte.
Result<Pattern> read_pattern(std::string_view text, const PatternOptions& options);

}  // namespace ruv

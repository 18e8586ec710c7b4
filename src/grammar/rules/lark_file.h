// LarkFile: a grammar in the Lark dialect as it is written, before names are resolved.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "grammar/rules/rule_set.h"
#include "text/split/code_point_set.h"

namespace ruv {

enum class LarkKind : uint8_t {
  text,      // "abc", "abc"i
  pattern,   // /abc/is, and common terminals
  range,     // "a".."z"
  name,      // of a rule or terminal
  sequence,  // children one after another
  choice,
  both,        // a & b
  complement,  // ~a
  repeat,
  substring,  // %regex {"substring_…": …}
  tokens,     // <name>, <[ids]>
  schema,     // %json {…}
};

// A node of an expression. Children are indices.
struct LarkNode {
  LarkKind kind = LarkKind::sequence;
  size_t at = 0;          // in the text of the grammar
  std::string text = {};  // of a text, a pattern or a name
  bool any_case = false;  // flag i
  bool dot_all = false;   // flag s
  CodePointRange range = {};
  uint32_t min = 0;  // of repeat
  uint32_t max = 0;
  uint32_t index = 0;  // into substrings, token_sets or schemas
  std::vector<uint32_t> children = {};
};

// A rule, a terminal, or what %ignore has, which is a terminal without a name.
struct LarkDefinition {
  std::string name = {};
  size_t at = 0;
  bool is_terminal = false;
  uint32_t body = 0;
  std::vector<uint32_t> names = {};  // nodes of names in the body
  // Attributes of rules.
  bool is_lazy = false;
  std::optional<uint32_t> stop = {};  // nodes
  std::optional<uint32_t> suffix = {};
  bool has_attributes() const { return is_lazy || stop || suffix; }
};

struct LarkFile {
  std::vector<LarkNode> nodes = {};
  std::vector<LarkDefinition> definitions = {};
  std::vector<LarkDefinition> ignored = {};
  std::vector<std::vector<std::string>> substrings = {};  // chunks, of which neighbours may follow
  std::vector<TokenSet> token_sets = {};
  std::vector<Json> schemas = {};
  bool ignores_once = false;  // at one place, not any number of times
};

}  // namespace ruv

// RuleSet: a context-free grammar whose terminals are regular languages and sets of tokens. Readers
// of GBNF and of the Lark dialect make one; what runs it (grammar/form) knows neither syntax.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "grammar/rules/bounded_languages.h"
#include "ruv/token.h"
#include "text/token_mask.h"

namespace ruv {

// Which tokens a terminal takes, whatever their bytes are: control tokens, mostly.
struct TokenSet {
  struct Range {
    Token first;
    Token last;  // belongs to it
  };
  std::vector<Range> ranges = {};  // ascending, apart
  bool complement = false;         // all other tokens of the vocabulary

  bool has(Token token) const;
  void add_to(TokenMask& mask, int64_t n_vocab) const;
};

enum class RuleKind : uint8_t {
  language,  // a text of a language
  tokens,    // one token of a set
  rule,      // what another rule says
  sequence,  // the children, one after another; none: the empty text
  choice,    // one of the children; none: nothing matches
  repeat,    // the only child, min to max times
  value,     // a JSON value of a schema
};

// A node of the body of a rule. Children are indices, so grammars are freed without recursion.
struct RuleNode {
  RuleKind kind = RuleKind::sequence;
  Language language = Language::nothing;
  LanguageBounds bounds = {};  // of language
  uint32_t index = 0;          // of the rule, into token_sets or into schemas
  uint32_t min = 0;            // of repeat
  uint32_t max = 0;            // or Languages::kUnlimited
  std::vector<uint32_t> children = {};
};

struct Rule {
  std::string name;
  uint32_t body = 0;  // index into the nodes
};

struct RuleSet {
  std::vector<RuleNode> nodes;
  std::vector<Rule> rules;
  uint32_t start = 0;  // index into the rules
  std::vector<TokenSet> token_sets;
  std::vector<Json> schemas;
};

}  // namespace ruv

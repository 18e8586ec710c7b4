// Random grammars over the letters a and b, with their meaning: sets of texts of up to six letters,
// computed from the tree that the grammar is written from. For tests.
#pragma once

#include <algorithm>
#include <bitset>
#include <random>
#include <string>
#include <vector>

namespace ruv {

inline constexpr size_t kMaxLength = 6;
inline constexpr size_t kTexts = (1 << (kMaxLength + 1)) - 1;
using TextSet = std::bitset<kTexts>;

// Texts by their length, then in order.
inline const std::vector<std::string>& all_texts() {
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> made = {""};
    for (size_t i = 0; made.size() < kTexts; ++i) {
      made.push_back(made[i] + "a");
      made.push_back(made[i] + "b");
    }
    return made;
  }();
  return texts;
}

inline size_t index_of(std::string_view text) {
  size_t index = 0;
  for (const char c : text) index = 2 * index + (c == 'a' ? 1 : 2);
  return index;
}

inline TextSet set_of_text(std::string_view text) { return TextSet().set(index_of(text)); }

inline TextSet concat_sets(const TextSet& a, const TextSet& b) {
  TextSet made;
  for (size_t i = 0; i < kTexts; ++i) {
    if (!a[i]) continue;
    for (size_t j = 0; j < kTexts; ++j) {
      if (!b[j] || all_texts()[i].size() + all_texts()[j].size() > kMaxLength) continue;
      made.set(index_of(all_texts()[i] + all_texts()[j]));
    }
  }
  return made;
}

inline TextSet repeat_set(const TextSet& part, int min, int max) {
  TextSet made = set_of_text("");
  for (int i = 0; i < min; ++i) made = concat_sets(made, part);
  TextSet round = made;
  for (int i = min; max < 0 || i < max; ++i) {
    round = concat_sets(round, part);
    if ((made | round) == made) break;
    made |= round;
  }
  return made;
}

// The texts of a set that no shorter one begins.
inline TextSet shortest_of(const TextSet& set) {
  TextSet made;
  for (size_t i = 0; i < kTexts; ++i) {
    bool is_shortest = set[i];
    for (size_t n = 0; n < all_texts()[i].size(); ++n) {
      is_shortest = is_shortest && !set[index_of(all_texts()[i].substr(0, n))];
    }
    made[i] = is_shortest;
  }
  return made;
}

// The texts of a set after which `stop` comes for the first time.
inline TextSet before_stop(const TextSet& set, const std::string& stop) {
  TextSet made;
  for (size_t i = 0; i < kTexts; ++i) {
    const std::string whole = all_texts()[i] + stop;
    bool is_first = set[i];
    for (size_t n = stop.size(); n < whole.size(); ++n) {
      const std::string_view earlier = std::string_view(whole).substr(0, n);
      if (!earlier.ends_with(stop)) continue;
      is_first = is_first && !set[index_of(earlier.substr(0, n - stop.size()))];
    }
    made[i] = is_first;
  }
  return made;
}

struct TreeNode {
  enum class Kind { text, set, rule, terminal, sequence, choice, repeat, both, complement } kind;
  std::string text = {};
  size_t index = 0;  // of the rule or terminal
  int min = 0;
  int max = 0;  // -1: without limit
  std::vector<TreeNode> children = {};
};

class RandomTrees {
 public:
  explicit RandomTrees(unsigned seed) : random_(seed) {}
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  // n_rules: that it may name; terminals from first_terminal to n_terminals. Terminals have no
  // rules but operators.
  TreeNode make(int depth, size_t n_rules, size_t first_terminal, size_t n_terminals) {
    using Kind = TreeNode::Kind;
    const auto child = [&] { return make(depth - 1, n_rules, first_terminal, n_terminals); };
    const int pick = depth == 0 ? below(6) : below(14);
    if (pick < 2 && n_rules > 0) return {.kind = Kind::rule, .index = size_t(below(int(n_rules)))};
    if (pick < 3 && first_terminal < n_terminals) {
      const auto n = static_cast<int>(n_terminals - first_terminal);
      return {.kind = Kind::terminal, .index = first_terminal + size_t(below(n))};
    }
    if (pick < 5) return {.kind = Kind::text, .text = all_texts()[size_t(below(7))]};
    if (pick < 6) return {.kind = Kind::set, .text = below(2) == 0 ? "a" : "ab"};
    if (pick < 9) return {.kind = Kind::sequence, .children = children(child)};
    if (pick < 11) return {.kind = Kind::choice, .children = children(child)};
    if (pick == 11 && n_rules == 0) {
      return below(2) == 0 ? TreeNode{.kind = Kind::both, .children = {child(), child()}}
                           : TreeNode{.kind = Kind::complement, .children = {child()}};
    }
    const int min = below(3);
    const int max = below(2) == 0 ? -1 : min + below(3);
    return {.kind = Kind::repeat, .min = min, .max = max, .children = {child()}};
  }

 private:
  template <typename Child>
  std::vector<TreeNode> children(Child&& child) {
    std::vector<TreeNode> made;
    for (int n = below(4); n >= 0; --n) made.push_back(child());
    return made;
  }
  std::mt19937 random_;
};

// A grammar: what its rules and terminals mean, and its texts.
class RandomGrammar {
 public:
  RandomGrammar(unsigned seed, bool for_lark) : trees_(seed), is_lark_(for_lark) {
    if (is_lark_) {
      terminals_.resize(size_t(trees_.below(4)));
      for (size_t i = 0; i < terminals_.size(); ++i) {
        terminals_[i] = trees_.make(2, 0, i + 1, terminals_.size());
      }
      attributes_.assign(4, 0);
      ignores_ = trees_.below(3) == 0;
    }
    const auto n_rules = size_t(1 + trees_.below(4));
    for (size_t i = 0; i < n_rules; ++i) {
      const bool has_attribute = is_lark_ && trees_.below(4) == 0;
      if (has_attribute) attributes_[i] = 1 + trees_.below(3);
      rules_.push_back(trees_.make(3, has_attribute ? 0 : n_rules, 0, terminals_.size()));
    }
  }

  std::string gbnf() const {
    std::string text;
    for (size_t i = 0; i < rules_.size(); ++i) {
      text += (i == 0 ? "root" : "r" + std::to_string(i)) + " ::= " + written(rules_[i]) + "\n";
    }
    return text;
  }
  std::string lark() const {
    static const char* const kAttributes[] = {"", "[lazy]", "[suffix=\"ab\"]", "[stop=\"aa\"]"};
    std::string text = ignores_ ? "%ignore \"b\"\n" : "";
    for (size_t i = 0; i < rules_.size(); ++i) {
      text += (i == 0 ? "start" : "r" + std::to_string(i)) + kAttributes[attributes_[i]] + ": " +
              written(rules_[i]) + "\n";
    }
    for (size_t i = 0; i < terminals_.size(); ++i) {
      text += "T" + std::to_string(i) + ": " + written(terminals_[i]) + "\n";
    }
    return text;
  }

  TextSet meaning() {
    terminal_sets_.assign(terminals_.size(), {});
    for (size_t i = terminals_.size(); i-- > 0;) {
      terminal_sets_[i] = set_of(terminals_[i], true);
    }
    rule_sets_.assign(rules_.size(), {});
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < rules_.size(); ++i) {
        const TextSet set = set_of_rule(i);
        changed = changed || set != rule_sets_[i];
        rule_sets_[i] = set;
      }
    }
    return ignores_ ? concat_sets(ignored(), rule_sets_[0]) : rule_sets_[0];
  }

 private:
  static TextSet ignored() { return repeat_set(set_of_text("b"), 0, -1); }

  TextSet set_of_rule(size_t i) const {
    if (!is_lark_ || attributes_[i] == 0) return set_of(rules_[i], false);
    TextSet set = set_of(rules_[i], true);
    if (attributes_[i] == 1) set = shortest_of(set);
    if (attributes_[i] == 2) set = shortest_of(concat_sets(set, set_of_text("ab")));
    if (attributes_[i] == 3) set = before_stop(set, "aa");
    return ignores_ ? concat_sets(set, ignored()) : set;
  }

  TextSet set_of(const TreeNode& n, bool in_terminal) const {
    using Kind = TreeNode::Kind;
    TextSet made;
    switch (n.kind) {
      case Kind::rule:
        return rule_sets_[n.index];
      case Kind::text:
        made = set_of_text(n.text);
        break;
      case Kind::set:
        for (const char c : n.text) made |= set_of_text(std::string(1, c));
        break;
      case Kind::terminal:
        made = terminal_sets_[n.index];
        break;
      case Kind::both:
        made = set_of(n.children[0], true) & set_of(n.children[1], true);
        break;
      case Kind::complement:
        made = ~set_of(n.children[0], true);
        break;
      case Kind::repeat:
        return repeat_set(set_of(n.children[0], in_terminal), n.min, n.max);
      case Kind::choice:
        for (const TreeNode& child : n.children) made |= set_of(child, in_terminal);
        return made;
      case Kind::sequence:
        made = set_of_text("");
        for (const TreeNode& child : n.children)
          made = concat_sets(made, set_of(child, in_terminal));
        return made;
    }
    return ignores_ && !in_terminal ? concat_sets(made, ignored()) : made;
  }

  std::string written(const TreeNode& n) const {
    using Kind = TreeNode::Kind;
    const auto joined = [&](const char* between) {
      std::string text;
      for (const TreeNode& child : n.children) {
        text += (&child == n.children.data() ? "" : between) + written(child);
      }
      return "(" + text + ")";
    };
    switch (n.kind) {
      case Kind::rule:
        return n.index == 0 ? (is_lark_ ? "start" : "root") : "r" + std::to_string(n.index);
      case Kind::terminal:
        return "T" + std::to_string(n.index);
      case Kind::text:
        return "\"" + n.text + "\"";
      case Kind::set:
        return is_lark_ ? "/[" + n.text + "]/" : "[" + n.text + "]";
      case Kind::both:
        return joined(" & ");
      case Kind::complement:
        return "(~" + joined("") + ")";
      case Kind::sequence:
        return joined(" ");
      case Kind::choice:
        return joined(" | ");
      case Kind::repeat:
        return joined("") + loop(n.min, n.max);
    }
    return "";
  }
  static std::string loop(int min, int max) {
    if (max < 0 && min < 2) return min == 0 ? "*" : "+";
    if (min == 0 && max == 1) return "?";
    if (max < 0) return "{" + std::to_string(min) + ",}";
    if (min == max) return "{" + std::to_string(min) + "}";
    return "{" + std::to_string(min) + "," + std::to_string(max) + "}";
  }

  RandomTrees trees_;
  bool is_lark_;
  bool ignores_ = false;
  std::vector<TreeNode> rules_;
  std::vector<TreeNode> terminals_;
  std::vector<int> attributes_ = std::vector<int>(4, 0);
  std::vector<TextSet> rule_sets_;
  std::vector<TextSet> terminal_sets_;
};

}  // namespace ruv

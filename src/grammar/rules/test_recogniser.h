// TestRecogniser: decides slowly and plainly whether a grammar accepts a text, and whether a text
// begins an accepted one. For tests and fuzzers only.
//
// An Earley recogniser whose items are nodes of the grammar: (node, progress, where it began). What
// progress means depends on the node: children that are done, rounds, or the language that is left.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

#include "grammar/rules/rule_set.h"

namespace ruv {

class TestRecogniser {
 public:
  // A byte, or 256 plus a token. Texts of tokens are not bytes here.
  using Symbol = uint32_t;
  static Symbol of_token(Token token) { return 256 + static_cast<Symbol>(token); }

  // `value`: stands for a value of any schema.
  TestRecogniser(Languages& languages, const RuleSet& rules, Language value = Language::nothing)
      : languages_(languages), rules_(rules), value_(value) {
    find_productive();
  }

  bool accepts(std::string_view text) { return run(symbols(text)) == Verdict::accepted; }
  bool accepts(const std::vector<Symbol>& input) { return run(input) == Verdict::accepted; }
  // Some text, this one or a longer one that begins with it, is accepted.
  bool can_continue(std::string_view text) { return run(symbols(text)) != Verdict::rejected; }

 private:
  enum class Verdict { rejected, open, accepted };
  struct Item {
    uint32_t node;
    uint32_t progress;
    size_t from;
    auto operator<=>(const Item&) const = default;
  };
  struct Column {
    std::vector<Item> items;  // in the order found
    std::set<Item> seen;
    std::set<uint32_t> empty;               // nodes that are done as they began here
    std::multimap<uint32_t, Item> parents;  // items by the node that they want
  };

  static std::vector<Symbol> symbols(std::string_view text) {
    std::vector<Symbol> made;
    for (const char c : text) made.push_back(static_cast<unsigned char>(c));
    return made;
  }

  const RuleNode& node(uint32_t id) const { return rules_.nodes[id]; }
  Language language(const RuleNode& n) const {
    return n.kind == RuleKind::value ? value_ : n.language;
  }

  // Nodes from which something can be read. What cannot be finished is never begun, so that every
  // item is on the way to an accepted text.
  void find_productive() {
    productive_.assign(rules_.nodes.size(), false);
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t id = 0; id < rules_.nodes.size(); ++id) {
        if (productive_[id] || !is_productive(node(id))) continue;
        productive_[id] = changed = true;
      }
    }
  }
  bool is_productive(const RuleNode& n) {
    const auto productive = [&](uint32_t child) { return bool(productive_[child]); };
    switch (n.kind) {
      case RuleKind::language:
      case RuleKind::value:
        return !languages_.is_nothing(language(n));
      case RuleKind::tokens:
        return n.index < rules_.token_sets.size();
      case RuleKind::rule:
        return productive(rules_.rules[n.index].body);
      case RuleKind::sequence:
        return std::ranges::all_of(n.children, productive);
      case RuleKind::choice:
        return std::ranges::any_of(n.children, productive);
      case RuleKind::repeat:
        return n.min == 0 || productive(n.children[0]);
    }
    return false;
  }

  Verdict run(const std::vector<Symbol>& input) {
    const uint32_t start = rules_.rules[rules_.start].body;
    columns_.assign(input.size() + 1, {});
    begin(start, 0);
    bool accepted = false;
    for (size_t at = 0; at <= input.size(); ++at) {
      accepted = false;
      for (size_t i = 0; i < columns_[at].items.size(); ++i) {
        const Item item = columns_[at].items[i];
        if (at < input.size()) scan(item, input[at], at);
        advance(item, at);
      }
      accepted = done_.contains({at, start, 0});
      done_.clear();
      if (columns_[at].items.empty()) return Verdict::rejected;
    }
    return accepted ? Verdict::accepted : Verdict::open;
  }

  void add(const Item& item, size_t at) {
    if (columns_[at].seen.insert(item).second) columns_[at].items.push_back(item);
  }
  void begin(uint32_t id, size_t at) {
    if (!productive_[id]) return;
    const RuleNode& n = node(id);
    const bool is_text = n.kind == RuleKind::language || n.kind == RuleKind::value;
    add({id, is_text ? static_cast<uint32_t>(language(n)) : 0, at}, at);
  }
  // The item goes on when `child` is done.
  void want(uint32_t child, const Item& item, size_t at) {
    begin(child, at);
    columns_[at].parents.emplace(child, item);
    if (columns_[at].empty.contains(child)) child_done(item, at, at);
  }

  void scan(const Item& item, Symbol symbol, size_t at) {
    const RuleNode& n = node(item.node);
    if (n.kind == RuleKind::tokens) {
      if (symbol < 256) return;
      const TokenSet& set = rules_.token_sets[n.index];
      const auto token = static_cast<Token>(symbol - 256);
      const bool in = std::ranges::any_of(
          set.ranges, [&](const auto& r) { return r.first <= token && token <= r.last; });
      if (item.progress == 0 && in != set.complement) add({item.node, 1, item.from}, at + 1);
    } else if ((n.kind == RuleKind::language || n.kind == RuleKind::value) && symbol < 256) {
      const Language rest =
          languages_.after(static_cast<Language>(item.progress), static_cast<uint8_t>(symbol));
      if (!languages_.is_nothing(rest)) {
        add({item.node, static_cast<uint32_t>(rest), item.from}, at + 1);
      }
    }
  }

  void advance(const Item& item, size_t at) {
    const RuleNode& n = node(item.node);
    switch (n.kind) {
      case RuleKind::language:
      case RuleKind::value:
        if (languages_.has_empty(static_cast<Language>(item.progress))) done(item, at);
        return;
      case RuleKind::tokens:
        if (item.progress == 1) done(item, at);
        return;
      case RuleKind::rule:
        return item.progress == 1 ? done(item, at) : want(rules_.rules[n.index].body, item, at);
      case RuleKind::sequence:
        return item.progress == n.children.size() ? done(item, at)
                                                  : want(n.children[item.progress], item, at);
      case RuleKind::choice:
        if (item.progress == 1) return done(item, at);
        for (const uint32_t child : n.children) want(child, item, at);
        return;
      case RuleKind::repeat:
        if (item.progress >= n.min) done(item, at);
        if (item.progress < n.max) want(n.children[0], item, at);
        return;
    }
  }

  // A child of the item, begun at `from`, is done. An empty round stands for all that are wanted.
  void child_done(const Item& item, size_t from, size_t at) {
    const RuleNode& n = node(item.node);
    uint32_t progress = item.progress + 1;
    if (n.kind == RuleKind::repeat) {
      if (from == at) progress = std::max(item.progress, n.min);
      if (n.max == Languages::kUnlimited) progress = std::min(progress, n.min);
    }
    add({item.node, progress, item.from}, at);
  }

  void done(const Item& item, size_t at) {
    if (!done_.emplace(at, item.node, item.from).second) return;
    if (item.from == at) columns_[at].empty.insert(item.node);
    std::vector<Item> parents;
    const auto [first, last] = columns_[item.from].parents.equal_range(item.node);
    for (auto found = first; found != last; ++found) parents.push_back(found->second);
    for (const Item& parent : parents) child_done(parent, item.from, at);
  }

  Languages& languages_;
  const RuleSet& rules_;
  Language value_;
  std::vector<bool> productive_;
  std::vector<Column> columns_;
  std::set<std::tuple<size_t, uint32_t, size_t>> done_;  // (at, node, from) of this column
};

}  // namespace ruv

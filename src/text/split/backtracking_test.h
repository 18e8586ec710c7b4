// A tiny matcher for tests that shares nothing with the automata: patterns are drawn as trees,
// written out for the parser, and matched by backtracking as Oniguruma would.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "base/utf8.h"
#include "text/split/word.h"
#include "text/tokenizer_spec.h"

namespace ruv {

class DrawnPattern {
 public:
  // Characters that random texts and classes are made of.
  static std::vector<std::string> letters() { return {"a", "b", "B", " ", "\n", "日", "\xFF"}; }

  static DrawnPattern draw(Rng& rng) {
    DrawnPattern made;
    made.root_ = made.draw_choice(rng, 3);
    return made;
  }
  std::string text() const { return written(*root_); }

  // The end of the match that begins at `at`, or npos.
  size_t match(std::string_view subject, size_t at) const {
    size_t end = std::string_view::npos;
    budget_ = kMaxSteps;
    run(*root_, subject, at, [&](size_t p) {
      end = p;
      return true;
    });
    exhausted_ |= budget_ == 0;
    return end;
  }
  // A match took so many steps that it was given up.
  bool exhausted() const { return exhausted_; }

 private:
  static constexpr int kMaxSteps = 20000;
  enum class Kind {
    letters,
    choice,
    sequence,
    loop,
    possessive,
    look_equal,
    look_not,
    end,
    line_end
  };
  struct Tree {
    Kind kind = Kind::letters;
    std::vector<std::string> set;
    bool negated = false;
    size_t min = 0;
    size_t max = 0;
    bool lazy = false;
    std::vector<std::unique_ptr<Tree>> parts;
  };
  using Then = std::function<bool(size_t)>;

  static std::unique_ptr<Tree> draw_set(Rng& rng) {
    auto tree = std::make_unique<Tree>();
    const std::vector<std::string> all = letters();
    for (uint64_t n = 1 + rng.below(3); n > 0; --n) tree->set.push_back(all[rng.below(6)]);
    tree->negated = rng.below(4) == 0;
    return tree;
  }
  std::unique_ptr<Tree> draw_choice(Rng& rng, int depth) const {
    auto tree = std::make_unique<Tree>();
    tree->kind = Kind::choice;
    for (uint64_t n = 1 + rng.below(3); n > 0; --n)
      tree->parts.push_back(draw_sequence(rng, depth));
    return tree;
  }
  std::unique_ptr<Tree> draw_sequence(Rng& rng, int depth) const {
    auto tree = std::make_unique<Tree>();
    tree->kind = Kind::sequence;
    for (uint64_t n = 1 + rng.below(3); n > 0; --n) tree->parts.push_back(draw_part(rng, depth));
    return tree;
  }
  std::unique_ptr<Tree> draw_part(Rng& rng, int depth) const {
    const uint64_t choice = rng.below(10);
    if (choice == 0 && depth > 0) return draw_choice(rng, depth - 1);
    if (choice == 1) {
      auto tree = draw_set(rng);
      tree->kind = rng.below(2) == 0 ? Kind::look_equal : Kind::look_not;
      return tree;
    }
    if (choice == 2 && rng.below(2) == 0) {
      auto tree = std::make_unique<Tree>();
      tree->kind = rng.below(2) == 0 ? Kind::end : Kind::line_end;
      return tree;
    }
    if (choice < 6) return draw_set(rng);
    auto tree = std::make_unique<Tree>();
    tree->kind = Kind::loop;
    constexpr size_t kMany = 1000000;
    const size_t bounds[][2] = {{0, kMany}, {1, kMany}, {0, 1}, {1, 3}, {2, 2}, {0, 2}};
    const auto& bound = bounds[rng.below(6)];
    tree->min = bound[0];
    tree->max = bound[1];
    const bool group = depth > 0 && rng.below(3) == 0;
    tree->parts.push_back(group ? draw_choice(rng, depth - 1) : draw_set(rng));
    const bool symbol = tree->max == kMany || (tree->min == 0 && tree->max == 1);
    if (!group && symbol && rng.below(5) == 0) {
      tree->kind = Kind::possessive;
    } else {
      tree->lazy = rng.below(4) == 0 && tree->min != tree->max;
    }
    return tree;
  }

  static std::string written_set(const Tree& tree) {
    std::string out = tree.negated ? "[^" : "[";
    for (const std::string& c : tree.set) out += c == "\n" ? "\\n" : c;
    return out + "]";
  }
  static std::string written(const Tree& tree) {
    std::string out;
    switch (tree.kind) {
      case Kind::letters:
        return written_set(tree);
      case Kind::look_equal:
        return "(?=" + written_set(tree) + ")";
      case Kind::look_not:
        return "(?!" + written_set(tree) + ")";
      case Kind::end:
        return "\\z";
      case Kind::line_end:
        return "$";
      case Kind::choice:
        for (const auto& part : tree.parts) out += (out.empty() ? "" : "|") + written(*part);
        return "(?:" + out + ")";
      case Kind::sequence:
        for (const auto& part : tree.parts) out += written(*part);
        return out;
      case Kind::loop:
      case Kind::possessive:
        break;
    }
    out = written(*tree.parts[0]);
    if (tree.max > 1000) {
      out += tree.min == 0 ? "*" : "+";
    } else if (tree.min == 0 && tree.max == 1) {
      out += "?";
    } else {
      out += "{" + std::to_string(tree.min) + "," + std::to_string(tree.max) + "}";
    }
    if (tree.kind == Kind::possessive) out += "+";
    return tree.lazy ? out + "?" : out;
  }

  static std::string_view character(std::string_view subject, size_t at) {
    return at < subject.size() ? subject.substr(at, decode_utf8(subject, at).size)
                               : std::string_view();
  }
  static bool in_set(const Tree& tree, std::string_view c) {
    if (c.empty()) return false;
    bool found = false;
    for (const std::string& one : tree.set) found |= one == c;
    return found != tree.negated;
  }
  bool run(const Tree& tree, std::string_view s, size_t at, const Then& then) const {
    if (budget_ == 0 || --budget_ == 0) return true;
    const std::string_view c = character(s, at);
    switch (tree.kind) {
      case Kind::letters:
        return in_set(tree, c) && then(at + c.size());
      case Kind::look_equal:
        return in_set(tree, c) && then(at);
      case Kind::look_not:
        return !in_set(tree, c) && then(at);
      case Kind::end:
        return at == s.size() && then(at);
      case Kind::line_end:
        return (at == s.size() || c == "\n") && then(at);
      case Kind::choice:
        for (const auto& part : tree.parts) {
          if (run(*part, s, at, then)) return true;
        }
        return false;
      case Kind::sequence:
        return run_parts(tree, 0, s, at, then);
      case Kind::loop:
        return run_loop(tree, 0, s, at, then);
      case Kind::possessive: {
        size_t n = 0;
        size_t p = at;
        for (; n < tree.max && in_set(*tree.parts[0], character(s, p)); ++n) {
          p += character(s, p).size();
        }
        return n >= tree.min && then(p);
      }
    }
    return false;
  }
  bool run_parts(const Tree& tree, size_t i, std::string_view s, size_t at,
                 const Then& then) const {
    if (i == tree.parts.size()) return then(at);
    return run(*tree.parts[i], s, at, [&](size_t p) { return run_parts(tree, i + 1, s, p, then); });
  }
  bool run_loop(const Tree& tree, size_t n, std::string_view s, size_t at, const Then& then) const {
    const auto again = [&] {
      return n < tree.max && run(*tree.parts[0], s, at,
                                 [&](size_t p) { return run_loop(tree, n + 1, s, p, then); });
    };
    if (n < tree.min) return again();
    return tree.lazy ? then(at) || again() : again() || then(at);
  }

  std::unique_ptr<Tree> root_;
  mutable int budget_ = 0;
  mutable bool exhausted_ = false;
};

// What `tokenizers` makes of the matches: pieces that are not empty.
template <class MatchAt>
std::vector<Word> reference_pieces(std::string_view text, SplitBehavior behavior, bool invert,
                                   const MatchAt& match_at) {
  struct Item {
    size_t begin;
    size_t end;
    bool match;
  };
  std::vector<Item> items;
  size_t behind = 0;                  // the end of the last item
  size_t last_end = text.size() + 1;  // the end of the last match
  for (size_t at = 0; at <= text.size();) {
    const size_t end = match_at(text, at);
    if (end == std::string_view::npos || (end == at && at == last_end)) {
      at += at < text.size() ? decode_utf8(text, at).size : 1;
      continue;
    }
    if (at > behind) items.push_back({behind, at, false});
    items.push_back({at, end, true});
    behind = last_end = at = end;
  }
  if (behind < text.size()) items.push_back({behind, text.size(), false});
  for (Item& item : items) item.match ^= invert;

  const bool backwards = behavior == SplitBehavior::merged_with_next;
  if (backwards) std::reverse(items.begin(), items.end());
  std::vector<Item> pieces;
  bool previous = false;
  for (const Item& item : items) {
    const bool merges = behavior == SplitBehavior::merged_with_previous || backwards;
    const bool joins =
        !pieces.empty() && ((merges && item.match && !previous) ||
                            (behavior == SplitBehavior::contiguous && item.match == previous));
    if (joins) {
      pieces.back().begin = std::min(pieces.back().begin, item.begin);
      pieces.back().end = std::max(pieces.back().end, item.end);
    } else if (behavior != SplitBehavior::removed || !item.match) {
      pieces.push_back(item);
    }
    previous = item.match;
  }
  if (backwards) std::reverse(pieces.begin(), pieces.end());
  std::vector<Word> words;
  for (const Item& piece : pieces) {
    if (piece.begin == piece.end) continue;
    words.push_back({static_cast<uint32_t>(piece.begin), static_cast<uint32_t>(piece.end)});
  }
  return words;
}

}  // namespace ruv

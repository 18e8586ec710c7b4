// Nodes are folded after their children, and references after the rules that they name, on a stack
// of our own: chains of rules may be long. A reference to a rule that is still being folded is a
// recursion, and no language.
#include "grammar/rules/fold_languages.h"

#include <algorithm>

#include "base/check.h"

namespace ruv {
namespace {

class LanguageFolder {
 public:
  LanguageFolder(Languages& languages, RuleSet& rules, const FoldLimits& limits)
      : languages_(languages, limits.language),
        rules_(rules),
        size_left_(limits.total_size),
        state_(rules.nodes.size(), State::untouched) {}

  void run() {
    for (const Rule& rule : rules_.rules) fold_below(rule.body);
  }

 private:
  enum class State : uint8_t { untouched, open, folded };
  struct Frame {
    uint32_t node;
    uint32_t next = 0;  // of the nodes that it depends on
  };

  // What a node depends on: its children, or the body of the rule that it names.
  std::span<const uint32_t> dependencies(const RuleNode& n) const {
    if (n.kind == RuleKind::rule) return {&rules_.rules[n.index].body, 1};
    return n.children;
  }

  void fold_below(uint32_t root) {
    std::vector<Frame> stack;
    const auto visit = [&](uint32_t node) {
      if (state_[node] != State::untouched) return;
      state_[node] = State::open;
      stack.push_back({node});
    };
    visit(root);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const std::span<const uint32_t> needed = dependencies(rules_.nodes[frame.node]);
      if (frame.next < needed.size()) {
        visit(needed[frame.next++]);
        continue;
      }
      const uint32_t node = frame.node;
      stack.pop_back();
      fold(node);
      state_[node] = State::folded;
    }
  }

  void fold(uint32_t id) {
    const RuleNode& n = rules_.nodes[id];
    switch (n.kind) {
      case RuleKind::rule: {
        const uint32_t body = rules_.rules[n.index].body;
        if (state_[body] == State::folded && is_language(body)) become(id, body);
        return;
      }
      case RuleKind::sequence:
      case RuleKind::choice: {
        const std::vector<uint32_t> children = n.children;
        std::vector<uint32_t> kept = joined(n.kind, children);
        if (kept.size() == 1) return become(id, kept[0]);
        rules_.nodes[id].children = std::move(kept);
        return;
      }
      case RuleKind::repeat:
        return fold_repeat(id);
      case RuleKind::language:
      case RuleKind::tokens:
      case RuleKind::value:
        return;
    }
  }

  bool is_language(uint32_t id) const { return rules_.nodes[id].kind == RuleKind::language; }
  BoundedLanguage language(uint32_t id) const {
    return {rules_.nodes[id].language, rules_.nodes[id].bounds};
  }
  void become(uint32_t id, uint32_t other) { rules_.nodes[id] = RuleNode(rules_.nodes[other]); }
  uint32_t add(const BoundedLanguage& made) {
    rules_.nodes.push_back(
        {.kind = RuleKind::language, .language = made.language, .bounds = made.bounds});
    state_.push_back(State::folded);
    return static_cast<uint32_t>(rules_.nodes.size() - 1);
  }
  bool spend(const LanguageBounds& bounds) {
    if (!languages_.fits(bounds) || bounds.size > size_left_) return false;
    size_left_ -= bounds.size;
    return true;
  }

  void fold_repeat(uint32_t id) {
    const RuleNode& n = rules_.nodes[id];
    if (!is_language(n.children[0])) return;
    const BoundedLanguage part = language(n.children[0]);
    if (!spend(part.bounds)) return;
    const auto made = languages_.repeat(part, n.min, n.max);
    if (made) become(id, add(*made));
  }

  // Languages that become one: neighbours of a sequence, alternatives of a choice.
  struct Run {
    std::vector<uint32_t> ids;  // from the right
    LanguageBounds bounds = BoundedLanguages::kEmpty;
  };

  // The children with runs of languages joined, from the right, as many as fit. No children: a
  // language, too.
  std::vector<uint32_t> joined(RuleKind kind, const std::vector<uint32_t>& children) {
    if (children.empty()) return {add(join(kind, {}))};
    std::vector<uint32_t> kept;
    Run run;
    for (size_t i = children.size(); i-- > 0;) {
      const uint32_t child = children[i];
      if (!is_language(child)) {
        if (kind == RuleKind::sequence) end_run(kind, run, kept);
        kept.push_back(child);
        continue;
      }
      LanguageBounds bounds = extended(kind, child, run.bounds);
      if (!languages_.fits(bounds)) {
        end_run(kind, run, kept);
        bounds = extended(kind, child, run.bounds);
      }
      run.ids.push_back(child);
      run.bounds = bounds;
    }
    end_run(kind, run, kept);
    std::ranges::reverse(kept);
    return kept;
  }

  LanguageBounds extended(RuleKind kind, uint32_t child, const LanguageBounds& bounds) {
    const RuleNode& n = rules_.nodes[child];
    if (kind == RuleKind::choice) return bounds_beside(n.bounds, bounds);
    return bounds_before(n.bounds, languages_.languages().has_empty(n.language), bounds);
  }

  void end_run(RuleKind kind, Run& run, std::vector<uint32_t>& kept) {
    if (run.ids.size() > 1 && spend(run.bounds)) {
      std::vector<BoundedLanguage> parts;
      for (size_t i = run.ids.size(); i-- > 0;) parts.push_back(language(run.ids[i]));
      kept.push_back(add(join(kind, parts)));
    } else {
      kept.insert(kept.end(), run.ids.begin(), run.ids.end());
    }
    run = {};
  }

  // Requires: the bounds of it fit.
  BoundedLanguage join(RuleKind kind, std::span<const BoundedLanguage> parts) {
    const auto made =
        kind == RuleKind::sequence ? languages_.concat(parts) : languages_.any_of(parts);
    CHECK(made.has_value());
    return *made;
  }

  BoundedLanguages languages_;
  RuleSet& rules_;
  uint32_t size_left_;
  std::vector<State> state_;
};

}  // namespace

void fold_languages(Languages& languages, RuleSet& rules, const FoldLimits& limits) {
  LanguageFolder(languages, rules, limits).run();
}

}  // namespace ruv

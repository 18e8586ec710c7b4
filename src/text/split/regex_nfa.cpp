// Builds the graph from its end, so that every place knows the next one when it is made. Bounded
// repeats are written out, which kMaxPlaces limits.
#include "text/split/regex_nfa.h"

namespace ruv {
namespace {

constexpr size_t kMaxPlaces = 20000;

class NfaBuilder {
 public:
  explicit NfaBuilder(const SplitRegex& regex) : regex_(regex) { places_.push_back({}); }

  // The place where matching `node`, then `next`, begins. Depth: that of the tree, which is
  // limited.
  uint32_t add(uint32_t node_id, uint32_t next) {
    const RegexNode& node = regex_.nodes()[node_id];
    switch (node.kind) {
      case RegexKind::empty:
        return next;
      case RegexKind::set:
        return put({PlaceKind::take, false, node.set, next, 0});
      case RegexKind::look:
        return put({PlaceKind::look, node.at_end, node.set, next, 0});
      case RegexKind::text_start:
        return put({PlaceKind::text_start, false, 0, next, 0});
      case RegexKind::sequence:
        for (size_t i = node.children.size(); i-- > 0;) next = add(node.children[i], next);
        return next;
      case RegexKind::choice:
        return add_choice(node, next);
      case RegexKind::repeat:
        return add_repeat(node, next);
    }
    return next;
  }
  bool full() const { return places_.size() > kMaxPlaces; }
  std::vector<RegexPlace> take() { return std::move(places_); }

 private:
  uint32_t put(const RegexPlace& place) {
    if (!full()) places_.push_back(place);
    return static_cast<uint32_t>(places_.size() - 1);
  }
  // A choice between two ways, the preferred one first; `lazy` exchanges them.
  uint32_t fork(uint32_t wanted, uint32_t other, bool lazy = false) {
    if (lazy) std::swap(wanted, other);
    return put({PlaceKind::fork, false, 0, wanted, other});
  }
  uint32_t add_choice(const RegexNode& node, uint32_t next) {
    uint32_t first = add(node.children.back(), next);
    for (size_t i = node.children.size() - 1; i-- > 0;)
      first = fork(add(node.children[i], next), first);
    return first;
  }
  // x{2,4} becomes x x (x (x)?)?; an unlimited repeat becomes a loop.
  uint32_t add_repeat(const RegexNode& node, uint32_t next) {
    const uint32_t body = node.children[0];
    uint32_t first = next;
    uint32_t required = node.min;
    if (node.max == kUnlimited) {
      const uint32_t loop = fork(next, next);
      const uint32_t again = add(body, loop);
      (node.lazy ? places_[loop].other : places_[loop].next) = again;
      first = required > 0 ? again : loop;
      required -= required > 0 ? 1 : 0;
    } else {
      for (uint32_t i = node.min; i < node.max && !full(); ++i) {
        first = fork(add(body, first), next, node.lazy);
      }
    }
    for (; required > 0 && !full(); --required) first = add(body, first);
    return first;
  }

  const SplitRegex& regex_;
  std::vector<RegexPlace> places_;
};

}  // namespace

Result<RegexNfa> RegexNfa::build(const SplitRegex& regex) {
  NfaBuilder builder(regex);
  const uint32_t start = builder.add(regex.root(), 0);
  if (builder.full()) {
    return fail(Code::unsupported, "regex: repeats written out need more than {} places",
                kMaxPlaces);
  }
  return RegexNfa{builder.take(), start};
}

}  // namespace ruv

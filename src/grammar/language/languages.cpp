// The normal form: sums are flat, ascending and without repetitions, concatenations lean to the
// right, sets of bytes in a union are one set, and what is neutral or absorbing is gone. It need
// not be canonical, only make the derivatives of an expression finitely many (Brzozowski shows that
// the first of these is enough) and in practice few.
#include "grammar/language/languages.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace ruv {
namespace {

// States that is_nothing looks through before it gives up.
constexpr size_t kMaxSearch = 20000;
// Bytes of a text that is looked at for being the only one.
constexpr size_t kMaxOnlyText = 1000;
// What begins narrowly has at most this many first bytes, up to a depth.
constexpr size_t kNarrowBytes = 64;
constexpr int kNarrowDepth = 2;
// Children of a sum that are derived one after the other.
constexpr size_t kFewParts = 6;

// Sums and products of lengths end at kUnlimited.
uint32_t add(uint32_t a, uint32_t b) { return a > UINT32_MAX - b ? UINT32_MAX : a + b; }

uint32_t multiply(uint32_t a, uint32_t b) {
  const uint64_t product = uint64_t{a} * b;
  return product >= UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(product);
}

uint64_t mix(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9E3779B97F4A7C15 + (hash << 12) + (hash >> 4);
  return hash * 0xD6E8FEB86659FD93;
}

uint64_t hash_of(const ByteSet& set) {
  uint64_t hash = 0;
  for (const uint64_t word : set.words()) hash = mix(hash, word);
  return hash;
}

uint32_t index(Language language) { return static_cast<uint32_t>(language); }

// Adds to the arc that leads there, if there is one, so that each next language has one arc.
void add_arc(std::vector<Languages::Arc>& arcs, const ByteSet& bytes, Language next) {
  if (bytes.empty() || next == Language::nothing) return;
  for (Languages::Arc& arc : arcs) {
    if (arc.next == next) {
      arc.bytes |= bytes;
      return;
    }
  }
  arcs.push_back({bytes, next});
}

}  // namespace

Languages::Languages(size_t max_nodes, size_t room)
    : max_nodes_(std::max<size_t>(max_nodes, 16)),
      ids_(std::min(max_nodes_, room)),
      set_ids_(room / 64) {
  room = std::min(max_nodes_, room);
  nodes_.reserve(room);
  children_.reserve(room);
  arcs_.reserve(2 * room);
  arcs_.resize(1);  // 0 means: not derived yet
  nodes_.push_back({.kind = Kind::nothing,
                    .has_empty = false,
                    .is_plain = true,
                    .emptiness = Emptiness::yes,
                    .height = 0,
                    .longest = 0,
                    .arcs = 1});
  nodes_.push_back({.kind = Kind::empty,
                    .has_empty = true,
                    .is_plain = true,
                    .emptiness = Emptiness::no,
                    .height = 0,
                    .longest = 0,
                    .arcs = 1});
  nodes_.push_back({.kind = Kind::complement,
                    .has_empty = true,
                    .is_plain = true,
                    .emptiness = Emptiness::no,
                    .height = 0,
                    .longest = kUnlimited,
                    .arcs = 1,
                    .n_arcs = 1});
  arcs_.push_back({ByteSet::all(), Language::anything});
}

bool Languages::same(const Node& a, const Node& b, std::span<const Language> of_b) const {
  if (a.kind != b.kind || a.second != b.second || a.min != b.min || a.max != b.max) return false;
  if (a.kind == Kind::any || a.kind == Kind::all) return std::ranges::equal(children(a), of_b);
  return a.first == b.first;
}

// Derivation recurses on the height of an expression, at less than a kilobyte of stack a level;
// deeper expressions are not made. The id of an expression whose children, if it is a sum, are
// given beside it.
Language Languages::intern(const Node& wanted, std::span<const Language> children) {
  uint64_t hash = mix(static_cast<uint64_t>(wanted.kind), wanted.second);
  hash = mix(hash, uint64_t{wanted.min} << 32 | wanted.max);
  if (children.empty()) hash = mix(hash, wanted.first);
  for (const Language child : children) hash = mix(hash, index(child));
  const uint32_t known =
      ids_.find(hash, [&](uint32_t id) { return same(nodes_[id], wanted, children); });
  if (known != IdTable::kNone) return static_cast<Language>(known);
  if (nodes_.size() >= max_nodes_ || wanted.height > kMaxHeight) {
    overflowed_ = true;
    return Language::nothing;
  }
  Node made = wanted;
  if (!children.empty()) {
    made.first = static_cast<uint32_t>(children_.size());
    children_.insert(children_.end(), children.begin(), children.end());
  }
  if (made.is_plain) made.emptiness = Emptiness::no;
  const auto id = static_cast<Language>(nodes_.size());
  nodes_.push_back(made);
  ids_.insert(hash, index(id));
  return id;
}

// Sets are interned too, so a node holds an index.
Language Languages::byte_of(const ByteSet& set) {
  if (set.empty()) return Language::nothing;
  const uint64_t hash = hash_of(set);
  uint32_t id = set_ids_.find(hash, [&](uint32_t at) { return sets_[at] == set; });
  if (id == IdTable::kNone) {
    id = static_cast<uint32_t>(sets_.size());
    sets_.push_back(set);
    set_ids_.insert(hash, id);
  }
  return intern({.kind = Kind::bytes,
                 .has_empty = false,
                 .is_plain = true,
                 .height = 1,
                 .longest = 1,
                 .first = id});
}

Language Languages::text(std::string_view text) {
  Language made = Language::empty;
  for (size_t i = text.size(); i-- > 0;) {
    made = concat_two(byte_of(ByteSet::of(static_cast<uint8_t>(text[i]))), made);
  }
  return made;
}

// Requires: `first` is not a concatenation.
Language Languages::concat_two(Language first, Language second) {
  if (first == Language::nothing || second == Language::nothing) return Language::nothing;
  if (first == Language::empty) return second;
  if (second == Language::empty) return first;
  const Node& a = node(first);
  const Node& b = node(second);
  if (first == Language::anything &&
      (second == first || (b.kind == Kind::concat && b.first == index(first)))) {
    return second;
  }
  const uint16_t below = a.has_empty ? std::max(a.height, b.height) : a.height;
  return intern({.kind = Kind::concat,
                 .has_empty = a.has_empty && b.has_empty,
                 .is_plain = a.is_plain && b.is_plain,
                 .height = static_cast<uint16_t>(below + 1),
                 .longest = add(a.longest, b.longest),
                 .first = index(first),
                 .second = index(second)});
}

// Concatenations lean to the right, so that the same sequence of parts is the same expression.
Language Languages::concat(Language first, Language second) {
  std::vector<Language> parts;
  while (node(first).kind == Kind::concat) {
    parts.push_back(static_cast<Language>(node(first).first));
    first = static_cast<Language>(node(first).second);
  }
  Language made = concat_two(first, second);
  for (size_t i = parts.size(); i-- > 0;) made = concat_two(parts[i], made);
  return made;
}

Language Languages::concat(std::span<const Language> parts) {
  Language made = Language::empty;
  for (size_t i = parts.size(); i-- > 0;) made = concat(parts[i], made);
  return made;
}

// A union or an intersection: flat, ascending, without repetitions and neutral parts.
Language Languages::make_sum(Kind kind, std::vector<Language>& parts) {
  const bool any = kind == Kind::any;
  const Language neutral = any ? Language::nothing : Language::anything;
  const Language absorbing = any ? Language::anything : Language::nothing;
  for (size_t i = 0; i < parts.size(); ++i) {  // sums in a sum are flat already
    if (node(parts[i]).kind != kind) continue;
    const std::span<const Language> inner = children(node(parts[i]));
    parts[i] = neutral;
    parts.insert(parts.end(), inner.begin(), inner.end());
  }
  std::ranges::sort(parts);
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  ByteSet bytes = any ? ByteSet() : ByteSet::all();
  bool has_bytes = false;
  std::erase_if(parts, [&](Language part) {
    const Node& n = node(part);
    if (n.kind != Kind::bytes) return part == neutral;
    has_bytes = true;
    any ? bytes |= sets_[n.first] : bytes &= sets_[n.first];
    return true;
  });
  if (has_bytes) {
    parts.push_back(byte_of(bytes));
    std::ranges::sort(parts);
  }
  if (std::ranges::find(parts, absorbing) != parts.end()) return absorbing;
  for (const Language part : parts) {  // a language and its complement
    if (node(part).kind != Kind::complement) continue;
    const auto inner = static_cast<Language>(node(part).first);
    if (std::ranges::binary_search(parts, inner)) return absorbing;
  }
  if (any && parts.size() > 1 && parts[0] == Language::empty &&
      std::any_of(parts.begin() + 1, parts.end(), [&](Language p) { return has_empty(p); })) {
    parts.erase(parts.begin());
  }
  if (parts.empty()) return neutral;
  if (parts.size() == 1) return parts[0];
  if (!any && parts[0] == Language::empty) {
    return std::ranges::all_of(parts, [&](Language p) { return has_empty(p); }) ? Language::empty
                                                                                : Language::nothing;
  }
  Node made = {.kind = kind,
               .has_empty = !any,
               .is_plain = any,
               .height = 0,
               .longest = any ? 0 : kUnlimited,
               .second = static_cast<uint32_t>(parts.size())};
  for (const Language part : parts) {
    const Node& n = node(part);
    made.has_empty = any ? made.has_empty || n.has_empty : made.has_empty && n.has_empty;
    made.is_plain = made.is_plain && n.is_plain;
    made.height = std::max(made.height, static_cast<uint16_t>(n.height + 1));
    made.longest = any ? std::max(made.longest, n.longest) : std::min(made.longest, n.longest);
  }
  return intern(made, parts);
}

Language Languages::any_of(std::span<const Language> parts) {
  std::vector<Language> copy(parts.begin(), parts.end());
  return make_sum(Kind::any, copy);
}

Language Languages::all_of(std::span<const Language> parts) {
  std::vector<Language> copy(parts.begin(), parts.end());
  return make_sum(Kind::all, copy);
}

Language Languages::complement(Language language) {
  if (language == Language::nothing) return Language::anything;
  const Node& n = node(language);
  if (n.kind == Kind::complement) {
    return language == Language::anything ? Language::nothing : static_cast<Language>(n.first);
  }
  return intern({.kind = Kind::complement,
                 .has_empty = !n.has_empty,
                 .is_plain = false,
                 .height = static_cast<uint16_t>(n.height + 1),
                 .longest = kUnlimited,
                 .first = index(language)});
}

Language Languages::repeat(Language part, uint32_t min, uint32_t max) {
  if (max == 0 || part == Language::empty) return Language::empty;
  if (part == Language::nothing) return min == 0 ? Language::empty : Language::nothing;
  if (min == 1 && max == 1) return part;
  if (part == Language::anything) return part;
  const Node& n = node(part);
  if (n.has_empty) min = 0;
  if (n.kind == Kind::repeat && n.min == 0 && n.max == kUnlimited) return part;
  if (n.kind == Kind::bytes && min == 0 && max == kUnlimited && sets_[n.first] == ByteSet::all()) {
    return Language::anything;
  }
  return intern({.kind = Kind::repeat,
                 .has_empty = min == 0,
                 .is_plain = n.is_plain,
                 .height = static_cast<uint16_t>(n.height + 1),
                 .longest = multiply(n.longest, max),
                 .first = index(part),
                 .min = min,
                 .max = max});
}

Language Languages::automaton(std::span<const State> states) {
  if (states.empty() || nodes_.size() + states.size() > max_nodes_) {
    overflowed_ = !states.empty() || overflowed_;
    return Language::nothing;
  }
  const size_t base = nodes_.size();
  for (const State& state : states) {
    nodes_.push_back({.kind = Kind::state,
                      .has_empty = state.accepts,
                      .is_plain = false,
                      .height = 1,
                      .longest = kUnlimited,
                      .arcs = static_cast<uint32_t>(arcs_.size()),
                      .n_arcs = static_cast<uint32_t>(state.next.size())});
    for (const auto& [bytes, next] : state.next) {
      arcs_.push_back({bytes, static_cast<Language>(base + next)});
    }
  }
  return static_cast<Language>(base);
}

Language Languages::unknown(bool has_empty, uint16_t max_height) {
  if (nodes_.size() >= max_nodes_) {
    overflowed_ = true;
    return Language::nothing;
  }
  nodes_.push_back({.kind = Kind::unknown,
                    .has_empty = has_empty,
                    .is_plain = false,
                    .height = max_height,
                    .longest = kUnlimited});
  return static_cast<Language>(nodes_.size() - 1);
}

void Languages::define(Language unknown, Language definition) {
  if (unknown == Language::nothing) return;  // overflowed
  Node& n = nodes_[index(unknown)];
  n.first = index(definition);
  const auto height = static_cast<uint16_t>(node(definition).height + 1);
  overflowed_ = overflowed_ || height > n.height;
  n.height = height;
}

std::span<const Languages::Arc> Languages::arcs(Language language) {
  if (node(language).arcs == 0) derive(language);
  const Node& n = node(language);
  return std::span(arcs_).subspan(n.arcs, n.n_arcs);
}

void Languages::derive(Language language) {
  std::vector<Arc> made;
  derive_into(language, made);
  Node& n = nodes_[index(language)];
  n.arcs = static_cast<uint32_t>(arcs_.size());
  n.n_arcs = static_cast<uint32_t>(made.size());
  arcs_.insert(arcs_.end(), made.begin(), made.end());
}

void Languages::derive_into(Language language, std::vector<Arc>& out) {
  const Node n = node(language);  // a copy: deriving makes nodes
  switch (n.kind) {
    case Kind::nothing:
    case Kind::empty:
    case Kind::state:
      return;  // known from the start
    case Kind::bytes:
      out.push_back({sets_[n.first], Language::empty});
      return;
    case Kind::unknown: {
      const std::span<const Arc> defined = arcs(static_cast<Language>(n.first));
      out.assign(defined.begin(), defined.end());
      return;
    }
    case Kind::any:
    case Kind::all:
      derive_sum(n, out);
      return;
    case Kind::complement:
      derive_complement(n, out);
      return;
    case Kind::repeat: {
      const uint32_t left = n.max == kUnlimited ? kUnlimited : n.max - 1;
      const auto part = static_cast<Language>(n.first);
      const Language rest = repeat(part, n.min == 0 ? 0 : n.min - 1, left);
      const std::span<const Arc> inner = arcs(part);
      const std::vector<Arc> copy(inner.begin(), inner.end());
      for (const Arc& arc : copy) add_arc(out, arc.bytes, concat(arc.next, rest));
      return;
    }
    case Kind::concat: {
      const auto first = static_cast<Language>(n.first);
      const auto second = static_cast<Language>(n.second);
      const std::span<const Arc> inner = arcs(first);
      const std::vector<Arc> copy(inner.begin(), inner.end());
      std::vector<Arc> through;
      for (const Arc& arc : copy) add_arc(through, arc.bytes, concat(arc.next, second));
      if (!node(first).has_empty) {
        out = std::move(through);
        return;
      }
      // Bytes of both ways lead to the union.
      const std::span<const Arc> after_span = arcs(second);
      const std::vector<Arc> after_first(after_span.begin(), after_span.end());
      ByteSet taken;
      for (const Arc& a : through) taken |= a.bytes;
      ByteSet others;
      for (const Arc& b : after_first) others |= b.bytes;
      for (const Arc& a : through) add_arc(out, a.bytes & ~others, a.next);
      for (const Arc& b : after_first) add_arc(out, b.bytes & ~taken, b.next);
      for (const Arc& a : through) {
        for (const Arc& b : after_first) {
          const ByteSet both = a.bytes & b.bytes;
          if (!both.empty()) add_arc(out, both, any_of(a.next, b.next));
        }
      }
      return;
    }
  }
}

// Bytes that lead to the same places in all children are one arc. A few children are taken one
// after the other, each splitting the sets that those before it made.
void Languages::derive_sum(const Node& n, std::vector<Arc>& out) {
  const std::span<const Language> span = children(n);
  const std::vector<Language> parts(span.begin(), span.end());
  for (const Language part : parts) arcs(part);
  if (parts.size() > kFewParts) return derive_wide_sum(n, parts, out);
  struct Class {
    ByteSet bytes;
    std::vector<Language> nexts;
  };
  const bool any = n.kind == Kind::any;
  std::vector<Class> classes = {{ByteSet::all(), {}}};
  std::vector<Class> split;
  for (const Language part : parts) {
    split.clear();
    for (Class& at : classes) {
      for (const Arc& arc : arcs(part)) {
        const ByteSet both = at.bytes & arc.bytes;
        if (both.empty()) continue;
        split.push_back({both, at.nexts});
        split.back().nexts.push_back(arc.next);
        at.bytes &= ~arc.bytes;
      }
      if (any && !at.bytes.empty()) split.push_back(std::move(at));
    }
    classes.swap(split);
  }
  for (Class& at : classes) {
    if (!at.nexts.empty()) add_arc(out, at.bytes, make_sum(n.kind, at.nexts));
  }
}

// Many children, of which most take few bytes: what each byte leads to is counted first, then
// written to the byte's place in one list.
void Languages::derive_wide_sum(const Node& n, std::span<const Language> parts,
                                std::vector<Arc>& out) {
  std::vector<Arc> inner;
  for (const Language part : parts) {
    const std::span<const Arc> more = arcs(part);
    inner.insert(inner.end(), more.begin(), more.end());
  }
  std::array<size_t, 257> begin{};
  for (const Arc& arc : inner) arc.bytes.for_each([&](uint8_t byte) { ++begin[byte + size_t{1}]; });
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<Language> steps(begin.back());
  std::array<size_t, 257> at = begin;
  for (const Arc& arc : inner)
    arc.bytes.for_each([&](uint8_t byte) { steps[at[byte]++] = arc.next; });

  std::vector<std::pair<ByteSet, std::span<const Language>>> classes;
  for (size_t byte = 0; byte < 256; ++byte) {
    const auto nexts =
        std::span<const Language>(steps).subspan(begin[byte], begin[byte + 1] - begin[byte]);
    if (nexts.empty() || (n.kind == Kind::all && nexts.size() < parts.size())) continue;
    const auto same = std::ranges::find_if(
        classes, [&](const auto& other) { return std::ranges::equal(other.second, nexts); });
    if (same == classes.end()) {
      classes.emplace_back(ByteSet::of(static_cast<uint8_t>(byte)), nexts);
    } else {
      same->first.add(static_cast<uint8_t>(byte));
    }
  }
  for (const auto& [bytes, nexts] : classes) {
    std::vector<Language> sum(nexts.begin(), nexts.end());
    add_arc(out, bytes, make_sum(n.kind, sum));
  }
}

// Bytes that lead nowhere in the language lead anywhere in its complement.
void Languages::derive_complement(const Node& n, std::vector<Arc>& out) {
  const std::span<const Arc> inner = arcs(static_cast<Language>(n.first));
  const std::vector<Arc> copy(inner.begin(), inner.end());
  ByteSet rest = ByteSet::all();
  for (const Arc& arc : copy) {
    rest &= ~arc.bytes;
    add_arc(out, arc.bytes, complement(arc.next));
  }
  add_arc(out, rest, Language::anything);
}

Language Languages::after(Language language, uint8_t byte) {
  for (const Arc& arc : arcs(language)) {
    if (arc.bytes.has(byte)) return arc.next;
  }
  return Language::nothing;
}

Language Languages::after(Language language, std::string_view text) {
  for (const char c : text) {
    if (language == Language::nothing) break;
    language = after(language, static_cast<uint8_t>(c));
  }
  return language;
}

// Follows the only text there is up to a place where it ends or has several continuations.
bool Languages::has_several(Language language) {
  for (size_t n = 0; n < kMaxOnlyText; ++n) {
    size_t n_ways = has_empty(language) ? 1 : 0;
    Language next = Language::nothing;
    const std::span<const Arc> span = arcs(language);
    for (const Arc& arc : std::vector(span.begin(), span.end())) {
      if (is_nothing(arc.next)) continue;
      n_ways += arc.bytes.size();
      next = arc.next;
      if (n_ways > 1) return true;
    }
    if (next == Language::nothing) return false;
    language = next;
  }
  return false;
}

std::optional<Languages::Exclusion> Languages::exclusion_of(Language language) {
  return exclusion_where(language, &Languages::is_finite);
}

std::optional<Languages::Exclusion> Languages::narrow_exclusion_of(Language language) {
  return exclusion_where(language, &Languages::begins_narrow);
}

bool Languages::is_finite(Language language) {
  return node(language).is_plain && longest(language) != kUnlimited;
}

// The first bytes of its texts are few.
bool Languages::begins_narrow(Language language) {
  if (is_finite(language)) return true;
  if (!node(language).is_plain) return false;
  std::vector<Language> open = {language};
  for (int depth = 0; depth < kNarrowDepth; ++depth) {
    std::vector<Language> next;
    size_t n_bytes = 0;
    for (const Language state : open) {
      for (const Arc& arc : arcs(state)) {
        n_bytes += arc.bytes.size();
        next.push_back(arc.next);
      }
    }
    if (n_bytes > kNarrowBytes) return false;
    open = std::move(next);
  }
  return true;
}

std::optional<Languages::Exclusion> Languages::exclusion_where(
    Language language, bool (Languages::*may_be)(Language)) {
  if (node(language).kind != Kind::all) return std::nullopt;
  const std::span<const Language> span = children(node(language));
  const std::vector<Language> parts(span.begin(), span.end());  // asking may make languages
  std::vector<Language> base;
  std::vector<Language> excluded;
  for (const Language part : parts) {
    const Node n = node(part);
    const auto inner = static_cast<Language>(n.first);
    const bool goes =
        n.kind == Kind::complement && part != Language::anything && (this->*may_be)(inner);
    goes ? excluded.push_back(inner) : base.push_back(part);
  }
  if (excluded.empty() || base.empty()) return std::nullopt;
  return Exclusion{all_of(base), any_of(excluded)};
}

std::optional<Languages::Repetition> Languages::repetition_of(Language language) const {
  const Node& whole = node(language);
  const bool has_rest = whole.kind == Kind::concat;
  const Node& loop = has_rest ? node(static_cast<Language>(whole.first)) : whole;
  if (loop.kind != Kind::repeat) return std::nullopt;
  return Repetition{static_cast<Language>(loop.first), loop.min, loop.max,
                    has_rest ? static_cast<Language>(whole.second) : Language::empty};
}

std::optional<Languages::Intersection> Languages::intersection_of(Language language) const {
  const Node& whole = node(language);
  const bool has_rest = whole.kind == Kind::concat;
  const Node& sum = has_rest ? node(static_cast<Language>(whole.first)) : whole;
  if (sum.kind != Kind::all) return std::nullopt;
  const std::span<const Language> parts = children(sum);
  return Intersection{{parts.begin(), parts.end()},
                      has_rest ? static_cast<Language>(whole.second) : Language::empty};
}

// A search in breadth for a state that ends a text. All states on the way to one are known then,
// and if there is none, all that were reached.
bool Languages::is_nothing(Language language) {
  if (node(language).emptiness != Emptiness::unknown) {
    return node(language).emptiness == Emptiness::yes;
  }
  const auto exclusion = exclusion_of(language);
  if (exclusion && node(exclusion->base).is_plain && longest(exclusion->base) == kUnlimited) {
    nodes_[index(language)].emptiness = Emptiness::no;
    return false;
  }
  // All states that can be reached, in the order found, and from where.
  std::vector<Language> reached = {language};
  std::vector<size_t> from = {0};
  std::unordered_map<Language, bool> seen = {{language, true}};
  for (size_t i = 0; i < reached.size(); ++i) {
    if (node(reached[i]).has_empty) {
      for (size_t at = i;; at = from[at]) {  // each on the way has this text's end
        nodes_[index(reached[at])].emptiness = Emptiness::no;
        if (at == 0) return false;
      }
    }
    if (reached.size() > kMaxSearch || overflowed_) {
      overflowed_ = true;
      return true;
    }
    for (const Arc& arc : arcs(reached[i])) {
      const Emptiness known = node(arc.next).emptiness;
      if (known == Emptiness::yes) continue;
      if (known == Emptiness::no) {
        for (size_t at = i;; at = from[at]) {
          nodes_[index(reached[at])].emptiness = Emptiness::no;
          if (at == 0) return false;
        }
      }
      if (!seen.emplace(arc.next, true).second) continue;
      reached.push_back(arc.next);
      from.push_back(i);
    }
  }
  for (const Language state : reached) nodes_[index(state)].emptiness = Emptiness::yes;
  return true;
}

}  // namespace ruv

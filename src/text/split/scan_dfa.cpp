// Subset construction with ordered subsets. The empty moves from a state are followed once for all
// symbols: each way carries the set of symbols for which it is open, narrowed by lookaheads.
#include "text/split/scan_dfa.h"

#include <map>

#include "text/split/regex_nfa.h"

namespace ruv {
namespace {

constexpr size_t kMaxStates = 4096;
constexpr uint64_t kMaxWork = 4'000'000;

}  // namespace

class ScanDfaBuilder {
 public:
  ScanDfaBuilder(RegexNfa nfa, uint32_t n_symbols,
                 const std::function<const SymbolSet&(uint32_t)>& symbols_of)
      : nfa_(std::move(nfa)), symbols_of_(symbols_of), seen_(nfa_.places.size()) {
    out_.n_symbols_ = n_symbols;
  }

  Result<ScanDfa> build() {
    states_.push_back({});  // kDead
    out_.table_.resize(out_.n_symbols_);
    out_.start_ = state_of({nfa_.start});
    bool has_text_start = false;
    for (const RegexPlace& place : nfa_.places) {
      has_text_start |= place.kind == PlaceKind::text_start;
    }
    out_.text_start_ = out_.start_;
    if (has_text_start) {
      // A state of its own, which no list of places leads to.
      out_.text_start_ = static_cast<uint32_t>(states_.size());
      states_.push_back({nfa_.start});
    }
    for (uint32_t state = 1; state < states_.size(); ++state) {
      out_.table_.resize((state + 1) * out_.n_symbols_);
      open_ways(states_[state], has_text_start && state == out_.text_start_);
      for (uint32_t symbol = 0; symbol < out_.n_symbols_; ++symbol) add_step(state, symbol);
      if (states_.size() > kMaxStates || work_ > kMaxWork) {
        return fail(Code::unsupported, "regex: its automaton needs more than {}",
                    work_ > kMaxWork ? "the time allowed for building it"
                                     : fmt::format("{} states", kMaxStates));
      }
    }
    for (const uint32_t start : {out_.start_, out_.text_start_}) {
      for (uint32_t symbol = 0; symbol < out_.n_symbols_; ++symbol) {
        out_.may_be_empty_ |= out_.step(start, symbol).match;
      }
    }
    return std::move(out_);
  }

 private:
  // Ways from a state to a place after one character, or to the match, preferred ones first.
  struct Way {
    SymbolSet when;
    uint32_t to;
    bool match;
  };

  uint32_t state_of(const std::vector<uint32_t>& places) {
    const auto [at, added] = ids_.try_emplace(places, static_cast<uint32_t>(states_.size()));
    if (added) states_.push_back(places);
    return at->second;
  }

  // Follows the empty moves from an ordered list of places, depth first, so that ways come out in
  // order of preference.
  void open_ways(const std::vector<uint32_t>& places, bool at_text_start) {
    ways_.clear();
    SymbolSet decided;  // symbols for which a more wanted match is found
    for (const uint32_t place : visited_) seen_[place] = {};
    visited_.clear();
    std::vector<std::pair<uint32_t, SymbolSet>> pending;
    for (size_t i = places.size(); i-- > 0;) pending.push_back({places[i], SymbolSet::all()});
    while (!pending.empty()) {
      auto [at, when] = pending.back();
      pending.pop_back();
      ++work_;
      when = when.without(seen_[at]).without(decided);
      if (when.empty()) continue;
      if (seen_[at].empty()) visited_.push_back(at);
      seen_[at] |= when;
      const RegexPlace& place = nfa_.places[at];
      switch (place.kind) {
        case PlaceKind::match:
          ways_.push_back({when, 0, true});
          decided |= when;
          break;
        case PlaceKind::take:
          ways_.push_back({when & symbols_of_(place.set), place.next, false});
          break;
        case PlaceKind::look: {
          SymbolSet open = symbols_of_(place.set);
          if (place.at_end) open.add(out_.n_symbols_ - 1);
          pending.push_back({place.next, when & open});
          break;
        }
        case PlaceKind::text_start:
          if (at_text_start) pending.push_back({place.next, when});
          break;
        case PlaceKind::fork:
          pending.push_back({place.other, when});
          pending.push_back({place.next, when});
          break;
      }
    }
  }

  // The move on one symbol: the ways open for it, in order of preference.
  void add_step(uint32_t state, uint32_t symbol) {
    std::vector<uint32_t>& next = next_;
    next.clear();
    bool match = false;
    for (const Way& way : ways_) {
      ++work_;
      if (!way.when.contains(symbol)) continue;
      match |= way.match;
      if (!way.match) next.push_back(way.to);
    }
    drop_repeats(next);
    const uint32_t to = next.empty() ? ScanDfa::kDead : state_of(next);
    out_.table_[state * out_.n_symbols_ + symbol] = to * 2 + (match ? 1 : 0);
  }
  // Keeps the first of equal places.
  void drop_repeats(std::vector<uint32_t>& places) {
    size_t n = 0;
    for (size_t i = 0; i < places.size(); ++i) {
      bool repeated = false;
      for (size_t j = 0; j < n && !repeated; ++j) repeated = places[j] == places[i];
      if (!repeated) places[n++] = places[i];
    }
    work_ += places.size() * places.size() / 8;
    places.resize(n);
  }

  RegexNfa nfa_;
  const std::function<const SymbolSet&(uint32_t)>& symbols_of_;
  ScanDfa out_;
  std::map<std::vector<uint32_t>, uint32_t> ids_;
  std::vector<std::vector<uint32_t>> states_;
  std::vector<Way> ways_;
  std::vector<SymbolSet> seen_;
  std::vector<uint32_t> visited_;
  std::vector<uint32_t> next_;
  uint64_t work_ = 0;
};

Result<ScanDfa> ScanDfa::compile(const SplitRegex& regex, uint32_t n_symbols,
                                 const std::function<const SymbolSet&(uint32_t)>& symbols_of) {
  return ScanDfaBuilder(TRY(RegexNfa::build(regex)), n_symbols, symbols_of).build();
}

}  // namespace ruv

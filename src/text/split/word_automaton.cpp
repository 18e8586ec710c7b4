#include "text/split/word_automaton.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace ruv {
namespace {

// Limits of the table: two bits hold a slot number; the others bound the memory and time of
// building for hostile patterns.
constexpr size_t kMaxSlots = 3;
constexpr size_t kMaxConfigurations = 4096;
constexpr size_t kMaxPairs = 1U << 18;

}  // namespace

// Enumerates the configurations reachable from the start, and packs the move of each on each symbol
// into the table.
class WordAutomatonBuilder {
  // The scans that run at a place. All but the last have found an end, which is in a slot.
  struct Configuration {
    uint32_t border = BorderAutomaton::kFresh;
    // Nothing is taken yet; the only scan is at its start.
    bool fresh = false;
    // A gap is open; it ends where the only scan began, which is slot 0, unless that scan fails.
    bool gap = false;
    // The last scan has taken exactly one character.
    bool young = false;
    // States of the pattern's automaton, the oldest first; kDead: that scan has come to its end.
    // None when a gap is open and nothing has begun.
    std::vector<uint32_t> scans;

    auto key() const { return std::tie(border, fresh, gap, young, scans); }
    bool operator<(const Configuration& other) const { return key() < other.key(); }
  };

  // The effect of one symbol on a configuration.
  struct Move {
    std::optional<size_t> slot;  // gets the place before the symbol
    size_t certain = 0;          // slots that become words
    bool gap_ends = false;       // that place is the end of a gap
    bool give_up = false;
    Configuration to;
  };

 public:
  explicit WordAutomatonBuilder(const PieceScanner& scanner)
      : match_(scanner.match()),
        borders_(scanner.borders()),
        end_symbol_(scanner.alphabet().end_symbol()) {}

  // The rows of the table; nothing when there are too many.
  std::optional<std::vector<uint32_t>> build() {
    if (!find_hopeful() || !restarts_are_fresh()) return std::nullopt;
    std::vector<uint32_t> table;
    state_of({BorderAutomaton::kFresh, true, false, false, {match_.start()}});
    for (size_t state = 0; state < states_.size(); ++state) {
      for (uint32_t symbol = 0; symbol <= end_symbol_; ++symbol) {
        const Configuration from = states_[state];
        table.push_back(pack(from, symbol == end_symbol_ ? end(from) : move(from, symbol)));
      }
      if (states_.size() > kMaxConfigurations) return std::nullopt;
    }
    return table;
  }

 private:
  size_t pair(uint32_t border, uint32_t state) const { return border * match_.n_states() + state; }

  // Finds the pairs of a border state and a scan that can be reached and can still come to an end.
  // False when there are too many pairs.
  bool find_hopeful() {
    const size_t n_pairs = size_t{borders_.n_states()} * match_.n_states();
    if (n_pairs > kMaxPairs) return false;
    std::vector<bool> reached(n_pairs);
    std::vector<std::pair<uint32_t, uint32_t>> order;
    for (uint32_t border = 0; border < borders_.n_states(); ++border) {
      for (uint32_t symbol = 0; symbol < end_symbol_; ++symbol) {
        const uint32_t behind = borders_.step(border, symbol).state;
        const uint32_t state = match_.step(match_.start(), symbol).state;
        reach(behind, state, reached, order);
      }
    }
    hopeful_.assign(n_pairs, false);
    for (size_t i = 0; i < order.size(); ++i) {
      const auto [border, state] = order[i];
      for (uint32_t symbol = 0; symbol <= end_symbol_; ++symbol) {
        const bool at_end = symbol == end_symbol_ || borders_.step(border, symbol).border;
        const ScanDfa::Step step = match_.step(state, at_end ? end_symbol_ : symbol);
        if (step.match) hopeful_[pair(border, state)] = true;
        if (!at_end) reach(borders_.step(border, symbol).state, step.state, reached, order);
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = order.size(); i-- > 0;) changed |= pass_hope(order[i]);
    }
    return true;
  }
  void reach(uint32_t border, uint32_t state, std::vector<bool>& reached,
             std::vector<std::pair<uint32_t, uint32_t>>& order) const {
    if (state == ScanDfa::kDead || reached[pair(border, state)]) return;
    reached[pair(border, state)] = true;
    order.push_back({border, state});
  }
  bool pass_hope(const std::pair<uint32_t, uint32_t>& at) {
    const auto [border, state] = at;
    if (hopeful_[pair(border, state)]) return false;
    for (uint32_t symbol = 0; symbol < end_symbol_; ++symbol) {
      const BorderAutomaton::Step crossed = borders_.step(border, symbol);
      if (crossed.border) continue;
      if (!hopeful_[pair(crossed.state, match_.step(state, symbol).state)]) continue;
      hopeful_[pair(border, state)] = true;
      return true;
    }
    return false;
  }

  // Encoding may begin again at any end of a word, where the state of the borders is forgotten. So
  // wherever a word may end, what follows must not depend on that state.
  bool restarts_are_fresh() const {
    for (uint32_t border = 0; border < borders_.n_states(); ++border) {
      for (uint32_t symbol = 0; symbol < end_symbol_; ++symbol) {
        const BorderAutomaton::Step here = borders_.step(border, symbol);
        if (here.state == borders_.step(BorderAutomaton::kFresh, symbol).state) continue;
        if (here.border || first_state(symbol, here.state) != ScanDfa::kDead) return false;
        for (uint32_t state = 1; state < match_.n_states(); ++state) {
          if (hopeful_[pair(border, state)] && match_.step(state, symbol).match) return false;
        }
      }
    }
    return true;
  }

  uint32_t state_of(const Configuration& configuration) {
    const auto [at, added] = ids_.try_emplace(configuration, static_cast<uint32_t>(states_.size()));
    if (added) states_.push_back(configuration);
    return at->second;
  }

  // The table entry of a move, or "give up" when it needs more slots than there are.
  uint32_t pack(const Configuration& from, const Move& move) {
    const size_t in_use = from.gap ? 1 : from.scans.size() - 1;
    const size_t slot = move.slot.value_or(in_use);
    const size_t in_use_after =
        move.to.gap ? 1 : move.to.scans.size() - (move.to.scans.empty() ? 0 : 1);
    if (move.give_up || slot > kMaxSlots || move.certain > kMaxSlots || in_use_after > kMaxSlots) {
      return WordAutomaton::kGiveUp;
    }
    return state_of(move.to) * (end_symbol_ + 1) | (move.gap_ends ? WordAutomaton::kGapEnds : 0) |
           static_cast<uint32_t>(slot) << WordAutomaton::kSlotShift |
           static_cast<uint32_t>(move.certain) << WordAutomaton::kCertainShift;
  }

  // A scan's step over `symbol`. Scans that cannot come to an end any more count as dead.
  ScanDfa::Step scan(uint32_t state, uint32_t symbol, const BorderAutomaton::Step& crossed) const {
    if (state == ScanDfa::kDead) return {ScanDfa::kDead, false};
    ScanDfa::Step step = match_.step(state, crossed.border ? end_symbol_ : symbol);
    if (crossed.border || !hopeful_[pair(crossed.state, step.state)]) step.state = ScanDfa::kDead;
    return step;
  }
  // The state of a scan that begins with `symbol`, after which the borders are in state `border`.
  uint32_t first_state(uint32_t symbol, uint32_t border) const {
    const uint32_t state = match_.step(match_.start(), symbol).state;
    return hopeful_[pair(border, state)] ? state : ScanDfa::kDead;
  }

  // The configuration after `symbol`, where a word, or a gap, begins before it.
  Configuration begin(uint32_t symbol, uint32_t border) const {
    const uint32_t state = first_state(symbol, border);
    if (state == ScanDfa::kDead) return {border, false, true, false, {}};
    return {border, false, false, true, {state}};
  }

  // The gap continues, or ends at a border or where a scan begins.
  Move from_gap(uint32_t symbol, const BorderAutomaton::Step& crossed) const {
    Move move;
    move.to = begin(symbol, crossed.state);
    if (crossed.border) {
      move.certain = 1;
    } else if (!move.to.gap) {
      move.to.gap = true;
    } else {
      return move;
    }
    move.slot = 0;
    move.gap_ends = true;
    return move;
  }

  // Advances every scan by one symbol. A scan that finds an end writes its slot, and the scan of
  // the next word restarts there; scans younger than that one were based on an older end and are
  // dropped.
  Move move(const Configuration& from, uint32_t symbol) const {
    const BorderAutomaton::Step crossed = borders_.step(from.border, symbol);
    if (from.scans.empty()) return from_gap(symbol, crossed);
    if (from.fresh) {
      Move move;
      move.to = begin(symbol, crossed.state);
      return move;
    }
    Move move;
    move.to.border = crossed.state;
    const size_t before_scans = from.gap ? 1 : 0;
    bool ended = false;  // a scan has found an end before the symbol
    for (size_t i = 0; i < from.scans.size() && !ended; ++i) {
      const ScanDfa::Step step = scan(from.scans[i], symbol, crossed);
      move.to.scans.push_back(step.state);
      if (!step.match) continue;
      ended = true;
      move.slot = before_scans + i;
      move.to.scans.push_back(first_state(symbol, crossed.state));
      move.to.young = true;
    }
    move.to.gap = from.gap && !ended;
    move.certain = from.gap && ended ? 1 : 0;
    return settle(from, symbol, crossed, ended, std::move(move));
  }

  // Makes the ends of dead scans certain, and sees what becomes of a last scan that failed.
  Move settle(const Configuration& from, uint32_t symbol, const BorderAutomaton::Step& crossed,
              bool ended, Move move) const {
    std::vector<uint32_t>& scans = move.to.scans;
    size_t dead = 0;
    while (dead + 1 < scans.size() && scans[dead] == ScanDfa::kDead) ++dead;
    move.certain += dead;
    scans.erase(scans.begin(), scans.begin() + static_cast<ptrdiff_t>(dead));
    if (scans.back() != ScanDfa::kDead) return move;
    if (scans.size() > 1) {
      move.give_up = true;
    } else if (ended) {
      move.to = {crossed.state, false, true, false, {}};
    } else if (from.young && dead == 0) {
      // One character that matches nothing: the next one may begin a match.
      return from_gap(symbol, crossed);
    } else {
      move.give_up = true;
    }
    return move;
  }

  // At the end of the text all becomes certain.
  Move end(const Configuration& from) const {
    Move move;
    move.to = {BorderAutomaton::kFresh, true, false, false, {match_.start()}};
    const size_t before_scans = from.gap ? 1 : 0;
    for (size_t i = 0; i < from.scans.size(); ++i) {
      if (!match_.step(from.scans[i], end_symbol_).match) continue;
      move.slot = before_scans + i;
      move.certain = *move.slot + 1;
      return move;
    }
    if (!from.scans.empty() && !from.young) {
      move.give_up = true;
      return move;
    }
    move.slot = from.gap ? 0 : from.scans.size() - 1;
    move.certain = *move.slot + 1;
    move.gap_ends = true;
    return move;
  }

  const ScanDfa& match_;
  const BorderAutomaton& borders_;
  uint32_t end_symbol_;
  std::vector<bool> hopeful_;  // by pair()
  std::map<Configuration, uint32_t> ids_;
  std::vector<Configuration> states_;
};

std::optional<WordAutomaton> WordAutomaton::create(const PieceScanner* scanner) {
  const ScanDfa& match = scanner->match();
  if (match.may_be_empty() || match.start() != match.text_start()) return std::nullopt;
  std::optional<std::vector<uint32_t>> table = WordAutomatonBuilder(*scanner).build();
  if (!table) return std::nullopt;
  WordAutomaton made;
  made.scanner_ = scanner;
  made.n_symbols_ = scanner->alphabet().n_symbols();
  made.table_ = std::move(*table);
  return made;
}

// Walks the pairs of states that both automata reach on the same text, looking for a move of `next`
// that would make a word certain inside a match.
bool WordAutomaton::keeps_matches_whole(const WordAutomaton& next) const {
  const ScanDfa& match = scanner_->match();
  const uint32_t end_symbol = n_symbols_ - 1;
  std::set<std::pair<uint32_t, uint32_t>> known{{match.start(), 0}};
  std::vector<std::pair<uint32_t, uint32_t>> open(known.begin(), known.end());
  while (!open.empty()) {
    const auto [state, row] = open.back();
    open.pop_back();
    bool may_end = false;
    for (uint32_t symbol = 0; symbol < n_symbols_; ++symbol) {
      const ScanDfa::Step step = match.step(state, symbol);
      may_end |= step.match;
      if (step.state == ScanDfa::kDead) continue;
      const uint32_t move = next.table_[row + symbol];
      if ((move & kGiveUp) != 0 || move >> kCertainShift != 0) return false;
      if (known.insert({step.state, move & kRowMask}).second) {
        open.push_back({step.state, move & kRowMask});
      }
    }
    const uint32_t last = next.table_[row + end_symbol];
    if (may_end && ((last & kGiveUp) != 0 || last >> kCertainShift != 1)) return false;
    if (known.size() > kMaxConfigurations) return false;
  }
  return true;
}

template <WordAutomaton::Marks marks>
size_t WordAutomaton::cut_plainly(std::string_view text, size_t at, Word* out) const {
  const PieceScanner::Piece piece = scanner_->next(text, at);
  constexpr uint32_t kMark = marks == Marks::gaps ? kGapMark : 0;
  size_t n = 0;
  if (piece.begin > at) out[n++].end = static_cast<uint32_t>(piece.begin) | kMark;
  if (piece.found) out[n++].end = static_cast<uint32_t>(piece.end);
  return n;
}

// The main loop. Ends of words are written into the place of slots; begins are filled in by cut().
template <WordAutomaton::Marks marks>
size_t WordAutomaton::cut_into(std::string_view text, size_t at, Word* out, size_t room) const {
  const SymbolAlphabet& alphabet = scanner_->alphabet();
  const char* const base = text.data();
  const char* const end_of_text = base + text.size();
  const uint32_t* const table = table_.data();
  size_t n = 0;
  const auto write = [&](uint32_t move, size_t place) {
    auto end = static_cast<uint32_t>(place);
    // kGapEnds shifted to where kGapMark is.
    if (marks == Marks::gaps) end |= (move & kGapEnds) << 5;
    out[n + ((move >> kSlotShift) & 3)].end = end;
    n += move >> kCertainShift;
  };
  size_t p = at;
  uint32_t row = 0;
  while (room - n >= kMinRoom) {
    // There are at most as many words as characters; the rest of the room is for the slots.
    const size_t stop = std::min(text.size(), p + (room - n - kMinRoom / 2));
    uint32_t move = 0;
    while (p < stop) {
      const SymbolAlphabet::Character c = alphabet.character_at(base + p, end_of_text);
      move = table[row + c.symbol];
      if ((move & kGiveUp) != 0) [[unlikely]]
        break;
      write(move, p);
      row = move & kRowMask;
      p += c.size;
    }
    if (p >= text.size() && (move & kGiveUp) == 0) {
      move = table[row + alphabet.end_symbol()];
      if ((move & kGiveUp) == 0) {
        write(move, text.size());
        break;
      }
    }
    if ((move & kGiveUp) != 0) {
      p = n > 0 ? out[n - 1].end & ~kGapMark : at;
      n += cut_plainly<marks>(text, p, out + n);
      p = out[n - 1].end & ~kGapMark;
      row = 0;
      if (p == text.size()) break;
    }
  }
  return n;
}

inline size_t WordAutomaton::cut_short(std::string_view text, size_t at, Word* out) const {
  const SymbolAlphabet& alphabet = scanner_->alphabet();
  const char* const end_of_text = text.data() + text.size();
  size_t n = 0;
  uint32_t row = 0;
  for (size_t p = at;;) {
    const bool at_end = p == text.size();
    const SymbolAlphabet::Character c = at_end
                                            ? SymbolAlphabet::Character{alphabet.end_symbol(), 0}
                                            : alphabet.character_at(text.data() + p, end_of_text);
    const uint32_t move = table_[row + c.symbol];
    if ((move & kGiveUp) != 0) [[unlikely]]
      return 0;
    out[n + ((move >> kSlotShift) & 3)].end = static_cast<uint32_t>(p);
    n += move >> kCertainShift;
    if (at_end) return n;
    row = move & kRowMask;
    p += c.size;
  }
}

// Most words of a second step stay whole: those without a byte that the step could match are
// skipped by a scan for such bytes that is shared by neighbouring words.
void WordAutomaton::cut_words(std::string_view text, std::span<const Word> words,
                              bool keeps_matches, std::vector<Word>& out) const {
  constexpr size_t kShort = 256;
  constexpr size_t kRoom = kShort + kMinRoom;
  size_t lively = 0;  // the first byte at or after the word that is not dull
  const size_t end_of_words = words.empty() ? 0 : words.back().end & ~kGapMark;
  size_t n_out = 0;
  out.resize(words.size() + kRoom);
  for (size_t i = 0; i < words.size(); ++i) {
    // Room for the words not yet looked at, should they all stay whole.
    if (out.size() - n_out < words.size() - i + kRoom) out.resize(2 * out.size());
    const Word word = words[i];
    const uint32_t mark = word.end & kGapMark;
    const uint32_t end = word.end & ~kGapMark;
    bool whole = lively >= end || (keeps_matches && mark == 0) || end - word.begin == 1;
    if (!whole) {
      lively = scanner_->skip_dull(text, std::max<size_t>(lively, word.begin), end_of_words);
      whole = lively >= end;
    }
    if (whole) {
      out[n_out++] = word;
      continue;
    }
    const std::string_view piece = text.substr(0, end);
    size_t at = word.begin;
    if (end - at < kShort) {
      const size_t n = cut_short(piece, at, &out[n_out]);
      for (const size_t last = n_out + n; n_out < last; ++n_out) {
        out[n_out].begin = static_cast<uint32_t>(at);
        at = out[n_out].end;
        out[n_out].end |= mark;
      }
    }
    while (at < end) {
      if (out.size() - n_out < words.size() - i + kRoom) out.resize(2 * out.size());
      const size_t n = cut(piece, at, &out[n_out], out.size() - n_out, Marks::none);
      for (const size_t last = n_out + n; n_out < last; ++n_out) out[n_out].end |= mark;
    }
  }
  out.resize(n_out);
}

size_t WordAutomaton::cut(std::string_view text, size_t& at, Word* out, size_t room,
                          Marks marks) const {
  const size_t n = marks == Marks::gaps ? cut_into<Marks::gaps>(text, at, out, room)
                                        : cut_into<Marks::none>(text, at, out, room);
  auto begin = static_cast<uint32_t>(at);
  for (size_t i = 0; i < n; ++i) {
    out[i].begin = begin;
    begin = out[i].end & ~kGapMark;
  }
  at = begin;
  return n;
}

}  // namespace ruv

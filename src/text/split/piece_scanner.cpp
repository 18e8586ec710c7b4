#include "text/split/piece_scanner.h"

namespace ruv {
namespace {

constexpr size_t kLongScan = 64;

}  // namespace

// Where earlier scans without a match have been, and in which state: a scan that comes to the same
// place in the same state fails too. Without it \s+$ on a row of spaces before a letter would take
// time quadratic in the row.
struct PieceScanner::FailedScans {
  size_t base;
  bool on = false;
  std::vector<uint64_t> places{};  // from base on; 0: nothing known

  // Also remembers it; what is remembered of a scan that succeeds is not asked again.
  bool knows(size_t at, uint32_t state, uint32_t border) {
    const uint64_t key = uint64_t{state} << 32 | border;
    if (places.size() <= at - base) places.resize(2 * (at - base) + 64);
    if (places[at - base] == key) return true;
    places[at - base] = key;
    return false;
  }
};

PieceScanner::PieceScanner(const SymbolAlphabet* alphabet, ScanDfa match, BorderAutomaton borders)
    : alphabet_(alphabet), match_(std::move(match)), borders_(std::move(borders)) {
  for (uint32_t byte = 0; byte < 128 && !match_.may_be_empty(); ++byte) {
    const uint32_t symbol = alphabet->class_of(byte);
    const BorderAutomaton::Step crossed = borders_.step(BorderAutomaton::kFresh, symbol);
    dull_[byte] = !crossed.border && crossed.state == BorderAutomaton::kFresh &&
                  match_.step(match_.start(), symbol).state == ScanDfa::kDead &&
                  match_.step(match_.text_start(), symbol).state == ScanDfa::kDead;
  }
}

size_t PieceScanner::match_end(std::string_view text, size_t at, uint32_t border,
                               FailedScans& failed) const {
  const uint32_t end_symbol = alphabet_->end_symbol();
  const char* end_of_text = text.data() + text.size();
  uint32_t state = at == 0 ? match_.text_start() : match_.start();
  size_t end = kNoMatch;
  size_t p = at;
  while (state != ScanDfa::kDead && p < text.size()) {
    if (failed.on && end == kNoMatch && failed.knows(p, state, border)) return kNoMatch;
    const SymbolAlphabet::Character c = alphabet_->character_at(text.data() + p, end_of_text);
    const BorderAutomaton::Step crossed = borders_.step(border, c.symbol);
    const bool ends = crossed.border && p != at;
    const ScanDfa::Step step = match_.step(state, ends ? end_symbol : c.symbol);
    if (step.match) end = p;
    state = step.state;
    border = crossed.state;
    p += c.size;
  }
  if (state != ScanDfa::kDead && match_.step(state, end_symbol).match) end = p;
  // Short scans that fail are not worth remembering.
  if (end == kNoMatch && p - at > kLongScan) failed.on = true;
  return end;
}

PieceScanner::Piece PieceScanner::next(std::string_view text, size_t at, size_t no_empty_at) const {
  const char* end_of_text = text.data() + text.size();
  uint32_t border = BorderAutomaton::kFresh;
  FailedScans failed{at};
  for (size_t p = at;;) {
    if (border == BorderAutomaton::kFresh) p = skip_dull(text, p, text.size());
    const size_t end = match_end(text, p, border, failed);
    if (end != kNoMatch && !(end == p && p == no_empty_at)) return {p, end, true};
    if (p == text.size()) return {p, p, false};
    const SymbolAlphabet::Character c = alphabet_->character_at(text.data() + p, end_of_text);
    const BorderAutomaton::Step crossed = borders_.step(border, c.symbol);
    if (crossed.border && p > at) return {p, p, false};
    border = crossed.state;
    p += c.size;
  }
}

}  // namespace ruv

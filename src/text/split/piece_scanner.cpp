#include "text/split/piece_scanner.h"

namespace ruv {

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

size_t PieceScanner::match_end(std::string_view text, size_t at, uint32_t border) const {
  const uint32_t end_symbol = alphabet_->end_symbol();
  const char* end_of_text = text.data() + text.size();
  uint32_t state = at == 0 ? match_.text_start() : match_.start();
  size_t end = kNoMatch;
  for (size_t p = at; state != ScanDfa::kDead;) {
    uint32_t symbol = end_symbol;
    if (p < text.size()) {
      const SymbolAlphabet::Character c = alphabet_->character_at(text.data() + p, end_of_text);
      const BorderAutomaton::Step crossed = borders_.step(border, c.symbol);
      border = crossed.state;
      if (!crossed.border || p == at) symbol = c.symbol;
      const ScanDfa::Step step = match_.step(state, symbol);
      if (step.match) end = p;
      state = step.state;
      p += c.size;
      continue;
    }
    if (match_.step(state, symbol).match) end = p;
    break;
  }
  return end;
}

PieceScanner::Piece PieceScanner::next(std::string_view text, size_t at, size_t no_empty_at) const {
  const char* end_of_text = text.data() + text.size();
  uint32_t border = BorderAutomaton::kFresh;
  for (size_t p = at;;) {
    if (border == BorderAutomaton::kFresh) p = skip_dull(text, p, text.size());
    const size_t end = match_end(text, p, border);
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

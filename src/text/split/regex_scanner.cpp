#include "text/split/regex_scanner.h"

#include <vector>

#include "text/split/piece_scanner.h"
#include "text/split/split_regex.h"

namespace ruv {

struct RegexScanner::Automaton {
  SymbolAlphabet alphabet;
  std::optional<PieceScanner> scanner;
};

Result<RegexScanner> RegexScanner::create(std::string_view pattern) {
  const SplitRegex regex = TRY(SplitRegex::parse(pattern));
  std::vector<const CodePointSet*> sets;
  for (const CodePointSet& set : regex.sets()) sets.push_back(&set);
  auto made = std::make_shared<Automaton>();
  made->alphabet = TRY(SymbolAlphabet::create(sets));
  const uint32_t n_symbols = made->alphabet.n_symbols();
  const auto symbols_of = [&](uint32_t set) -> const SymbolSet& {
    return made->alphabet.symbols_of(set);
  };
  ScanDfa match = TRY(ScanDfa::compile(regex, n_symbols, symbols_of));
  made->scanner.emplace(&made->alphabet, std::move(match), *BorderAutomaton::create({}, n_symbols));
  RegexScanner scanner;
  scanner.automaton_ = std::move(made);
  return scanner;
}

std::optional<Word> RegexScanner::find(std::string_view text, size_t from) const {
  const PieceScanner::Piece piece = automaton_->scanner->next(text, from);
  if (!piece.found) return std::nullopt;
  return Word{static_cast<uint32_t>(piece.begin), static_cast<uint32_t>(piece.end)};
}

}  // namespace ruv

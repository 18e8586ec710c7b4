// Steps become stages: a stage is one step together with the simple steps before it that run inside
// its automaton. The first stage cuts the text block by block, the others cut its words further.
#include "text/split/pre_tokenizer.h"

#include <algorithm>

#include "text/split/match_pieces.h"
#include "text/split/word_automaton.h"

namespace ruv {
namespace {

constexpr size_t kBlockWords = 1024;
constexpr size_t kMaxSteps = 16;

}  // namespace

struct PreTokenizer::Stage {
  // Both are on the heap because the second points to the first.
  std::unique_ptr<const PieceScanner> scanner;
  std::optional<WordAutomaton> words;
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;

  // Matches of the first stage are left in one piece by this one.
  bool keeps_matches = false;

  bool isolates() const { return behavior == SplitBehavior::isolated && words.has_value(); }
};

struct PreTokenizer::Plan {
  SymbolAlphabet alphabet;
  std::vector<Stage> stages;
  bool marks_gaps = false;  // for stages that keep matches

  // A stage of steps [first, last], all but the last of the simple kind.
  bool add_stage(std::span<const SplitStep> steps, std::span<const ScanDfa> automata, size_t first,
                 size_t last) {
    std::vector<const ScanDfa*> simple;
    for (size_t i = first; i < last; ++i) simple.push_back(&automata[i]);
    auto borders = BorderAutomaton::create(simple, alphabet.n_symbols());
    if (!borders) return false;
    Stage stage;
    stage.scanner = std::make_unique<PieceScanner>(&alphabet, automata[last], std::move(*borders));
    stage.words = WordAutomaton::create(stage.scanner.get());
    stage.behavior = steps[last].behavior;
    stage.invert = steps[last].invert;
    if (!stage.words && first < last) return false;
    if (!stages.empty() && stages[0].isolates() && stage.isolates()) {
      stage.keeps_matches = stages[0].words->keeps_matches_whole(*stage.words);
      marks_gaps |= stage.keeps_matches;
    }
    stages.push_back(std::move(stage));
    return true;
  }
};

Result<PreTokenizer> PreTokenizer::find(std::string_view name) {
  const std::span<const std::string_view> patterns = scheme_patterns(name);
  if (patterns.empty()) {
    return fail(Code::unsupported,
                "pre-tokenizer scheme \"{}\" is unknown: splitting text by another rule would give "
                "wrong tokens",
                name);
  }
  std::vector<SplitStep> steps;
  for (const std::string_view regex : patterns) steps.push_back({std::string(regex)});
  return create(steps);
}

Result<PreTokenizer> PreTokenizer::create(std::span<const SplitStep> steps) {
  if (steps.size() > kMaxSteps) {
    return fail(Code::unsupported, "pre-tokenizer: {} steps, more than {}", steps.size(),
                kMaxSteps);
  }
  std::vector<SplitRegex> regexes;
  std::vector<const CodePointSet*> sets;
  for (const SplitStep& step : steps) regexes.push_back(TRY(SplitRegex::parse(step.regex)));
  for (const SplitRegex& regex : regexes) {
    for (const CodePointSet& set : regex.sets()) sets.push_back(&set);
  }
  auto plan = std::make_shared<Plan>();
  plan->alphabet = TRY(SymbolAlphabet::create(sets));
  std::vector<ScanDfa> automata;
  size_t n_sets = 0;
  for (const SplitRegex& regex : regexes) {
    const auto symbols_of = [&](uint32_t set) -> const SymbolSet& {
      return plan->alphabet.symbols_of(n_sets + set);
    };
    automata.push_back(TRY(ScanDfa::compile(regex, plan->alphabet.n_symbols(), symbols_of)));
    n_sets += regex.sets().size();
  }
  const auto isolated = [&](size_t i) { return steps[i].behavior == SplitBehavior::isolated; };
  for (size_t first = 0; first < steps.size();) {
    size_t last = first;
    while (last + 1 < steps.size() && isolated(last) && isolated(last + 1) &&
           BorderAutomaton::fits(automata[last])) {
      ++last;
    }
    while (!plan->add_stage(steps, automata, first, last)) --last;
    first = last + 1;
  }
  PreTokenizer made;
  made.plan_ = std::move(plan);
  return made;
}

bool PreTokenizer::next_words(std::string_view text, size_t& at, std::vector<Word>& words) const {
  words.clear();
  if (plan_ == nullptr || plan_->stages.empty()) {
    if (at < text.size())
      words.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(text.size())});
    at = text.size();
    return !words.empty();
  }
  const Stage& first = plan_->stages[0];
  const auto marks = plan_->marks_gaps ? WordAutomaton::Marks::gaps : WordAutomaton::Marks::none;
  std::vector<Word> scratch;
  while (at < text.size() && words.empty()) {
    if (first.isolates()) {
      words.resize(kBlockWords);
      words.resize(first.words->cut(text, at, words.data(), words.size(), marks));
    } else {
      MatchPieces pieces(*first.scanner, first.behavior, first.invert);
      at = pieces.append(text, at, 0, kBlockWords, words);
    }
    for (size_t i = 1; i < plan_->stages.size(); ++i) {
      refine(plan_->stages[i], text, words, scratch);
      words.swap(scratch);
    }
    if (plan_->marks_gaps) {
      for (Word& word : words) word.end &= ~WordAutomaton::kGapMark;
    }
  }
  return !words.empty();
}

// What comes of a gap is marked as a gap, since the first stage did not match it.
void PreTokenizer::refine(const Stage& stage, std::string_view text, std::vector<Word>& words,
                          std::vector<Word>& out) {
  if (stage.isolates()) return stage.words->cut_words(text, words, stage.keeps_matches, out);
  out.clear();
  for (const Word& word : words) {
    const uint32_t mark = word.end & WordAutomaton::kGapMark;
    const size_t n = (word.end & ~WordAutomaton::kGapMark) - word.begin;
    MatchPieces pieces(*stage.scanner, stage.behavior, stage.invert);
    size_t added = out.size();
    pieces.append(text.substr(word.begin, n), 0, word.begin, SIZE_MAX, out);
    for (; added < out.size(); ++added) out[added].end |= mark;
  }
}

}  // namespace ruv

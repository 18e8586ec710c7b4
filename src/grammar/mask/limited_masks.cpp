// Patterns with a limit of length, as strings of schemas have: an intersection of a run of
// characters with other languages. Each character that is read leaves another limit, so the states
// of such a language are many. Those of the other languages are few, and as long as the limit is
// further away than the end of every text their tokens are the same.
#include "grammar/mask/language_masks.h"

namespace ruv {
namespace {

// Tokens up to which each is tried beside the limit.
constexpr size_t kMaxTried = 600;

}  // namespace

// The only run among the parts that has a limit goes to `run`; returns the same language with runs
// of the same characters merged, or `nothing` where there is no such run.
Language LanguageMasks::merge_runs(const Languages::Intersection& both,
                                   Languages::Repetition& run) {
  std::vector<Languages::Repetition> runs;
  std::vector<Language> parts;
  for (const Language part : both.parts) {
    const auto repetition = languages_.repetition_of(part);
    const bool may_be_run = repetition && repetition->rest == Language::empty;
    Languages::Repetition at = may_be_run ? *repetition : Languages::Repetition{};
    at.rest = both.rest;
    if (may_be_run && is_run(at)) {
      runs.push_back(at);
    } else {
      parts.push_back(part);
    }
  }
  if (runs.empty()) return Language::nothing;
  run = runs[0];
  for (size_t i = 1; i < runs.size(); ++i) {
    // Characters of one set are characters of a larger one.
    if (!languages_.is_nothing(languages_.but(run.part, runs[i].part))) {
      if (!languages_.is_nothing(languages_.but(runs[i].part, run.part))) return Language::nothing;
      run.part = runs[i].part;
    }
    run.min = std::max(run.min, runs[i].min);
    run.max = std::min(run.max, runs[i].max);
  }
  if (run.min > run.max) return Language::nothing;
  parts.push_back(languages_.repeat(run.part, run.min, run.max));
  return languages_.concat(languages_.all_of(parts), both.rest);
}

LanguageMasks::Made LanguageMasks::limited(Language language, const Languages::Intersection& both) {
  Languages::Repetition run;
  const Language merged = merge_runs(both, run);
  if (merged == Language::nothing) return nullptr;
  if (merged != language) return tokens(merged);
  if (run.min == 0 && run.max == Languages::kUnlimited) return nullptr;
  const Language limit = languages_.repeat(run.part, run.min, run.max);
  std::vector<Language> parts = both.parts;
  std::erase(parts, limit);
  if (parts.size() == both.parts.size()) return nullptr;
  parts.push_back(languages_.star(run.part));
  return limited(language, run, languages_.concat(languages_.all_of(parts), both.rest));
}

// The tokens of `base`, which has no limit, without those that have too few or too many characters.
LanguageMasks::Made LanguageMasks::limited(Language language, const Languages::Repetition& run,
                                           Language base) {
  const Language unlimited = languages_.concat(languages_.star(run.part), run.rest);
  std::unique_ptr<CompletionBounds>& known = bounds_[unlimited];
  if (!known) known = std::make_unique<CompletionBounds>(languages_, run.part, run.rest);
  const CompletionBounds::Bounds bounds = known->of(base);
  const uint32_t needed = run.min == 0 ? bounds.shortest : bounds.any_length;
  if (needed == CompletionBounds::kNone || run.max <= needed) return nullptr;
  constexpr uint32_t kLong = CharacterRuns::kLongRun;
  const uint32_t first_tried = std::min(run.max - needed + 1, kLong);
  size_t n_tried = 0;
  for (uint32_t n = first_tried; n <= kLong; ++n) {
    n_tried += runs_of(run.part).inside_of(n).size();
  }
  if (n_tried > kMaxTried) return nullptr;

  const Made all = tokens(base);
  if (all->runs) return nullptr;
  CharacterRuns& runs = runs_of(run.part);
  TokenMask allowed(trie_.n_vocab());
  all->add_to(allowed);
  std::vector<Token> removed;
  for (uint32_t n = first_tried; n <= kLong; ++n) {
    for (const Token token : runs.inside_of(n)) {
      const bool fits = !allowed.has(token) || after(language, bytes(token)) != Language::nothing;
      if (!fits) removed.push_back(token);
    }
  }
  const std::span<const Token> ends = runs.ends_in(*this, run.rest);
  const RunLengths& lengths = *runs.lengths();
  const auto length = [&](Token token) { return lengths[static_cast<size_t>(token)]; };
  const auto first = std::ranges::lower_bound(ends, run.min, {}, length);
  const auto last = std::ranges::upper_bound(first, ends.end(), run.max, {}, length);
  const auto remove = [&](auto from, auto to) {
    std::copy_if(from, to, std::back_inserter(removed), [&](Token t) { return allowed.has(t); });
  };
  remove(ends.begin(), first);
  remove(last, ends.end());
  if (removed.empty() && run.min == 0 && run.max >= kLong) return all;
  std::ranges::sort(removed);
  auto made = std::make_shared<LanguageTokens>();
  made->base = all;
  made->removed = std::move(removed);
  made->rests = all->rests;
  made->rests_by_text = all->rests_by_text;
  made->removed_rests = all->removed_rests;
  made->runs = runs.lengths();
  made->min_run = run.min;
  made->max_run = run.max;
  return made;
}

}  // namespace ruv

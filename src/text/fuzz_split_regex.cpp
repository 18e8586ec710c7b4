// Compiles hostile patterns and runs them over hostile texts: input is a byte with the behaviour,
// a pattern, a zero byte, a text. Words must be ascending, inside the text, and the same when cut
// the fast way and the plain way.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "text/split/match_pieces.h"
#include "text/split/pre_tokenizer.h"
#include "text/split/regex_scanner.h"

namespace {

using namespace ruv;

constexpr size_t kMaxTextBytes = 2000;

std::vector<Word> words_of(const PreTokenizer& splitter, std::string_view text) {
  std::vector<Word> all;
  std::vector<Word> words;
  for (size_t at = 0; splitter.next_words(text, at, words);) {
    CHECK(at <= text.size());
    all.insert(all.end(), words.begin(), words.end());
  }
  return all;
}

// The pieces of the matches that RegexScanner finds, each isolated.
std::vector<Word> isolated(const RegexScanner& scanner, std::string_view text) {
  std::vector<Word> all;
  uint32_t at = 0;
  while (at < text.size()) {
    const std::optional<Word> match = scanner.find(text, at);
    const auto end_of_gap = match ? match->begin : static_cast<uint32_t>(text.size());
    if (end_of_gap > at) all.push_back({at, end_of_gap});
    if (!match) break;
    CHECK(match->begin >= at && match->end > match->begin && match->end <= text.size());
    all.push_back(*match);
    at = match->end;
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size < 2) return 0;
  const std::string_view input(reinterpret_cast<const char*>(bytes), size);
  const size_t zero = std::min(input.find('\0', 1), size);
  const std::string_view pattern = input.substr(1, zero - 1);
  const std::string_view text = input.substr(std::min(zero + 1, size)).substr(0, kMaxTextBytes);
  const SplitStep step{.regex = std::string(pattern),
                       .behavior = static_cast<SplitBehavior>((bytes[0] & 7) % 5),
                       .invert = (bytes[0] & 8) != 0};
  const SplitStep isolating{.regex = step.regex};
  const auto one = PreTokenizer::create({&step, 1});
  if (!one) return 0;
  const SplitStep steps[] = {isolating, step, isolating};
  const auto three = PreTokenizer::create(steps);
  for (const auto& splitter : {one, three}) {
    if (!splitter) continue;
    uint32_t end = 0;
    for (const Word& word : words_of(*splitter, text)) {
      CHECK(word.begin >= end && word.end > word.begin && word.end <= text.size());
      end = word.end;
    }
  }
  const auto fast = PreTokenizer::create({&isolating, 1});
  const auto scanner = RegexScanner::create(pattern);
  CHECK(fast.has_value() && scanner.has_value());
  const bool may_be_empty = scanner->find("", 0).has_value() || scanner->find("a", 1).has_value();
  const bool anchored = pattern.find("\\A") != pattern.npos;
  const bool looks = pattern.find("(?") != pattern.npos || pattern.find('$') != pattern.npos ||
                     pattern.find("\\z") != pattern.npos;
  if (!may_be_empty && !anchored && !looks && text.size() < 0x7FFFFFFF) {
    CHECK(words_of(*fast, text) == isolated(*scanner, text));
  }
  return 0;
}

// The table of pre-tokenizer schemes: which published patterns a scheme name in a GGUF file means.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ruv {

// The patterns of a scheme in order, each isolating its matches; empty when the name is unknown.
std::span<const std::string_view> scheme_patterns(std::string_view name);

// The scheme that applies exactly these patterns, in order. A pattern is a regular expression as
// tokenizer.json files write it; ByteLevel with use_regex is GPT-2's.
std::optional<std::string_view> find_scheme(std::span<const std::string> patterns);

// Every name. Only a test uses it: each scheme must have a golden.
std::span<const std::string_view> scheme_names();

namespace patterns {
extern const std::string_view kGpt2;
extern const std::string_view kDigit;            // one digit at a time
extern const std::string_view kDigits;           // runs of digits
extern const std::string_view kPunctuationSign;  // one of kPublishedPunctuation
extern const std::string_view kPunctuation;      // runs of them
// A word of the step Whitespace: letters, marks, decimal and letter numbers, connectors, joiners.
extern const std::string_view kWord;
}  // namespace patterns

}  // namespace ruv

// Word rules: one hand-written matcher per published splitting pattern, over code points. Each
// answers where the word that begins at `at` ends, in one pass with at most one look back, where a
// regular-expression engine would backtrack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "text/split/char_class.h"

namespace ruv::word_rules {

// Every rule: the end of the match that begins at `at`, or `at` when nothing matches there.
// Requires: at < text.size().

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
size_t gpt2(std::string_view text, size_t at);

// The cl100k family; `letters` is \p{L}, or with marks for Qwen3.5, `max_digits` 1 or 3:
// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*
// |\s*[\r\n]+|\s+(?!\S)|\s+
size_t cl100k(std::string_view text, size_t at, CharSet letters, int max_digits);

// The o200k family: letters split where lower case is followed by upper case. Tekken is without
// contractions and with max_digits 1. U is [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}], L is
// [\p{Ll}\p{Lm}\p{Lo}\p{M}], C the contractions:
// [^\r\n\p{L}\p{N}]?U*L+C?|[^\r\n\p{L}\p{N}]?U+L*C?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*
// |\s*[\r\n]+|\s+(?!\S)|\s+
size_t o200k(std::string_view text, size_t at, bool contractions, int max_digits);

// DeepSeek-V3, after digits and CJK are split off:
// [!-/:-@\[-`{-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*
// |\s*[\r\n]+|\s+(?!\S)|\s+
size_t deepseek_v3(std::string_view text, size_t at);

// The end of the run of at most `max_length` characters of a class, from `at`.
size_t run_of(std::string_view text, size_t at, CharSet any, size_t max_length = SIZE_MAX);

}  // namespace ruv::word_rules

#include "eval/answer_rule.h"

#include <algorithm>

#include "eval/text_pairs.h"

namespace ruv {
namespace {

constexpr std::string_view kHashes = "#### ";
constexpr std::string_view kNoNumber = "[invalid]";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_of_number(char c) { return is_digit(c) || c == '.' || c == ','; }

std::string_view trimmed_answer(std::string_view text) {
  text = text.substr(0, size_without_end_space(text));
  return text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
}

// How many of the characters from `at` on `is` accepts.
template <class F>
size_t run_of(std::string_view text, size_t at, F&& is) {
  size_t end = at;
  while (end < text.size() && is(text[end])) ++end;
  return end - at;
}

// The first "#### " with a number after it: a minus perhaps, digits, points and commas.
std::string_view number_after_hashes(std::string_view text) {
  for (size_t at = text.find(kHashes); at != text.npos; at = text.find(kHashes, at + 1)) {
    const size_t first = at + kHashes.size();
    const size_t sign = first < text.size() && text[first] == '-' ? 1 : 0;
    const size_t n = run_of(text, first + sign, is_of_number);
    if (n > 0) return text.substr(first, sign + n);
  }
  return kNoNumber;
}

// The last of what are, from left to right, two or more dollars, digits, points and commas, or else
// digits; a minus before them belongs to them.
std::string_view last_number(std::string_view text) {
  std::string_view last = kNoNumber;
  for (size_t at = 0; at < text.size();) {
    const size_t sign = text[at] == '-' ? 1 : 0;
    const size_t n = run_of(text, at + sign, [](char c) { return is_of_number(c) || c == '$'; });
    if (n >= 2 || (n == 1 && is_digit(text[at + sign]))) {
      last = text.substr(at, sign + n);
      at += sign + n;
    } else {
      at += sign + std::max<size_t>(n, sign == 1 ? 0 : 1);
    }
  }
  return last;
}

std::string plain_number(std::string_view text) {
  const size_t hashes = text.rfind(kHashes);
  if (hashes != text.npos) text.remove_prefix(hashes + kHashes.size());
  std::string plain;
  for (const char c : text) {
    if (c == ',' || c == '$') continue;
    plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (plain.ends_with('.')) plain.pop_back();
  return plain;
}

}  // namespace

bool is_expected(AnswerRule rule, std::string_view answer, std::string_view expected) {
  if (rule == AnswerRule::whole) return trimmed_answer(answer) == trimmed_answer(expected);
  const std::string_view number =
      rule == AnswerRule::after_hashes ? number_after_hashes(answer) : last_number(answer);
  return plain_number(number) == plain_number(expected);
}

}  // namespace ruv

#include "grammar/json/decimal.h"

#include <algorithm>

namespace ruv {
namespace {

bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }

// The digits that come next, maybe none.
std::string_view take_digits(std::string_view& text) {
  const auto end = std::ranges::find_if_not(text, is_decimal_digit);
  const auto n = static_cast<size_t>(end - text.begin());
  const std::string_view digits = text.substr(0, n);
  text.remove_prefix(n);
  return digits;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// An exponent's value; its size is bounded, since no more digits are kept.
int64_t take_exponent(std::string_view& text, bool& ok) {
  const bool negative = take(text, '-');
  if (!negative) take(text, '+');
  const std::string_view digits = take_digits(text);
  ok = !digits.empty();
  int64_t value = 0;
  for (const char c : digits) value = std::min<int64_t>(value * 10 + (c - '0'), 1'000'000);
  return negative ? -value : value;
}

}  // namespace

Result<Decimal> Decimal::parse(std::string_view text) {
  const std::string_view all = text;
  Decimal made;
  made.negative = take(text, '-');
  const std::string_view whole = take_digits(text);
  bool ok = !whole.empty();
  std::string_view fraction;
  if (take(text, '.')) {
    fraction = take_digits(text);
    ok = ok && !fraction.empty();
  }
  int64_t exponent = 0;
  if (ok && (take(text, 'e') || take(text, 'E'))) exponent = take_exponent(text, ok);
  if (!ok || !text.empty()) return fail(Code::corrupt, "\"{}\" is not a number", all.substr(0, 40));

  // The point moves through the digits; where they end, zeros follow.
  std::string digits = std::string(whole) + std::string(fraction);
  int64_t point = static_cast<int64_t>(whole.size()) + exponent;
  const size_t zeros = std::min(digits.find_first_not_of('0'), digits.size());
  if (zeros == digits.size()) return Decimal{};
  digits.erase(0, zeros);
  point -= static_cast<int64_t>(zeros);
  digits.erase(digits.find_last_not_of('0') + 1);
  const auto n = static_cast<int64_t>(digits.size());
  if (std::max(point, n) - std::min<int64_t>(point, 0) > static_cast<int64_t>(kMaxDigits)) {
    return fail(Code::unsupported, "the number {} has more than {} digits", all.substr(0, 40),
                kMaxDigits);
  }
  if (point > n) digits.append(static_cast<size_t>(point - n), '0');
  if (point < 0) digits.insert(0, static_cast<size_t>(-point), '0');
  const auto split = static_cast<size_t>(std::max<int64_t>(point, 0));
  if (split > 0) made.whole = digits.substr(0, split);
  made.fraction = digits.substr(split);
  return made;
}

}  // namespace ruv

// A bound is compared digit by digit: a number without sign is greater than another if its whole
// part has more digits, or as many and a greater digit at the first place where they differ. All
// else (upper bounds, negative numbers) is a complement or an intersection of such languages.
#include "grammar/json/number_language.h"

#include <algorithm>

namespace ruv {
namespace {

constexpr uint32_t kMany = Languages::kUnlimited;
// States that the automaton of multiples may have.
constexpr uint64_t kMaxStates = 20000;

Language digit(Languages& l, char first, char last) {
  if (first > last) return Language::nothing;
  return l.byte_of(ByteSet::of(static_cast<uint8_t>(first), static_cast<uint8_t>(last)));
}
Language digits(Languages& l, uint32_t min, uint32_t max) {
  return l.repeat(digit(l, '0', '9'), min, max);
}
// A point and digits, or nothing.
Language any_fraction(Languages& l) {
  return l.optional(l.concat(l.text("."), digits(l, 1, kMany)));
}
// The same with a digit other than 0.
Language some_fraction(Languages& l) {
  return l.concat(
      std::array{l.text("."), l.star(l.text("0")), digit(l, '1', '9'), digits(l, 0, kMany)});
}
Language unsigned_integer(Languages& l) {
  return l.any_of(l.text("0"), l.concat(digit(l, '1', '9'), digits(l, 0, kMany)));
}
Language unsigned_number(Languages& l) { return l.concat(unsigned_integer(l), any_fraction(l)); }

// Fractions after equal whole parts that are greater than `wanted`, or equal.
Language greater_fraction(Languages& l, std::string_view wanted, bool or_equal) {
  if (wanted.empty()) return or_equal ? any_fraction(l) : some_fraction(l);
  // From the last digit back: equal so far, then a greater digit and any others.
  Language rest =
      or_equal ? digits(l, 0, kMany)
               : l.concat(l.star(l.text("0")), l.concat(digit(l, '1', '9'), digits(l, 0, kMany)));
  for (size_t i = wanted.size(); i-- > 0;) {
    const Language greater =
        l.concat(digit(l, static_cast<char>(wanted[i] + 1), '9'), digits(l, 0, kMany));
    rest = l.any_of(greater, l.concat(l.text(wanted.substr(i, 1)), rest));
  }
  return l.concat(l.text("."), rest);
}

// Numbers without sign that are greater than `bound`, or equal. Requires: !bound.negative.
Language unsigned_at_least(Languages& l, const Decimal& bound, bool or_equal) {
  const auto n = static_cast<uint32_t>(bound.whole.size());
  const Language longer = l.concat(std::array{
      digit(l, '1', '9'), digits(l, bound.whole == "0" ? 0 : n, kMany), any_fraction(l)});
  Language rest = greater_fraction(l, bound.fraction, or_equal);
  if (bound.whole == "0") return l.any_of(longer, l.concat(l.text("0"), rest));
  for (size_t i = n; i-- > 0;) {
    const auto left = static_cast<uint32_t>(n - i - 1);
    const Language greater =
        l.concat(std::array{digit(l, static_cast<char>(bound.whole[i] + 1), '9'),
                            digits(l, left, left), any_fraction(l)});
    rest = l.any_of(greater, l.concat(l.text(std::string_view(bound.whole).substr(i, 1)), rest));
  }
  return l.any_of(longer, rest);
}

// A minus, then a number that is not zero.
Language negative(Languages& l, Language unsigned_part) {
  return l.concat(l.text("-"), unsigned_part);
}
Language not_zero(Languages& l) { return unsigned_at_least(l, Decimal{}, false); }

// The automaton of digits whose number is a multiple of m / 10^k: a state is how many digits follow
// the point, and the remainder by m of all digits read. After k of them only zeros may
// follow, if the remainder is 0. Signs and leading zeros are left to others.
std::vector<Languages::State> multiples(uint32_t m, uint32_t k) {
  const auto state = [&](uint32_t n_after, uint32_t remainder) { return n_after * m + remainder; };
  std::vector<uint32_t> scale(k + 1, 1 % m);  // 10^i mod m
  for (uint32_t i = 1; i <= k; ++i) scale[i] = scale[i - 1] * 10 % m;
  // Digits before the point are row 0, those after it rows 1 to k + 1.
  std::vector<Languages::State> states(size_t{m} * (k + 2));
  for (uint32_t row = 0; row < k + 2; ++row) {
    const uint32_t n_after = row == 0 ? 0 : row - 1;
    for (uint32_t r = 0; r < m; ++r) {
      Languages::State& made = states[state(row, r)];
      made.accepts = uint64_t{r} * scale[k - n_after] % m == 0;
      if (row == 0) made.next.push_back({ByteSet::of('.'), state(1, r)});
      if (row == 0 && r == 0) made.next.push_back({ByteSet::of('-'), state(0, 0)});
      if (row == k + 1) {
        if (r == 0) made.next.push_back({ByteSet::of('0'), state(row, 0)});
        continue;
      }
      for (uint32_t d = 0; d < 10; ++d) {
        const auto byte = static_cast<uint8_t>('0' + d);
        made.next.push_back({ByteSet::of(byte), state(row == 0 ? 0 : row + 1, (r * 10 + d) % m)});
      }
    }
  }
  return states;
}

}  // namespace

Language any_number(Languages& l) {
  const Language sign = l.byte_of(ByteSet::of('+') | ByteSet::of('-'));
  const Language letter = l.byte_of(ByteSet::of('e') | ByteSet::of('E'));
  const Language exponent = l.concat(std::array{letter, l.optional(sign), digits(l, 1, kMany)});
  return l.concat(std::array{l.optional(l.text("-")), unsigned_number(l), l.optional(exponent)});
}

Language plain_number(Languages& l) {
  return l.any_of(unsigned_number(l), negative(l, not_zero(l)));
}

Language plain_integer(Languages& l) {
  const Language from_one = l.concat(digit(l, '1', '9'), digits(l, 0, kMany));
  return l.any_of(unsigned_integer(l), negative(l, from_one));
}

// Below a negative bound are the negative numbers of a greater magnitude.
Language at_least(Languages& l, const Decimal& bound, bool or_equal) {
  if (!bound.negative) return unsigned_at_least(l, bound, or_equal);
  // Negative numbers whose magnitude is not greater than the bound's.
  const Language too_far = unsigned_at_least(l, bound.magnitude(), !or_equal);
  return l.any_of(unsigned_number(l), negative(l, l.but(not_zero(l), too_far)));
}

Result<Language> multiple_of(Languages& l, const Decimal& step) {
  if (step.negative || step.is_zero()) return fail(Code::unsupported, "a multiple of 0 or less");
  const auto k = static_cast<uint32_t>(step.fraction.size());
  uint64_t m = 0;
  for (const char c : step.whole + step.fraction) {
    m = m * 10 + static_cast<uint64_t>(c - '0');
    if (m * (k + 2) > kMaxStates) {
      return fail(Code::unsupported, "multiples of {}.{} need more than {} states", step.whole,
                  step.fraction, kMaxStates);
    }
  }
  const Language digits = l.automaton(multiples(static_cast<uint32_t>(m), k));
  return l.all_of(plain_number(l), digits);
}

}  // namespace ruv

// Decimal: a number exactly as JSON writes it, for bounds and multiples that binary fractions
// cannot hold.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ruv {

struct Decimal {
  bool negative = false;
  std::string whole = "0";  // no leading zeros
  std::string fraction;     // no trailing zeros

  // The value of a number's text in JSON. Fails: unsupported (more than kMaxDigits digits when
  // written without exponent), corrupt (not a number).
  static Result<Decimal> parse(std::string_view text);
  static constexpr size_t kMaxDigits = 400;

  bool is_zero() const { return whole == "0" && fraction.empty(); }
  bool is_integer() const { return fraction.empty(); }
  Decimal magnitude() const { return {false, whole, fraction}; }
  bool operator==(const Decimal&) const = default;
};

}  // namespace ruv

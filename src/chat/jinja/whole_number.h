// Whole numbers of any size, as Python's int: a Datum holds those of 64 bits itself, and a
// WideInteger for every other. Results beyond a stated size are errors, never rounded.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "chat/jinja/datum.h"
#include "chat/jinja/nodes.h"

namespace ruv::jinja {

// A result of more bits is refused.
inline constexpr size_t kMaxWholeBits = 1 << 16;
// Python reads and writes no more decimal digits than this.
inline constexpr size_t kMaxWholeDigits = 4300;

// The error where a count or an index is asked for.
inline constexpr std::string_view kBeyond64Bits = "the whole number does not fit 64 bits";

// In the following, a whole Datum is a bool, an integer or a wide integer.

// Python's a op b. Fails: corrupt (division by zero, too large), invalid (the meter is spent).
// Requires: both whole.
Result<Datum> whole_arithmetic(MathOp op, const Datum& a, const Datum& b, RenderMeter& meter);
// Halves to the even neighbour at the last of `digits` zeros: 1250 to 2 zeros is 1200. Requires: a
// whole value, digits >= 0. `beyond`: a fraction of value is left out, which decides between
// halves.
Result<Datum> rounded_whole(const Datum& value, int64_t digits, bool beyond, RenderMeter& meter);

// The order of a and b; unordered when one is NaN. Requires: both are numbers.
std::partial_ordering number_order(const Datum& a, const Datum& b);

// The nearest double, halves to even; infinite when the value is too large. Requires: wide.
double nearest_real(const WideInteger& value);
// A whole value as a double. Fails: corrupt (too large). Requires: a number.
Result<double> checked_real(const Datum& value);

// The value without its fraction. Requires: finite.
Datum whole_part(double value);
// Clamped to the range whose values have a negative in 64 bits, as Python clamps the bounds of
// slices. Requires: a whole value.
int64_t clamped_bound(const Datum& whole);
Datum whole_from_unsigned(uint64_t value);
// Fails: corrupt, when there are too many digits. Requires: one digit of the base or more, no
// others; base 2 to 36.
Result<Datum> whole_from_digits(std::string_view digits, bool negative, int base);

// Digits of |value|, lower case. Fails: corrupt, when they are more than Python writes. Requires: a
// whole value; base 2, 8, 10 or 16.
Result<std::string> magnitude_digits(const Datum& value, int base);
// With the sign, in decimal.
Result<std::string> whole_text(const Datum& value);
bool is_negative(const Datum& whole);
// Pays for reading all of a number; nothing for those of 64 bits.
Status spend_whole(const Datum& value, RenderMeter& meter);
// Bits of |value| without leading zeros.
size_t bit_length(const Datum& whole);

}  // namespace ruv::jinja

// Numbers of JSON as languages: all, integers, those at least a bound, multiples. Bounds and
// multiples are exact decimals and hold for numbers of any length. They cover numbers without
// exponent only: numbers of a range that may have exponents form no regular language.
#pragma once

#include "grammar/json/decimal.h"
#include "grammar/language/languages.h"

namespace ruv {

// Every number of JSON.
Language any_number(Languages& languages);
// Those without exponent, and those of these without fraction. Zero has no minus.
Language plain_number(Languages& languages);
Language plain_integer(Languages& languages);
// Plain numbers that are at least `bound`, or greater than it.
Language at_least(Languages& languages, const Decimal& bound, bool or_equal);
// Plain numbers that are whole multiples of `step`. The automaton has a state per remainder, so a
// step of five digits takes a megabyte. Fails: unsupported (the step has too many digits, or is 0
// or negative).
Result<Language> multiple_of(Languages& languages, const Decimal& step);

}  // namespace ruv

// The number that a decimal text says.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>

namespace ruv {

// std::from_chars for double. The libc++ of some systems has none for it: there strtod reads the
// text, which gives the same numbers in the "C" locale, and has to be all of it.
inline std::from_chars_result read_number(std::string_view text, double& out) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
#if defined(__cpp_lib_to_chars)
  return std::from_chars(begin, end, out);
#else
  // strtod reads what from_chars does not: hexadecimal digits, a plus sign, spaces before.
  const bool is_foreign =
      text.empty() || text[0] == '+' || static_cast<unsigned char>(text[0]) <= ' ';
  const std::string copy(is_foreign || text.find_first_of("xX") != text.npos ? "" : text);
  char* stop = nullptr;
  const double value = std::strtod(copy.c_str(), &stop);
  if (copy.empty() || stop != copy.c_str() + copy.size())
    return {begin, std::errc::invalid_argument};
  const bool has_digit =
      text.substr(0, text.find_first_of("eE")).find_first_of("123456789") != text.npos;
  const bool out_of_range = (std::isinf(value) && has_digit) || (value == 0 && has_digit);
  if (out_of_range) return {end, std::errc::result_out_of_range};
  out = value;
  return {end, std::errc()};
#endif
}

}  // namespace ruv

#include "size_text.h"

#include "base/number_text.h"

namespace ruv {

Result<double> positive_number(const char* flag, const std::string& text) {
  double number = 0;
  const auto [end, wrong] = read_number(text, number);
  const bool is_whole = wrong == std::errc() && end == text.data() + text.size();
  if (is_whole && number > 0 && number < 1e18) return number;
  return fail(Code::invalid, "{} '{}' is not a number above 0", flag, text);
}

Result<double> size_in_bytes(const char* flag, std::string text) {
  constexpr std::string_view kUnits = "kMGT";
  double factor = 1;
  const size_t unit = text.empty() ? kUnits.npos : kUnits.find(text.back());
  if (unit != kUnits.npos) {
    for (size_t i = 0; i <= unit; ++i) factor *= 1000;
    text.pop_back();
  }
  return TRY(positive_number(flag, text)) * factor;
}

}  // namespace ruv

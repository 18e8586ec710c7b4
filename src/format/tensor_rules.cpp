#include "format/tensor_rules.h"

#include "format/tensor_names.h"

namespace ruv {

Result<TensorRule> parse_tensor_rule(std::string_view text) {
  const size_t at = text.rfind('=');
  if (at == text.npos || at == 0) {
    return fail(Code::invalid, "'{}' is not PATTERN=TYPE, as 'blk.*.ffn_down.weight=q6_k' is",
                quoted_name(text));
  }
  const std::string_view name = text.substr(at + 1);
  const Format* const format = find_format(name);
  if (format == nullptr || format->encode == nullptr) {
    return fail(Code::invalid, "'{}': there is no format '{}' that is written", quoted_name(text),
                quoted_name(name));
  }
  return TensorRule{std::string(text.substr(0, at)), format->dtype};
}

// On a mismatch the last * takes one more character; earlier ones need not be tried again.
bool fits_pattern(std::string_view name, std::string_view pattern) {
  size_t n = 0;
  size_t p = 0;
  size_t star = pattern.npos;
  size_t taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != pattern.npos) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace ruv

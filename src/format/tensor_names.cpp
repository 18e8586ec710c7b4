#include "format/tensor_names.h"

#include "base/utf8.h"

namespace ruv {

std::string quoted_name(std::string_view name) {
  constexpr size_t kLongest = 96;
  const bool cut = name.size() > kLongest;
  std::string shown = to_valid_utf8(name.substr(0, kLongest));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return cut ? shown + "…" : shown;
}

}  // namespace ruv

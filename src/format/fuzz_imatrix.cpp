// Any bytes as the importance of columns: an error that names the file, or entries whose means are
// finite.
#include <cmath>
#include <cstdlib>

#include "format/importance.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const ruv::Bytes span(reinterpret_cast<const std::byte*>(bytes), size);
  const auto importance = ruv::parse_importance(span, "fuzz.imatrix");
  if (!importance) {
    return importance.error().message().starts_with("fuzz.imatrix: ") ? 0 : (std::abort(), 0);
  }
  for (const auto& [name, entry] : importance->entries) {
    const auto n = std::ssize(entry.counts);
    for (const float mean : ruv::mean_squares(entry, std::ssize(entry.sums) / n, n)) {
      if (!(mean >= 0.0F)) std::abort();
    }
  }
  return 0;
}

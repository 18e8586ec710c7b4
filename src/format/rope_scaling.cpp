#include "format/rope_scaling.h"

#include <cmath>

#include "base/elementary.h"

namespace ruv {

bool Llama3Scaling::is_valid() const { return factor > 0 && high > low && low > 0 && original > 0; }

double Llama3Scaling::kept_share(double wavelength) const {
  if (wavelength > original / low) return 0;
  if (!(wavelength > original / high)) return 1;
  return (original / wavelength - low) / (high - low);
}

Result<Llama3Scaling> llama3_scaling_of(const ModelFile& file) {
  Llama3Scaling scaling;
  scaling.factor = TRY(file.number("rope.scaling.factor"));
  scaling.low = TRY(file.number("rope.scaling.low_freq_factor"));
  scaling.high = TRY(file.number("rope.scaling.high_freq_factor"));
  scaling.original = TRY(file.number("rope.scaling.original_context_length"));
  return scaling;
}

double longrope_magnitude(double stretch, int64_t original) {
  if (!(stretch > 1)) return 1;
  return std::sqrt(1 + exact_log(stretch) / exact_log(static_cast<double>(original)));
}

}  // namespace ruv

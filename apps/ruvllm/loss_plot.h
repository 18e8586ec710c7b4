// A curve of losses as text, for a terminal.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace ruv {

// `height` lines of at most `width` columns: numbers of the scale, then the curve in dots of
// Braille, of which a column has 2 and a line 4. A dot is the mean of the losses in its part of the
// run. Losses that are not finite are left out. Requires: width >= 20, height >= 2.
std::vector<std::string> loss_plot(std::span<const double> losses, size_t width, size_t height);

}  // namespace ruv

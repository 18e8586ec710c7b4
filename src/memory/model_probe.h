// The text by whose vector a store tells embedding models apart.
#pragma once

#include <string_view>

namespace ruv {

// Never changes: stores have its vector. It is embedded as a query.
inline constexpr std::string_view kProbeText =
    "The lighthouse keeper counted 17 red boats before breakfast.";

}  // namespace ruv

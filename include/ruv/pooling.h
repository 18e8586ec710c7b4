// Pooling: which of the hidden states of a text's tokens its vector is made of.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ruv {

enum class Pooling : uint8_t {
  none,           // each token's is a vector of its own
  mean,           // the mean of all
  cls,            // the first token's
  last,           // the last token's
  weighted_mean,  // the mean, weighted by 1, 2, 3, … from the first token on
};

inline constexpr std::array<std::string_view, 5> kPoolingNames = {"none", "mean", "cls", "last",
                                                                  "weighted_mean"};

// The name as users write it.
constexpr std::string_view pooling_name(Pooling pooling) {
  return kPoolingNames[static_cast<size_t>(pooling)];
}
// Nothing for another word.
constexpr std::optional<Pooling> find_pooling(std::string_view name) {
  for (size_t i = 0; i < kPoolingNames.size(); ++i) {
    if (kPoolingNames[i] == name) return static_cast<Pooling>(i);
  }
  return std::nullopt;
}

}  // namespace ruv

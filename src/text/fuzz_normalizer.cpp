// Chooses steps, a charsmap and a text from the input; origins must ascend and agree with the text.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "text/normalize/charsmap_builder.h"
#include "text/normalize/normalizer.h"

namespace {

using namespace ruv;

std::string good_charsmap() {
  return CharsmapBuilder({{"a", "b"}, {"ab", " "}, {"\u00E9", "e\u0301"}, {"\u3000", " "}}).blob();
}

void check(const Normalizer& normalizer, std::string_view text) {
  NormalizedText plain;
  NormalizedText traced;
  normalizer.apply(text, false, plain);
  normalizer.apply(text, true, traced);
  CHECK(plain.text == traced.text);
  CHECK(traced.origin.size() == traced.text.size() + 1);
  CHECK(std::is_sorted(traced.origin.begin(), traced.origin.end()));
  CHECK(traced.origin.back() == text.size());
  if (!normalizer.may_change(text)) CHECK(plain.text == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const std::string kCharsmap = good_charsmap();
  if (size < 4) return 0;
  std::vector<NormalizerStep> steps;
  std::string_view rest(reinterpret_cast<const char*>(bytes) + 4, size - 4);
  for (size_t i = 0; i < 3; ++i) {
    NormalizerStep step{.kind = static_cast<NormalizerKind>(bytes[i] % 15)};
    const size_t n = std::min<size_t>(bytes[i] / 16, rest.size());
    step.content = rest.substr(0, n);
    step.pattern = rest.substr(0, n / 2);
    if (step.kind == NormalizerKind::charsmap) {
      // Some bytes of a sound map are overwritten.
      step.content = kCharsmap;
      for (size_t k = 0; k + 2 < n; k += 3) {
        const size_t at = static_cast<uint8_t>(rest[k]) * 256 + static_cast<uint8_t>(rest[k + 1]);
        step.content[at % step.content.size()] = rest[k + 2];
      }
      step.pattern = bytes[3] % 2 == 0 ? "" : "grapheme";
    }
    if (step.kind == NormalizerKind::strip_accents) step.pattern = bytes[3] % 2 == 0 ? "" : "M";
    rest.remove_prefix(n);
    steps.push_back(std::move(step));
  }
  const auto normalizer = Normalizer::create(steps);
  if (normalizer) check(*normalizer, rest);
  return 0;
}

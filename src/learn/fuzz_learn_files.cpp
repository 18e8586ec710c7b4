// Any bytes as the state of an instance, and as feedback: they are refused, or what is read is
// written to the same bytes. States end with a hash, which is put right here so that what is
// before it is read.
#include <algorithm>
#include <cstdlib>

#include "base/hash.h"
#include "base/json.h"
#include "learn/feedback.h"
#include "learn/learn_state.h"

namespace {

constexpr ruv::StateFit kFit{.model = 0x0807060504030201, .n_numbers = 2};

void expect(bool condition) {
  if (!condition) std::abort();
}

void check_state(ruv::Bytes bytes) {
  std::vector<std::byte> whole(bytes.begin(), bytes.end());
  const uint64_t hash = ruv::hash_bytes(bytes);
  const auto* const at = reinterpret_cast<const std::byte*>(&hash);
  whole.insert(whole.end(), at, at + sizeof hash);
  const auto state = ruv::parse_state(whole, kFit, "state");
  if (!state) return expect(!state.error().message().empty());
  expect(state->numbers.size() == kFit.n_numbers && state->fisher.size() == kFit.n_numbers);
  expect(ruv::state_bytes(*state, kFit) == whole);
}

void check_feedback(std::string_view text) {
  const auto json = ruv::parse_json(text, "feedback");
  if (!json) return;
  if (json->is_object()) {
    const auto feedback = ruv::read_feedback(*json);
    if (!feedback) expect(!feedback.error().message.empty());
  }
  const auto judgement = ruv::parse_judgement(*json, "journal");
  if (!judgement) return;
  const std::string once = ruv::judgement_json(*judgement).dump();
  const auto again = ruv::parse_judgement(*ruv::parse_json(once, "journal"), "journal");
  expect(again && ruv::judgement_json(*again).dump() == once);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  check_state({reinterpret_cast<const std::byte*>(data), size});
  check_feedback({reinterpret_cast<const char*>(data), size});
  return 0;
}

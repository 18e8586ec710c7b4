#include "learn/learn_state.h"

#include "base/hash.h"

namespace ruv {
namespace {

constexpr std::string_view kStateMagic = "RUVLEARN";
constexpr uint32_t kStateVersion = 1;
constexpr size_t kMostTaskBytes = 4096;  // of merged tasks, several names

// Appends numbers as they lie in memory: the machine is little-endian.
class StateBytes {
 public:
  template <class Number>
  void number(Number n) {
    append(std::as_bytes(std::span(&n, 1)));
  }
  void numbers(std::span<const float> all) { append(std::as_bytes(all)); }
  void text(std::string_view text) {
    number(static_cast<uint32_t>(text.size()));
    append(as_bytes(text));
  }
  void append(Bytes more) { bytes_.insert(bytes_.end(), more.begin(), more.end()); }
  std::vector<std::byte> finish() {
    number(hash_bytes(bytes_));
    return std::move(bytes_);
  }

 private:
  std::vector<std::byte> bytes_;
};

// Room for as many as the adapter has, which the bytes do not say.
Result<std::vector<float>> read_floats(ByteReader& in, size_t n) {
  const Bytes bytes = TRY(in.take(n * sizeof(float), "numbers"));
  std::vector<float> all(n);
  std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}

Result<std::string> read_name(ByteReader& in) {
  const auto n = TRY(in.read<uint32_t>("length of a task's name"));
  if (n > kMostTaskBytes) return in.error("length of a task's name", "too large");
  return std::string(as_text(TRY(in.take(n, "task"))));
}

// Each anchor is as long as the adapter, so a count that is too large ends with the bytes.
Status read_lists(ByteReader& in, size_t n_numbers, LearnState& state) {
  state.task = TRY(read_name(in));
  const auto n_anchors = TRY(in.read<uint64_t>("anchors"));
  for (uint64_t i = 0; i < n_anchors; ++i) {
    TaskAnchor anchor{.task = TRY(read_name(in)), .numbers = {}, .fisher = {}};
    anchor.numbers = TRY(read_floats(in, n_numbers));
    anchor.fisher = TRY(read_floats(in, n_numbers));
    state.anchors.push_back(std::move(anchor));
  }
  const auto n_kept = TRY(in.read<uint64_t>("kept feedback"));
  for (uint64_t i = 0; i < n_kept; ++i) {
    state.kept.push_back(TRY(in.read<uint64_t>("number of kept feedback")));
  }
  if (in.remaining() == 0) return {};
  return in.error("end", "more bytes follow");
}

}  // namespace

// In the order that the header of learn_state.h gives.
std::vector<std::byte> state_bytes(const LearnState& state, const StateFit& fit) {
  StateBytes out;
  out.append(as_bytes(kStateMagic));
  out.number(kStateVersion);
  out.number(fit.model);
  out.number(uint64_t{fit.n_numbers});
  out.number(state.n_steps);
  out.number(state.mean_reward);
  out.number(state.n_rewards);
  out.number(state.n_fisher);
  for (const auto* all : {&state.numbers, &state.first, &state.second, &state.fisher}) {
    out.numbers(*all);
  }
  out.text(state.task);
  out.number(uint64_t{state.anchors.size()});
  for (const TaskAnchor& anchor : state.anchors) {
    out.text(anchor.task);
    out.numbers(anchor.numbers);
    out.numbers(anchor.fisher);
  }
  out.number(uint64_t{state.kept.size()});
  for (const uint64_t number : state.kept) out.number(number);
  return out.finish();
}

// The hash comes first: bytes that were damaged are not looked at.
Result<LearnState> parse_state(Bytes bytes, const StateFit& fit, const std::string& source) {
  uint64_t stored = 0;
  if (bytes.size() < sizeof stored) return fail(Code::corrupt, "{}: ends too soon", source);
  const Bytes before = bytes.first(bytes.size() - sizeof stored);
  std::memcpy(&stored, bytes.data() + before.size(), sizeof stored);
  if (hash_bytes(before) != stored) {
    return fail(Code::corrupt, "{}: its bytes are not those that were written", source);
  }
  ByteReader in(before, source);
  const std::string_view magic = as_text(TRY(in.take(kStateMagic.size(), "magic")));
  if (magic != kStateMagic || TRY(in.read<uint32_t>("version")) != kStateVersion) {
    return fail(Code::corrupt, "{}: not what an instance learned, as this version writes it",
                source);
  }
  const auto model = TRY(in.read<uint64_t>("model"));
  const auto n_numbers = TRY(in.read<uint64_t>("numbers"));
  if (model != fit.model || n_numbers != fit.n_numbers) {
    return fail(Code::invalid, "{}: was learned with another model, rank or choice of matrices",
                source);
  }
  LearnState state;
  state.n_steps = TRY(in.read<uint64_t>("steps"));
  state.mean_reward = TRY(in.read<double>("mean reward"));
  state.n_rewards = TRY(in.read<uint64_t>("rewards"));
  state.n_fisher = TRY(in.read<uint64_t>("texts"));
  for (auto* all : {&state.numbers, &state.first, &state.second, &state.fisher}) {
    *all = TRY(read_floats(in, fit.n_numbers));
  }
  TRY(read_lists(in, fit.n_numbers, state));
  return state;
}

}  // namespace ruv

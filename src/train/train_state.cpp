#include "train/train_state.h"

#include <array>
#include <cstring>

#include "base/file.h"
#include "base/hash.h"

namespace ruv {
namespace {

constexpr std::string_view kMagic = "RUVTRAIN";
constexpr uint32_t kVersion = 1;
constexpr size_t kHashed = size_t{1} << 20;  // bytes that are hashed together

// A hash of bytes that come in pieces: of whole parts, each with the hash of those before it as
// its seed.
class StateHash {
 public:
  void add(Bytes bytes) {
    while (!bytes.empty()) {
      const size_t n = std::min(bytes.size(), kHashed - part_.size());
      part_.insert(part_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(n));
      bytes = bytes.subspan(n);
      if (part_.size() == kHashed) close();
    }
  }
  uint64_t value() {
    close();
    return hash_;
  }

 private:
  void close() {
    hash_ = hash_bytes(part_, hash_);
    part_.clear();
  }
  std::vector<std::byte> part_;
  uint64_t hash_ = 0;
};

// Hashes what it writes.
class StateWriter {
 public:
  explicit StateWriter(FileWriter file) : file_(std::move(file)) {}
  Status write(Bytes bytes) {
    hash_.add(bytes);
    return file_.write(bytes);
  }
  template <class Number>
  Status number(Number n) {
    return write(std::as_bytes(std::span(&n, 1)));
  }
  Status commit() {
    const uint64_t hash = hash_.value();
    TRY(file_.write(std::as_bytes(std::span(&hash, 1))));
    return file_.commit();
  }

 private:
  FileWriter file_;
  StateHash hash_;
};

// Where a parameter's numbers lie in the file.
struct StoredNumbers {
  std::array<Bytes, 3> parts;
};

// Nothing of a size that the file says is allocated: sizes must be those of the parameter.
Result<StoredNumbers> read_parameter(ByteReader& in, const Parameter<float>& parameter) {
  const auto length = TRY(in.read<uint32_t>("length of a name"));
  const std::string_view name = as_text(TRY(in.take(length, "name")));
  const auto n = TRY(in.read<uint64_t>("numbers"));
  if (name != parameter.name || n != parameter.values.size()) {
    return fail(Code::invalid, "{}: is of a run with other parameters: not '{}' of {} numbers",
                in.source(), parameter.name, parameter.values.size());
  }
  StoredNumbers stored;
  for (Bytes& part : stored.parts) {
    part = TRY(in.take(parameter.values.size_bytes(), "numbers of a parameter"));
  }
  return stored;
}

// The last eight bytes are the hash of those before them.
Status check_hash(const MappedFile& file) {
  const Bytes bytes = file.bytes();
  if (bytes.size() < sizeof(uint64_t)) {
    return fail(Code::corrupt, "{}: ends too soon", file.path());
  }
  const Bytes before = bytes.first(bytes.size() - sizeof(uint64_t));
  uint64_t stored = 0;
  std::memcpy(&stored, bytes.data() + before.size(), sizeof stored);
  StateHash hash;
  hash.add(before);
  if (hash.value() == stored) return {};
  return fail(Code::corrupt, "{}: its bytes are not those that were written", file.path());
}

}  // namespace

// Written front to back; the file appears when it is whole.
Status write_train_state(const std::string& path, const TrainState& state) {
  StateWriter out(TRY(FileWriter::create(path, {.replace = true})));
  TRY(out.write(as_bytes(kMagic)));
  TRY(out.number(kVersion));
  TRY(out.number(static_cast<uint64_t>(state.n_steps)));
  TRY(out.number(static_cast<uint64_t>(state.parameters.size())));
  for (size_t i = 0; i < state.parameters.size(); ++i) {
    const Parameter<float>& parameter = state.parameters[i];
    TRY(out.number(static_cast<uint32_t>(parameter.name.size())));
    TRY(out.write(as_bytes(parameter.name)));
    TRY(out.number(static_cast<uint64_t>(parameter.values.size())));
    TRY(out.write(std::as_bytes(parameter.values)));
    TRY(out.write(std::as_bytes(state.adam.first(i))));
    TRY(out.write(std::as_bytes(state.adam.second(i))));
  }
  return out.commit();
}

// Everything is checked before the first number is copied.
Result<int64_t> read_train_state(const std::string& path,
                                 std::span<const Parameter<float>> parameters, Adam<float>& adam) {
  const MappedFile file = TRY(MappedFile::open(path));
  TRY(check_hash(file));
  ByteReader in(file.bytes().first(file.bytes().size() - sizeof(uint64_t)), path);
  const std::string_view magic = as_text(TRY(in.take(kMagic.size(), "magic")));
  const auto version = TRY(in.read<uint32_t>("version"));
  if (magic != kMagic || version != kVersion) {
    return fail(Code::corrupt, "{}: not a file of a training run as this version writes it", path);
  }
  const auto n_steps = TRY(in.read<uint64_t>("steps"));
  const auto n = TRY(in.read<uint64_t>("parameters"));
  if (n != parameters.size() || n_steps > INT64_MAX) {
    return fail(Code::invalid, "{}: is of a run with {} parameters, not {}", path, n,
                parameters.size());
  }
  std::vector<StoredNumbers> all;
  for (const Parameter<float>& parameter : parameters) {
    all.push_back(TRY(read_parameter(in, parameter)));
  }
  if (in.remaining() > 0) {
    return fail(Code::corrupt, "{}: {} bytes follow its parameters", path, in.remaining());
  }
  for (size_t i = 0; i < all.size(); ++i) {
    const std::array<std::span<float>, 3> to = {parameters[i].values, adam.first(i),
                                                adam.second(i)};
    for (size_t part = 0; part < to.size(); ++part) {
      std::memcpy(to[part].data(), all[i].parts[part].data(), to[part].size_bytes());
    }
  }
  return static_cast<int64_t>(n_steps);
}

}  // namespace ruv

#include "train/train_state.h"

#include <algorithm>
#include <cstring>

#include "base/file.h"
#include "base/hash.h"

namespace ruv {
namespace {

constexpr std::string_view kMagic = "RUVTRAIN";
constexpr uint32_t kVersion = 2;
constexpr uint32_t kVersionOfForms = 3;      // parts say how they are kept
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

Status write_text(StateWriter& out, std::string_view text) {
  TRY(out.number(static_cast<uint32_t>(text.size())));
  return out.write(as_bytes(text));
}

Result<std::string_view> read_text(ByteReader& in) {
  const auto length = TRY(in.read<uint32_t>("length of a text"));
  return as_text(TRY(in.take(length, "text")));
}

// Facts of the file beside those of this run, in their order. Names of facts that only this run has
// are found last.
Status check_facts(ByteReader& in, uint64_t n, std::span<const RunFact> facts) {
  std::vector<std::string_view> names;
  for (uint64_t i = 0; i < n; ++i) {
    const std::string_view name = names.emplace_back(TRY(read_text(in)));
    const std::string_view value = TRY(read_text(in));
    const auto same = std::ranges::find(facts, name, &RunFact::name);
    const std::string now = same == facts.end() ? "has none" : "has " + same->value;
    if (same == facts.end() || same->value != value) {
      return fail(Code::invalid, "{}: is of a run with {} {}; this one {}", in.source(), name,
                  value, now);
    }
  }
  for (const RunFact& fact : facts) {
    if (std::ranges::find(names, fact.name) != names.end()) continue;
    return fail(Code::invalid, "{}: is of a run without {}, which is {} here", in.source(),
                fact.name, fact.value);
  }
  return {};
}

// Where a parameter's numbers lie in the file.
using StoredNumbers = std::array<Bytes, 3>;

// How a message names a form of the file, which may be any number.
std::string_view name_of(uint32_t form) {
  switch (static_cast<MomentForm>(form)) {
    case MomentForm::plain:
      return "float32";
    case MomentForm::signed_bytes:
    case MomentForm::unsigned_bytes:
      return "8 bits";
  }
  return "a form that is not known";
}

// Nothing of a size that the file says is allocated: sizes must be those of the parameter.
Result<StoredNumbers> read_numbers(ByteReader& in, const StateNumbers& numbers, bool has_forms) {
  const std::string_view name = TRY(read_text(in));
  StoredNumbers stored;
  for (size_t i = 0; i < stored.size(); ++i) {
    const SavedPart& part = numbers.parts[i];
    const auto n = TRY(in.read<uint64_t>("numbers"));
    if (name != numbers.name || n != static_cast<uint64_t>(part.n)) {
      return fail(Code::invalid, "{}: is of a run with other parameters: not '{}' of {} numbers",
                  in.source(), numbers.name, part.n);
    }
    const uint32_t form = has_forms ? TRY(in.read<uint32_t>("form")) : 0;
    if (form != static_cast<uint32_t>(part.form)) {
      return fail(Code::invalid, "{}: is of a run that keeps '{}' in {} and not in {}", in.source(),
                  name, name_of(form), name_of(static_cast<uint32_t>(part.form)));
    }
    stored[i] = TRY(in.take(part.memory.size(), "numbers of a parameter"));
  }
  return stored;
}

// Whether a part is kept in a form that version 2 of the file cannot tell.
bool has_forms(std::span<const StateNumbers> all) {
  return std::ranges::any_of(all, [](const StateNumbers& numbers) {
    return std::ranges::any_of(
        numbers.parts, [](const SavedPart& part) { return part.form != MomentForm::plain; });
  });
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

SavedPart saved_part(std::span<float> numbers) {
  return {MomentForm::plain, std::ssize(numbers), std::as_writable_bytes(numbers)};
}

SavedPart saved_part(const StoredMoment<float>& moment) {
  return {moment.form(), moment.size(), moment.memory()};
}

// Written front to back; the file appears when it is whole.
Status write_train_state(const std::string& path, const TrainState& state) {
  StateWriter out(TRY(FileWriter::create(path, {.replace = true})));
  TRY(out.write(as_bytes(kMagic)));
  const bool writes_forms = has_forms(state.numbers);
  TRY(out.number(writes_forms ? kVersionOfForms : kVersion));
  TRY(out.number(static_cast<uint64_t>(state.n_steps)));
  TRY(out.number(static_cast<uint64_t>(state.facts.size())));
  TRY(out.number(static_cast<uint64_t>(state.numbers.size())));
  for (const RunFact& fact : state.facts) {
    TRY(write_text(out, fact.name));
    TRY(write_text(out, fact.value));
  }
  for (const StateNumbers& numbers : state.numbers) {
    TRY(write_text(out, numbers.name));
    for (const SavedPart& part : numbers.parts) {
      TRY(out.number(static_cast<uint64_t>(part.n)));
      if (writes_forms) TRY(out.number(static_cast<uint32_t>(part.form)));
      TRY(out.write(part.memory));
    }
  }
  return out.commit();
}

// Everything is checked before the first number is copied.
Status read_train_state(const std::string& path, TrainState& state) {
  const MappedFile file = TRY(MappedFile::open(path));
  TRY(check_hash(file));
  ByteReader in(file.bytes().first(file.bytes().size() - sizeof(uint64_t)), path);
  const std::string_view magic = as_text(TRY(in.take(kMagic.size(), "magic")));
  const auto version = TRY(in.read<uint32_t>("version"));
  if (magic != kMagic || (version != kVersion && version != kVersionOfForms)) {
    return fail(Code::corrupt, "{}: not a file of a training run as this version writes it", path);
  }
  const auto n_steps = TRY(in.read<uint64_t>("steps"));
  const auto n_facts = TRY(in.read<uint64_t>("facts"));
  const auto n = TRY(in.read<uint64_t>("parameters"));
  TRY(check_facts(in, n_facts, state.facts));
  if (n != state.numbers.size() || n_steps > INT64_MAX) {
    return fail(Code::invalid, "{}: is of a run with {} parameters, not {}", path, n,
                state.numbers.size());
  }
  std::vector<StoredNumbers> all;
  for (const StateNumbers& numbers : state.numbers) {
    all.push_back(TRY(read_numbers(in, numbers, version == kVersionOfForms)));
  }
  if (in.remaining() > 0) {
    return fail(Code::corrupt, "{}: {} bytes follow its parameters", path, in.remaining());
  }
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t part = 0; part < all[i].size(); ++part) {
      const std::span<std::byte> to = state.numbers[i].parts[part].memory;
      if (!to.empty()) std::memcpy(to.data(), all[i][part].data(), to.size());
    }
  }
  state.n_steps = static_cast<int64_t>(n_steps);
  return {};
}

}  // namespace ruv

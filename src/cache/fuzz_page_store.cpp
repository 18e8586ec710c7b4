// Any bytes as a segment of a page store: opened, listed, read and added to. The first byte says
// whether hashes are made right first, so that the fuzzer gets past them, whether records are added
// below those that are there, and whether the store has checkpoints.
#include <cstdlib>
#include <filesystem>
#include <random>
#include <set>

#include "base/folder.h"
#include "base/hash.h"
#include "cache/page_store.h"

namespace {

constexpr size_t kPayload = 64;
constexpr size_t kStride = ruv::kRecordHeaderBytes + kPayload;
constexpr size_t kState = 700;  // with its tag two slots
constexpr std::string_view kLayout = "fuzz";

ruv::PageStoreConfig config_in(const std::string& folder, bool has_states) {
  ruv::PageStoreConfig config;
  config.folder = folder;
  config.layout = kLayout;
  config.payload_bytes = kPayload;
  config.state_bytes = has_states ? kState : 0;
  config.max_bytes = 256 << 10;
  config.note = [](std::string_view line) { line.empty() ? std::abort() : (void)0; };
  return config;
}

void put(std::span<std::byte> to, size_t offset, uint64_t word) {
  std::memcpy(to.data() + offset, &word, sizeof word);
}

template <class T>
T get(std::span<const std::byte> from, size_t offset) {
  T value;
  std::memcpy(&value, from.data() + offset, sizeof value);
  return value;
}

// Writes what a label says of the prefix before it, where that is in the file.
void make_prefix_right(std::span<std::byte> label, std::map<int64_t, ruv::PrefixHash>& prefixes) {
  const auto parent = get<int64_t>(label, 8);
  auto before = get<ruv::PrefixHash>(label, 16);
  if (parent == -1) {
    const size_t n_scope = std::min<uint32_t>(get<uint32_t>(label, 160), ruv::kMaxScopeBytes);
    before = ruv::prefix_of_scope(ruv::as_text(label.subspan(168, n_scope)));
  } else if (const auto known = prefixes.find(parent); known != prefixes.end()) {
    before = known->second;
  }
  std::memcpy(label.data() + 16, &before, sizeof before);
  const auto id = get<int64_t>(label, 0);
  prefixes.emplace(id, ruv::prefix_with(before, get<ruv::PageCells>(label, 32)));
}

// The places are those of docs/formats/page-store.md.
void make_hashes_right(std::span<std::byte> file, bool has_states) {
  if (file.size() < ruv::kSegmentHeaderBytes) return;
  put(file, 504, ruv::hash_bytes(file.first(504)));
  std::string origin("RUVPAGE2");
  origin.append(16, '\0');  // the model's hash
  const uint64_t n_payload = kPayload;
  origin.append(reinterpret_cast<const char*>(&n_payload), sizeof n_payload);
  origin.append(kLayout);
  const uint64_t n_state = kState;
  if (has_states) origin.append(reinterpret_cast<const char*>(&n_state), sizeof n_state);
  const uint64_t seed = ruv::hash_bytes(ruv::as_bytes(origin));
  std::map<int64_t, ruv::PrefixHash> prefixes;
  for (size_t at = ruv::kSegmentHeaderBytes; at + kStride <= file.size(); at += kStride) {
    const std::span<std::byte> record = file.subspan(at, kStride);
    make_prefix_right(record.subspan(64, ruv::kRecordHeaderBytes - 64), prefixes);
    const auto id = get<uint64_t>(record, 64);
    put(record, 48, ruv::hash_bytes(record.subspan(ruv::kRecordHeaderBytes), id));
    put(record, 8, ruv::hash_bytes(record.subspan(24, ruv::kRecordHeaderBytes - 24), seed));
    const bool has_state = has_states && get<uint32_t>(record, 64 + 164) == 1;
    if (!has_state || file.size() - at < 3 * kStride) continue;
    const std::span<std::byte> state = file.subspan(at + kStride, 2 * kStride);
    put(state, 0, ruv::hash_bytes(state.subspan(16, kState), ~id));
    at += 2 * kStride;
  }
}

// Opens the store, checks what it promises of its records, and adds one below each of some.
void use(const ruv::PageStoreConfig& config, bool add) {
  const auto store = ruv::PageStore::open(config);
  if (!store) std::abort();
  std::set<int64_t> ids = {-1};
  std::array<std::byte, kPayload> payload;
  std::array<std::byte, kState> state;
  for (const ruv::PageStore::Record& record : (*store)->records()) {
    if (!ids.contains(record.parent) || !ids.insert(record.id).second) std::abort();
    const bool has_state = (*store)->has_state(record.id);
    const auto wanted = std::span(state).first(has_state ? kState : 0);
    const ruv::Status status = (*store)->read(record.id, payload, wanted);
    if (!status.ok() && status.code() != ruv::Code::corrupt &&
        status.code() != ruv::Code::not_found)
      std::abort();
    if (!add || !status.ok() || ids.size() > 8) continue;
    const auto child = (*store)->append(record.id, "", record.cells, payload, wanted);
    if (!child || !(*store)->read(*child, payload, wanted).ok()) std::abort();
  }
  const auto first = (*store)->append(-1, "s", ruv::PageCells{}, payload);
  if (!first || ids.contains(*first)) std::abort();
  if ((*store)->stats().n_bytes > config.max_bytes) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const std::string folder = (std::filesystem::temp_directory_path() /
                                     fmt::format("ruv-fuzz-pages-{:x}", std::random_device()()))
                                        .string();
  if (size == 0) return 0;
  std::filesystem::remove_all(folder);
  if (!ruv::make_folder(folder).ok()) std::abort();
  const std::span<const std::byte> segment = std::as_bytes(std::span(bytes, size)).subspan(1);
  std::vector<std::byte> file(segment.begin(), segment.end());
  const bool has_states = bytes[0] / 4 % 2 != 0;
  if (bytes[0] % 2 != 0) make_hashes_right(file, has_states);
  const std::string path = folder + "/" + ruv::PageSegment::file_name(1);
  if (!ruv::AppendFile::create(path)->append({file}).ok()) std::abort();
  use(config_in(folder, has_states), bytes[0] / 2 % 2 != 0);
  use(config_in(folder, has_states), false);
  return 0;
}

// Opening a page store: which files of the folder are its own, which records in them are whole, and
// which of these still have all pages before them.
#include <algorithm>
#include <deque>

#include "base/folder.h"
#include "cache/page_store.h"

namespace ruv {
namespace {

constexpr std::string_view kLockName = "lock";
constexpr uint32_t kHeadersAhead = 256;  // asked of the disk at once
constexpr int64_t kLeastRecords = 8;     // segments of at least one record, and some of them

int64_t segment_bytes_for(int64_t max_bytes, int64_t largest_record) {
  constexpr int64_t kMebibyte = 1 << 20;
  // Larger segments for larger stores, so that few files need to be open.
  const int64_t wanted =
      std::clamp(max_bytes / 16, 8 * kMebibyte, std::max(256 * kMebibyte, max_bytes / 256));
  const auto largest = static_cast<int64_t>(PageSegment::kMaxBytes);
  const auto header = static_cast<int64_t>(kSegmentHeaderBytes);
  return std::max(std::min({wanted, max_bytes / kLeastRecords, largest}), header + largest_record);
}

Status check_config(const PageStoreConfig& config) {
  constexpr int64_t kMaxPayload = int64_t{1} << 30;
  if (config.payload_bytes <= 0 || config.payload_bytes > kMaxPayload)
    return fail(Code::invalid, "page store: pages of {} bytes; 1 to {} can be stored",
                config.payload_bytes, kMaxPayload);
  if (config.state_bytes < 0 || config.state_bytes > kMaxPayload)
    return fail(Code::invalid, "page store: states of {} bytes; up to {} can be stored",
                config.state_bytes, kMaxPayload);
  if (config.layout.size() > kMaxLayoutBytes)
    return fail(Code::invalid, "page store: a layout name of {} bytes; at most {}",
                config.layout.size(), kMaxLayoutBytes);
  const int64_t least = PageStore::min_bytes(config.payload_bytes, config.state_bytes);
  if (config.max_bytes < least)
    return fail(Code::invalid, "page store: max_bytes is {}; pages of {} bytes need at least {}",
                config.max_bytes, config.payload_bytes + config.state_bytes, least);
  return {};
}

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// A record's id says where it was first written; later copies are in later segments. So an id that
// is still to be given cannot be in any file.
bool is_possible(int64_t id, RecordIndex::Place place) {
  const auto segment = static_cast<uint32_t>(id >> 32);
  const auto slot = static_cast<uint32_t>(id);
  return segment > 0 &&
         (segment < place.segment || (segment == place.segment && slot == place.slot));
}

// A crash while a segment is created leaves fewer bytes than its header has.
bool is_unborn(const AppendFile& file) {
  if (file.n_bytes() >= kSegmentHeaderBytes) return false;
  std::vector<std::byte> start(file.n_bytes());
  if (!file.read(0, start).ok()) return false;
  const Bytes magic = RecordCodec::segment_magic();
  const size_t n = std::min(start.size(), magic.size());
  return std::equal(magic.begin(), magic.begin() + static_cast<std::ptrdiff_t>(n), start.begin());
}

}  // namespace

// A state is filled up to whole slots, which are a page's.
int64_t PageStore::min_bytes(int64_t payload_bytes, int64_t state_bytes) {
  const auto headers = static_cast<int64_t>(kSegmentHeaderBytes + kRecordHeaderBytes);
  const int64_t page = headers + payload_bytes + 64;
  return kLeastRecords * (page + (state_bytes > 0 ? page + state_bytes : 0));
}

PageStore::PageStore(const PageStoreConfig& config, RecordCodec codec, FileLock lock)
    : config_(config),
      codec_(codec),
      lock_(std::move(lock)),
      segment_bytes_(
          segment_bytes_for(config.max_bytes, codec.record_bytes(config.state_bytes > 0))),
      zeros_(codec.stride()) {}

PageStore::~PageStore() = default;

Result<std::unique_ptr<PageStore>> PageStore::open(const PageStoreConfig& config) {
  TRY(check_config(config));
  RecordCodec::Origin origin;
  std::copy(std::begin(config.model_hash), std::end(config.model_hash), origin.model_hash);
  origin.layout = config.layout;
  origin.payload_bytes = static_cast<uint64_t>(config.payload_bytes);
  origin.state_bytes = static_cast<uint64_t>(config.state_bytes);
  const RecordCodec codec = TRY(RecordCodec::create(origin, config.key));
  TRY(make_folder(config.folder));
  FileLock lock = TRY(FileLock::take(fmt::format("{}/{}", config.folder, kLockName)));
  std::unique_ptr<PageStore> store(new PageStore(config, codec, std::move(lock)));
  store->find_segments();
  store->link_records();
  store->age_records();
  store->choose_active();
  store->keep_bound();
  return store;
}

void PageStore::note(std::string_view line) const {
  if (config_.note) config_.note(line);
}

void PageStore::find_segments() {
  std::vector<FolderEntry> entries = files_in(config_.folder);
  std::sort(entries.begin(), entries.end(),
            [](const FolderEntry& a, const FolderEntry& b) { return a.path < b.path; });
  for (const FolderEntry& entry : entries) {
    const std::string_view name = name_of(entry.path);
    if (name == kLockName) continue;
    if (const uint32_t number = PageSegment::number_in(name)) {
      next_number_ = std::max(next_number_, number + 1);
      adopt(entry.path, number);
    } else {
      ignore(entry.path, "not a page segment");
    }
  }
  std::sort(ignored_.begin(), ignored_.end(), [](const IgnoredFile& a, const IgnoredFile& b) {
    return a.modified_ns > b.modified_ns;
  });
}

void PageStore::ignore(const std::string& path, std::string_view reason) {
  ++stats_.n_ignored;
  note(fmt::format("{}: {}; ignored", path, reason));
}

void PageStore::adopt(const std::string& path, uint32_t number) {
  Result<AppendFile> file = AppendFile::open(path);
  if (!file) {
    ++stats_.n_ignored;
    return note(fmt::format("{}; ignored", file.error().message()));
  }
  if (is_unborn(*file)) {
    remove_file(path);
    return;
  }
  SegmentHeader header;
  if (Status status = file->read(0, header); !status.ok()) return ignore(path, status.message());
  std::string reason = codec_.refusal(header, number);
  if (reason.empty() && file->n_bytes() > PageSegment::kMaxBytes) reason = "too large";
  const auto n_bytes = static_cast<int64_t>(file->n_bytes());
  if (reason.empty()) {
    segments_[number] = std::make_shared<PageSegment>(std::move(*file), number, codec_.stride());
    stats_.n_bytes += n_bytes;
    return;
  }
  ignore(path, reason);
  const Bytes magic = RecordCodec::segment_magic();
  if (!std::equal(magic.begin(), magic.end(), header.begin())) return;  // not this engine's
  ignored_.push_back({path, n_bytes, file->modified_ns()});
  stats_.n_bytes += n_bytes;
}

std::vector<PageStore::FoundRecord> PageStore::scan(PageSegment& segment) {
  std::vector<FoundRecord> found;
  int64_t n_damaged = 0;
  RecordHeader header;
  uint32_t n_expected = 0;
  for (uint32_t slot = 0, n = 1; slot < segment.n_slots(); slot += n, n = 1) {
    if (slot >= n_expected) {
      n_expected = slot + std::min(kHeadersAhead, segment.n_slots() - slot);
      segment.expect_headers(slot, n_expected);
    }
    RecordIndex::Place place{segment.number(), slot};
    std::optional<RecordLabel> label;
    if (segment.read(slot, header).ok()) label = codec_.open_label(header);
    if (!label || !is_possible(label->id, place)) {
      ++n_damaged;
      continue;
    }
    n = codec_.n_slots(label->has_state);
    if (n > segment.n_slots() - slot) {
      segment.set_torn(slot);
      break;
    }
    place.has_state = label->has_state;
    segment.records.push_back({slot, n});
    found.push_back({std::move(*label), place});
  }
  stats_.n_damaged += n_damaged;
  if (n_damaged > 0)
    note(fmt::format("{}: {} of {} records are damaged; ignored", segment.file().path(), n_damaged,
                     std::ssize(found) + n_damaged));
  return found;
}

// Walks down from the first pages, so that rings and records without all their ancestors are never
// reached, whatever the files say.
void PageStore::link_records() {
  std::vector<FoundRecord> found;
  for (auto& [number, segment] : segments_) {
    std::vector<FoundRecord> more = scan(*segment);
    std::move(more.begin(), more.end(), std::back_inserter(found));
  }
  // If a process was killed after moving a record and before removing the old segment, the newer
  // copy comes first.
  std::sort(found.begin(), found.end(), [](const FoundRecord& a, const FoundRecord& b) {
    return std::tuple(a.label.parent, a.label.id, b.place.segment) <
           std::tuple(b.label.parent, b.label.id, a.place.segment);
  });
  int64_t n_copies = 0;
  std::deque<int64_t> open_parents = {RecordIndex::kNone};
  for (; !open_parents.empty(); open_parents.pop_front()) {
    const int64_t parent = open_parents.front();
    const PrefixHash before = index_.find(parent)->prefix;
    auto child = std::lower_bound(
        found.begin(), found.end(), parent,
        [](const FoundRecord& record, int64_t id) { return record.label.parent < id; });
    for (; child != found.end() && child->label.parent == parent; ++child) {
      const RecordLabel& label = child->label;
      if (index_.find(label.id)) {
        ++n_copies;
        continue;
      }
      if (parent != RecordIndex::kNone && label.before != before) continue;
      index_.insert(label.id, parent, label.prefix(), child->place);
      segments_.at(child->place.segment)->record_at(child->place.slot).id = label.id;
      open_parents.push_back(label.id);
    }
  }
  const int64_t n_lost = static_cast<int64_t>(found.size()) - n_copies - index_.n_records();
  if (n_lost > 0)
    note(fmt::format("{}: {} records lack the pages before them; ignored", config_.folder, n_lost));
}

// The order in which segments were last used, as their files' times tell, is the records' too.
void PageStore::age_records() {
  std::vector<const PageSegment*> order;
  for (const auto& [number, segment] : segments_) order.push_back(segment.get());
  std::stable_sort(order.begin(), order.end(), [](const PageSegment* a, const PageSegment* b) {
    return a->file().modified_ns() < b->file().modified_ns();
  });
  for (const PageSegment* segment : order) {
    for (const PageSegment::Held& held : segment->records) index_.touch(held.id, tick_);
    ++tick_;
  }
}

void PageStore::choose_active() {
  if (segments_.empty()) return;
  const std::shared_ptr<PageSegment>& newest = segments_.rbegin()->second;
  const int64_t n_torn =
      newest->n_bytes() - static_cast<int64_t>(newest->offset_of(newest->n_slots()));
  const bool has_room = newest->n_bytes() - n_torn + codec_.record_bytes(false) <= segment_bytes_;
  if (!has_room || !newest->cut_torn().ok()) return;
  stats_.n_bytes -= n_torn;
  active_ = newest;
}

// Applies a bound that is lower than at the previous start.
void PageStore::keep_bound() {
  while (stats_.n_bytes > config_.max_bytes) {
    if (drop_ignored()) continue;
    if (!choose_victim()) return;
    drop_victim();
  }
}

}  // namespace ruv

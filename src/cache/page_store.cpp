#include "cache/page_store.h"

#include <algorithm>
#include <unordered_set>

#include "base/folder.h"
#include "base/thread.h"

namespace ruv {
namespace {

// Uses within this many appends count as equally recent, which bounds the work of touching all
// ancestors repeatedly while a long text is written page by page.
constexpr uint64_t kAppendsPerTick = 16;

}  // namespace

// Null: the record was removed, or moved to another segment.
const RecordIndex::Entry* PageStore::find_live(const PageSegment::Held& held,
                                               uint32_t segment) const {
  const RecordIndex::Entry* const entry = index_.find(held.id);
  const bool is_here = held.id != RecordIndex::kNone && entry != nullptr &&
                       entry->place.segment == segment && entry->place.slot == held.slot;
  return is_here ? entry : nullptr;
}

std::vector<PageStore::Record> PageStore::records() const {
  std::vector<RecordIndex::Item> items;
  Segments segments;
  {
    const Lock lock(mutex_);
    items = index_.parents_first();
    segments = segments_;
  }
  std::vector<Record> records;
  records.reserve(items.size());
  std::unordered_set<int64_t> missing;
  RecordHeader header;
  for (const RecordIndex::Item& item : items) {
    const PageSegment& segment = *segments.at(item.place.segment);
    std::optional<RecordLabel> label;
    if (!missing.contains(item.parent) && segment.read(item.place.slot, header).ok())
      label = codec_.open_label(header);
    if (label && label->id == item.id && label->prefix() == item.prefix) {
      records.push_back({item.id, item.parent, std::move(label->scope), label->cells});
    } else {
      missing.insert(item.id);
    }
  }
  return records;
}

Result<RecordLabel> PageStore::label_for(int64_t parent, std::string_view scope,
                                         std::span<const PrefixCell> cells, Bytes payload,
                                         Bytes state) const {
  if (cells.size() != kPageTokens || payload.size() != codec_.payload_bytes())
    return fail(Code::invalid, "page store: {} cells in {} bytes; a page has {} in {}",
                cells.size(), payload.size(), kPageTokens, codec_.payload_bytes());
  if (!state.empty() && state.size() != codec_.state_bytes())
    return fail(Code::invalid, "page store: a state of {} bytes, not {}", state.size(),
                codec_.state_bytes());
  if (scope.size() > kMaxScopeBytes)
    return fail(Code::invalid, "page store: a scope of {} bytes; at most {}", scope.size(),
                kMaxScopeBytes);
  if (parent != RecordIndex::kNone && !scope.empty())
    return fail(Code::invalid, "page store: only first pages have a scope");
  RecordLabel label;
  label.parent = parent;
  label.scope = scope;
  label.has_state = !state.empty();
  std::ranges::copy(cells, label.cells.begin());
  const Lock lock(mutex_);
  const RecordIndex::Entry* const before = index_.find(parent);
  if (before == nullptr) return fail(Code::not_found, "page store: no record {}", parent);
  label.before = parent == RecordIndex::kNone ? prefix_of_scope(scope) : before->prefix;
  return label;
}

Result<int64_t> PageStore::append(int64_t parent, std::string_view scope,
                                  std::span<const PrefixCell> cells, Bytes payload, Bytes state) {
  {
    const Lock lock(mutex_);
    if (++n_appended_ % kAppendsPerTick == 0) ++tick_;
    index_.touch(parent, tick_);  // before room is made, which might cost it its place
  }
  RecordLabel label = TRY(label_for(parent, scope, cells, payload, state));
  TRY(make_room(label.has_state));
  TRY(begin_segment_when_full(label.has_state));
  const RecordIndex::Place place{active_->number(), active_->n_slots(), label.has_state};
  label.id = int64_t{place.segment} << 32 | place.slot;
  scratch_.assign(payload.begin(), payload.end());
  state_.assign(state.begin(), state.end());
  const RecordHeader header = codec_.close(label, scratch_);
  PageSegment::NewRecord record = {header, scratch_};
  if (label.has_state) {
    record.state_tag = codec_.close_state(header, label.id, state_);
    record.state = state_;
  }
  TRY(write(record));

  const Lock lock(mutex_);
  // The index must not name a record that its segment does not have, also when memory runs out.
  active_->records.push_back({place.slot, codec_.n_slots(label.has_state), RecordIndex::kNone});
  const bool linked = index_.insert(label.id, parent, label.prefix(), place);
  if (linked) active_->records.back().id = label.id;
  // It was removed to make room, or another thread found it damaged.
  if (!linked) return fail(Code::not_found, "page store: record {} is gone", parent);
  index_.touch(label.id, tick_);
  ++stats_.n_written;
  return label.id;
}

Status PageStore::begin_segment_when_full(bool has_state) {
  if (active_ && active_->n_bytes() + codec_.record_bytes(has_state) <= segment_bytes_) return {};
  if (active_ && unsynced_) TRY(active_->sync());
  unsynced_ = false;
  active_ = nullptr;
  if (next_number_ > INT32_MAX)
    return fail(Code::internal, "{}: no segment number is left; empty it", config_.folder);
  // The name may be taken by something other than a file.
  constexpr int kTries = 8;
  Result<std::shared_ptr<PageSegment>> made = fail(Code::internal, "not tried");
  for (int i = 0; i < kTries && !made && next_number_ <= INT32_MAX; ++i) {
    made = PageSegment::create(config_.folder, next_number_++, codec_);
  }
  const std::shared_ptr<PageSegment> segment = TRY(std::move(made));
  folder_unsynced_ = true;
  active_ = segment;
  const Lock lock(mutex_);
  stats_.n_bytes += segment->n_bytes();
  segments_.emplace(segment->number(), segment);
  return {};
}

Status PageStore::write(const PageSegment::NewRecord& record) {
  const int64_t n_before = active_->n_bytes();
  TRY(active_->append(record, zeros_));
  unsynced_ = true;
  const Lock lock(mutex_);
  stats_.n_bytes += active_->n_bytes() - n_before;
  return {};
}

// Begins early enough that the records worth keeping have been moved before the segment is removed:
// at most three quarters of a segment are moved, kMovesPerAppend for each record appended.
Status PageStore::make_room(bool has_state) {
  constexpr auto kHeader = static_cast<int64_t>(kSegmentHeaderBytes);
  const int64_t needed = codec_.record_bytes(has_state) + kHeader;
  // What is moved may have a state although what is appended has none.
  const int64_t with_move = needed + codec_.record_bytes(codec_.state_bytes() > 0) + kHeader;
  const auto over = [&](int64_t more, int64_t limit) { return stats().n_bytes + more > limit; };
  int n_moves = kMovesPerAppend;
  while (over(needed, config_.max_bytes - segment_bytes_)) {
    if (drop_ignored()) continue;
    if (!victim_ && !choose_victim()) break;
    bool worth_moving = !over(with_move, config_.max_bytes);
    while (worth_moving && !moving_.empty() && n_moves-- > 0) {
      // On a full disk, freeing space matters more than what would be moved.
      worth_moving = move_one() && !over(with_move, config_.max_bytes);
    }
    if (worth_moving && !moving_.empty()) break;  // continues with the next append
    drop_victim();
  }
  if (over(needed, config_.max_bytes))
    return fail(Code::out_of_memory, "{}: no segment can go to keep {} bytes", config_.folder,
                config_.max_bytes);
  return {};
}

bool PageStore::drop_ignored() {
  if (ignored_.empty()) return false;
  const IgnoredFile file = ignored_.back();
  ignored_.pop_back();
  const bool removed = remove_file(file.path);
  note(fmt::format("{}: {} to make room", file.path, removed ? "removed" : "cannot be removed"));
  const Lock lock(mutex_);
  if (removed) stats_.n_bytes -= file.n_bytes;
  return true;
}

// The segment whose removal loses the least for the space it frees: the one with the highest mean
// age of the slots that go, after its recently used records are moved. False: none can be removed.
bool PageStore::choose_victim() {
  const Lock lock(mutex_);
  const RecordIndex::Uses uses = index_.uses();
  double oldest = -1;
  for (const auto& [number, segment] : segments_) {
    if (segment == active_) continue;
    std::vector<PageSegment::Held> hot;
    int64_t n_hot_slots = 0;
    // What is in no record is as old as anything.
    double age =
        1 + static_cast<double>(segment->n_slots()) * static_cast<double>(tick_ - uses.oldest);
    for (const PageSegment::Held& held : segment->records) {
      const RecordIndex::Entry* const entry = find_live(held, number);
      const uint64_t used = entry != nullptr ? entry->used : uses.oldest;
      const bool is_hot = used > uses.median;
      age -= held.n_slots * static_cast<double>((is_hot ? tick_ : used) - uses.oldest);
      if (!is_hot) continue;
      hot.push_back(held);
      n_hot_slots += held.n_slots;
    }
    // If moving would free too little, the whole segment goes, but only when no other choice is
    // left.
    const int64_t n_slots = segment->n_slots();
    const bool worth_moving = n_hot_slots <= n_slots * 3 / 4;
    age = worth_moving ? age / static_cast<double>(n_slots - n_hot_slots + 1) : 0;
    if (age <= oldest) continue;
    oldest = age;
    victim_ = segment;
    moving_ = worth_moving ? std::move(hot) : std::vector<PageSegment::Held>();
  }
  return victim_ != nullptr;
}

// Copies a record unchanged, since a label does not contain its position. False: it cannot be
// written.
bool PageStore::move_one() {
  const PageSegment::Held held = moving_.back();
  moving_.pop_back();
  const bool has_state = held.n_slots > 1;
  RecordHeader header;
  scratch_.resize(codec_.payload_bytes());
  state_.resize(has_state ? codec_.state_bytes() : 0);
  {
    const Lock lock(mutex_);
    if (find_live(held, victim_->number()) == nullptr) return true;
  }
  if (!victim_->read(held.slot, header, scratch_).ok()) return true;
  PageSegment::NewRecord record = {header, scratch_};
  if (has_state) {
    if (!victim_->read_state(held.slot, record.state_tag, state_).ok()) return true;
    record.state = state_;
  }
  if (!begin_segment_when_full(has_state).ok()) return false;
  const RecordIndex::Place to{active_->number(), active_->n_slots(), has_state};
  if (!write(record).ok()) return false;
  const Lock lock(mutex_);
  active_->records.push_back({to.slot, held.n_slots, RecordIndex::kNone});
  if (find_live(held, victim_->number()) != nullptr) {
    index_.move(held.id, to);
    active_->records.back().id = held.id;
  }
  ++stats_.n_moved;
  return true;
}

// Removes the file first: after a crash the records are simply gone.
void PageStore::drop_victim() {
  moving_.clear();
  const std::shared_ptr<PageSegment> segment = std::exchange(victim_, nullptr);
  if (!remove_file(segment->file().path()))
    note(fmt::format("{}: cannot be removed", segment->file().path()));
  const Lock lock(mutex_);
  const size_t n_before = dropped_.size();
  for (const PageSegment::Held& held : segment->records) {
    if (find_live(held, segment->number()) != nullptr) index_.remove(held.id, dropped_);
  }
  stats_.n_dropped += static_cast<int64_t>(dropped_.size() - n_before);
  stats_.n_bytes -= segment->n_bytes();
  segments_.erase(segment->number());
}

Status PageStore::flush() {
  std::vector<std::shared_ptr<PageSegment>> used;
  {
    const Lock lock(mutex_);
    for (const auto& [number, segment] : segments_) {
      if (std::exchange(segment->used, false)) used.push_back(segment);
    }
  }
  for (const std::shared_ptr<PageSegment>& segment : used) segment->file().touch();
  if (unsynced_ && active_) TRY(active_->sync());
  unsynced_ = false;
  if (folder_unsynced_) TRY(sync_folder(config_.folder));
  folder_unsynced_ = false;
  return {};
}

Status PageStore::read(int64_t id, std::span<std::byte> payload, std::span<std::byte> state) const {
  if (payload.size() != codec_.payload_bytes())
    return fail(Code::invalid, "page store: a page has {} bytes, not {}", codec_.payload_bytes(),
                payload.size());
  if (!state.empty() && state.size() != codec_.state_bytes())
    return fail(Code::invalid, "page store: a state has {} bytes, not {}", codec_.state_bytes(),
                state.size());
  std::shared_ptr<const PageSegment> segment;  // its file stays open while it is dropped
  RecordIndex::Entry entry;
  {
    const Lock lock(mutex_);
    const RecordIndex::Entry* const found = index_.find(id);
    if (id == RecordIndex::kNone || found == nullptr)
      return fail(Code::not_found, "page store: no record {}", id);
    if (!state.empty() && !found->place.has_state)
      return fail(Code::not_found, "page store: record {} has no state", id);
    entry = *found;
    segment = segments_.at(entry.place.segment);
  }
  Status status = read_record(*segment, entry, id, payload, state);
  const Lock lock(mutex_);
  const RecordIndex::Entry* const now = index_.find(id);
  if (status.ok()) {
    ++stats_.n_read;
  } else if (now != nullptr && now->place == entry.place) {
    ++stats_.n_damaged;
    index_.remove(id, dropped_);
  }
  return status;
}

Status PageStore::read_record(const PageSegment& segment, const RecordIndex::Entry& entry,
                              int64_t id, std::span<std::byte> payload,
                              std::span<std::byte> state) const {
  const uint32_t slot = entry.place.slot;
  RecordHeader header;
  TRY(segment.read(slot, header, payload));
  const std::optional<RecordLabel> label = codec_.open_label(header);
  bool as_written = label && label->id == id && label->prefix() == entry.prefix &&
                    label->has_state == entry.place.has_state &&
                    codec_.open_payload(header, payload);
  if (as_written && !state.empty()) {
    StateTag tag;
    TRY(segment.read_state(slot, tag, state));
    as_written = codec_.open_state(header, id, tag, state);
  }
  if (as_written) return {};
  return fail(Code::corrupt, "{}: offset {}: the page record is damaged", segment.file().path(),
              segment.offset_of(slot));
}

bool PageStore::has_state(int64_t id) const {
  const Lock lock(mutex_);
  const RecordIndex::Entry* const entry = index_.find(id);
  return id != RecordIndex::kNone && entry != nullptr && entry->place.has_state;
}

void PageStore::touch(int64_t id) {
  const Lock lock(mutex_);
  const RecordIndex::Entry* const entry = index_.find(id);
  if (id == RecordIndex::kNone || entry == nullptr) return;
  segments_.at(entry->place.segment)->used = true;
  index_.touch(id, tick_);
}

std::vector<int64_t> PageStore::take_dropped() {
  const Lock lock(mutex_);
  return std::exchange(dropped_, {});
}

PageStore::Stats PageStore::stats() const {
  const Lock lock(mutex_);
  Stats stats = stats_;
  stats.n_records = index_.n_records();
  stats.n_segments = static_cast<int64_t>(segments_.size());
  return stats;
}

}  // namespace ruv

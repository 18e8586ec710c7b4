#include "device/weight_pager.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "base/check.h"

namespace ruv {
namespace {

// Room is asked for again after this many layers, a few steps.
constexpr int64_t kLayersOfPeriod = 64;
// What passes has at least this share of the room.
constexpr int64_t kShareToPass = 16;
// A use counts half after n times the bytes of the file were used. More: what is kept
// follows a change of texts later; fewer: it follows chance.
constexpr double kHalfLife = 32;
// How much more a use counts of a part that is all of the file.
constexpr double kWorthOfSize = 4;
// Uses are counted anew, in smaller numbers, when the unit has grown so far.
constexpr double kLargestUnit = 0x1p64;

}  // namespace

WeightPager::WeightPager(std::shared_ptr<const MappedFile> file, std::function<int64_t()> room)
    : file_(std::move(file)), ask_room_(std::move(room)), room_(ask_room_()) {}

bool WeightPager::contains(Bytes bytes) const {
  const Bytes all = file_->bytes();
  const std::less_equal<> precedes;
  return precedes(all.data(), bytes.data()) &&
         precedes(bytes.data() + bytes.size(), all.data() + all.size());
}

WeightPager::Part& WeightPager::part_of(Bytes bytes) {
  std::unique_ptr<Part>& part = parts_[bytes.data()];
  if (part == nullptr) part = std::make_unique<Part>(Part{.bytes = bytes});
  CHECK(part->size() == std::ssize(bytes));
  return *part;
}

void WeightPager::adopt(std::vector<Bytes> parts) {
  const Lock lock(mutex_);
  std::ranges::stable_sort(parts, std::greater(), [](Bytes part) {
    return std::pair(part.size(), MappedFile::is_in_memory(part));
  });
  for (const Bytes bytes : parts) {
    if (!keep(part_of(bytes))) file_->forget(bytes);
  }
}

void WeightPager::begin_layer() {
  const Lock lock(mutex_);
  if (++n_layers_ % kLayersOfPeriod != 0) return;
  room_ = ask_room_();
  peaks_before_ = std::exchange(peaks_, {});
}

void WeightPager::use(std::span<Use> uses) {
  const Lock lock(mutex_);
  to_read_.clear();
  int64_t n_to_pass = 0;
  bool was_taken = false;
  for (Use& use : uses) {
    if (!contains(use.bytes)) continue;
    Part& part = part_of(use.bytes);
    part.last_layer = n_layers_;
    const bool was_held = part.state != State::absent && !part.is_new;
    use.lacking = !was_held || !MappedFile::is_in_memory(part.bytes);
    was_taken |= use.lacking && was_held;
    part.is_new = false;
    if (part.state != State::kept && !keep(part)) pass(part);
    count_use(part);
    if (!use.lacking) continue;
    stats_.n_read += part.size();
    if (part.state == State::passing) n_to_pass += part.size();
    to_read_.push_back(part.bytes);
  }
  peaks_.read = std::max(peaks_.read, n_to_pass);
  // The system has taken memory that was counted on.
  if (was_taken) room_ = ask_room_();
  for (const Bytes bytes : to_read_) MappedFile::expect_read(bytes);
  // While the disk reads.
  give_up();
}

void WeightPager::count_use(Part& part) {
  const auto node = part.state == State::kept ? kept_.extract(&part) : decltype(kept_)::node_type();
  // A part that is not kept needs its size to pass: large ones are worth more of it.
  const double share =
      static_cast<double>(part.size()) / static_cast<double>(file_->bytes().size());
  part.uses += unit_ * (1 + kWorthOfSize * share);
  if (part.state == State::kept) kept_.insert(&part);
  stats_.n_used += part.size();
  unit_ *= std::exp2(share / kHalfLife);
  if (unit_ < kLargestUnit) return;
  kept_.clear();
  for (const auto& [start, any] : parts_) any->uses /= unit_;
  for (const auto& [start, any] : parts_) {
    if (any->state == State::kept) kept_.insert(any.get());
  }
  unit_ = 1;
}

bool WeightPager::keep(Part& part) {
  while (stats_.n_kept + part.size() > room_to_keep()) {
    if (kept_.empty() || !((*kept_.begin())->uses < part.uses)) return false;
    give_up_one_kept();
  }
  if (part.state == State::passing) {
    std::erase(passing_, &part);
    stats_.n_passing -= part.size();
  }
  part.state = State::kept;
  stats_.n_kept += part.size();
  kept_.insert(&part);
  return true;
}

// One that passes already is given up as late as one that was read now.
void WeightPager::pass(Part& part) {
  if (part.state == State::passing) {
    std::erase(passing_, &part);
  } else {
    stats_.n_passing += part.size();
  }
  part.state = State::passing;
  passing_.push_back(&part);
}

void WeightPager::give_up_one_kept() {
  Part& part = **kept_.begin();
  kept_.erase(kept_.begin());
  stats_.n_kept -= part.size();
  part.state = State::passing;
  stats_.n_passing += part.size();
  if (is_used(part)) {
    passing_.push_back(&part);
  } else {
    passing_.push_front(&part);
  }
}

void WeightPager::give_up() {
  while (stats_.n_kept > room_to_keep() && !kept_.empty()) give_up_one_kept();
  while (stats_.n_passing > room_to_pass() && !is_used(*passing_.front())) {
    Part& part = *passing_.front();
    passing_.pop_front();
    stats_.n_passing -= part.size();
    part.state = State::absent;
    file_->forget(part.bytes);
  }
  int64_t n_used = 0;
  for (const Part* part : passing_) n_used += is_used(*part) ? part->size() : 0;
  peaks_.used = std::max(peaks_.used, n_used);
}

int64_t WeightPager::room_to_pass() const {
  return std::max({room_ / kShareToPass, peaks_.used, peaks_before_.used});
}

int64_t WeightPager::room_to_keep() const {
  return std::max<int64_t>(0, room_ - room_to_pass() - std::max(peaks_.read, peaks_before_.read));
}

WeightPager::Stats WeightPager::stats() const {
  const Lock lock(mutex_);
  return stats_;
}

}  // namespace ruv

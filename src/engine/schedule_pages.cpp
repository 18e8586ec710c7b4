#include "engine/schedule_pages.h"

namespace ruv {

PageAccount::PageAccount(const ScheduleSnapshot& snapshot)
    : limits_(snapshot.limits),
      n_pages_(snapshot.n_pages),
      available_(snapshot.n_free_pages + snapshot.n_evictable_pages) {}

bool PageAccount::has_room_for(const SequenceView& v) const {
  const int64_t left = available_ - promised_ - whole(v);
  if (left < 0) return false;
  const auto total = static_cast<double>(n_pages_);
  return total - static_cast<double>(left) <= limits_.high_watermark * total || n_pages_ == 0;
}

bool PageAccount::admits(bool admitted_before) const {
  const auto total = static_cast<double>(n_pages_);
  const double held = total - static_cast<double>(available_);
  if (n_pages_ == 0 || held <= limits_.low_watermark * total) return true;
  return admitted_before && held < limits_.high_watermark * total;
}

}  // namespace ruv

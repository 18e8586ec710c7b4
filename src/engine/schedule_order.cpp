#include "engine/schedule_order.h"

#include <algorithm>
#include <limits>

namespace ruv {
namespace {

// Classes gained by waiting, not bounded by critical.
int64_t classes_gained(int64_t waited_ms, const SchedulerLimits& limits) {
  return limits.ageing_ms > 0 ? waited_ms / limits.ageing_ms : 0;
}

int class_after(const SequenceView& view, int64_t waited_ms, const SchedulerLimits& limits) {
  const int64_t aged = static_cast<int64_t>(view.priority) + classes_gained(waited_ms, limits);
  return static_cast<int>(std::min<int64_t>(aged, kPriorityClasses - 1));
}

int64_t deadline_of(const SequenceView& view) {
  return view.left_ms < 0 ? std::numeric_limits<int64_t>::max() : view.left_ms;
}

}  // namespace

int class_of(const SequenceView& view, const SchedulerLimits& limits) {
  return class_after(view, view.waited_ms, limits);
}

bool is_overdue(const SequenceView& view, const SchedulerLimits& limits) {
  return classes_gained(view.waited_ms, limits) >= kPriorityClasses;
}

bool starts_before(const SequenceView& a, const SequenceView& b, const SchedulerLimits& limits) {
  if (is_more_urgent(a, b, limits)) return true;
  if (is_more_urgent(b, a, limits) || is_overdue(a, limits)) return false;
  return a.n_computed / limits.page_tokens > b.n_computed / limits.page_tokens;
}

bool starts_before(const TenantsNext& a, const TenantsNext& b, const SchedulerLimits& limits) {
  const auto class_of_next = [&](const TenantsNext& next) {
    const int64_t waited_ms = std::min(next.view.waited_ms, next.tenant.unserved_ms);
    return class_after(next.view, waited_ms, limits);
  };
  const int class_a = class_of_next(a);
  const int class_b = class_of_next(b);
  return class_a != class_b ? class_a > class_b : a.tenant.served < b.tenant.served;
}

bool is_more_urgent(const SequenceView& a, const SequenceView& b, const SchedulerLimits& limits) {
  const int class_a = class_of(a, limits);
  const int class_b = class_of(b, limits);
  if (class_a != class_b) return class_a > class_b;
  const bool overdue_a = is_overdue(a, limits);
  const bool overdue_b = is_overdue(b, limits);
  if (overdue_a || overdue_b) return overdue_a && !overdue_b;
  return deadline_of(a) < deadline_of(b);
}

}  // namespace ruv

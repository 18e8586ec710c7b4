// schedule_order: the order of sequences for starting, progress and preemption, as comparisons of
// two of them. Each returns false for equals, which the caller leaves in order of arrival.
#pragma once

#include "engine/schedule.h"

namespace ruv {

inline constexpr int kPriorityClasses = 4;

// Whether the sequence decodes: it needs one row for its next token. Others have a prompt, or what
// was preempted, to compute.
inline bool decodes(const SequenceView& v) { return v.n_computed + 1 == v.n_tokens; }

// The priority, raised by one for each ageing_ms waited, at most critical.
int class_of(const SequenceView& view, const SchedulerLimits& limits);
// Whether it waited longer than the lowest class needs to become critical; then only its age
// counts.
bool is_overdue(const SequenceView& view, const SchedulerLimits& limits);

// Which of two waiting sequences of a tenant starts first: by class, then overdue, then earliest
// deadline, then longest cached prefix.
bool starts_before(const SequenceView& a, const SequenceView& b, const SchedulerLimits& limits);

// Which of the next requests of two tenants starts first: by class, then the tenant that was served
// less. Age counts only since the tenant was last served, so queueing more gains nothing.
struct TenantsNext {
  const SequenceView& view;
  const TenantView& tenant;
};
bool starts_before(const TenantsNext& a, const TenantsNext& b, const SchedulerLimits& limits);

// Which of two prompts in prefill must advance first: by class, overdue, deadline.
bool is_more_urgent(const SequenceView& a, const SequenceView& b, const SchedulerLimits& limits);

}  // namespace ruv

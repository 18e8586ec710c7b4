// schedule_order: who goes first and who gives way, as comparisons of two sequences. Each is false
// for equals, whom the caller leaves in order of arrival.
#pragma once

#include "engine/schedule.h"

namespace ruv {

inline constexpr int kPriorityClasses = 4;

// Needs one row for its next token; others have a prompt, or what was preempted, to compute.
inline bool decodes(const SequenceView& v) { return v.n_computed + 1 == v.n_tokens; }

// The priority, one higher for each ageing_ms waited, at most critical.
int class_of(const SequenceView& view, const SchedulerLimits& limits);
// Waited for longer than it takes the lowest to become critical: goes by its age alone.
bool is_overdue(const SequenceView& view, const SchedulerLimits& limits);

// Of two waiting ones of a tenant, which starts first: class, then the overdue, then the earliest
// deadline, then the longest cached prefix.
bool starts_before(const SequenceView& a, const SequenceView& b, const SchedulerLimits& limits);

// Of the next ones of two tenants, which starts first: class, then the tenant that was served less.
// Age counts only since the tenant was last served: who queues much does not get more by it.
struct TenantsNext {
  const SequenceView& view;
  const TenantView& tenant;
};
bool starts_before(const TenantsNext& a, const TenantsNext& b, const SchedulerLimits& limits);

// Of two prompts in computation, which one the step must bring forward: class, overdue, deadline.
bool is_more_urgent(const SequenceView& a, const SequenceView& b, const SchedulerLimits& limits);

}  // namespace ruv

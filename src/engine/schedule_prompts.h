// schedule_prompts: distributes the rows of a step among prompts. Higher classes go first. Within a
// class the most urgent prompt gets at least half, so that it always advances; the shortest of the
// others gets the rest, so that a short prompt need not wait for a long one.
#pragma once

#include <span>

#include "engine/schedule_budget.h"
#include "engine/schedule_pages.h"

namespace ruv {

class PromptSharing {
 public:
  PromptSharing(const SchedulerLimits& limits, PageAccount& pages, StepBudget& budget,
                std::vector<StepPlan::Rows>& rows)
      : limits_(limits), pages_(pages), budget_(budget), rows_(rows) {}

  // Appends the rows of `prompts`, and sorts these by urgency. Requires: their pages are promised.
  void share(std::span<StepPlan::Prompt> prompts);

 private:
  void share_in_class(std::span<StepPlan::Prompt> prompts, bool first_class);
  void plan_others(std::span<StepPlan::Prompt> others);
  // at_least: rows that are planned even if the step's time is spent, as long as rows and pages are
  // left.
  void plan_chunk(StepPlan::Prompt& prompt, int64_t at_least);
  int64_t rows_of_chunk(const StepPlan::Prompt& prompt, int64_t at_least) const;
  int64_t missing(const StepPlan::Prompt& prompt) const {
    return pages_.missing(prompt.n_pages, prompt.view->n_tokens + 1);
  }

  const SchedulerLimits& limits_;
  PageAccount& pages_;
  StepBudget& budget_;
  std::vector<StepPlan::Rows>& rows_;
  int64_t kept_back_ = 0;  // pages that only the most urgent prompt may take
};

}  // namespace ruv

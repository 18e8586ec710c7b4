#include "engine/schedule_prompts.h"

#include <algorithm>

#include "engine/schedule_order.h"

namespace ruv {
namespace {

int64_t n_remaining(const StepPlan::Prompt& prompt) {
  return prompt.view->n_tokens - prompt.view->n_computed;
}

// A chunk that ends inside a prompt ends with a page where that costs at most an eighth of it, and
// else, if it is not small, is a multiple of the rows that kernels take together.
int64_t rounded(int64_t first, int64_t n, int64_t page_tokens) {
  constexpr int64_t kRowTile = 4;
  const int64_t over = (first + n) % page_tokens;
  if (over * 8 <= n) return n - over;
  return n > 4 * kRowTile ? n - n % kRowTile : n;
}

// The range that must be computed whole and has tokens on both sides of `at`; null: none.
const Range* whole_around(const SequenceView& view, int64_t at) {
  const auto found =
      std::ranges::find_if(view.whole, [&](const Range& r) { return r.begin < at && at < r.end; });
  return found == view.whole.end() ? nullptr : &*found;
}

bool begins_whole(const SequenceView& view) {
  return whole_around(view, view.n_computed + 1) != nullptr;
}

}  // namespace

void PromptSharing::share(std::span<StepPlan::Prompt> prompts) {
  // By sequence where equally urgent: std::stable_sort would allocate.
  std::ranges::sort(prompts, [&](const StepPlan::Prompt& a, const StepPlan::Prompt& b) {
    if (is_more_urgent(*a.view, *b.view, limits_)) return true;
    return !is_more_urgent(*b.view, *a.view, limits_) && a.sequence < b.sequence;
  });
  for (size_t begin = 0; begin < prompts.size();) {
    const int group = class_of(*prompts[begin].view, limits_);
    size_t end = begin + 1;
    while (end < prompts.size() && class_of(*prompts[end].view, limits_) == group) ++end;
    share_in_class(prompts.subspan(begin, end - begin), begin == 0);
    begin = end;
  }
}

void PromptSharing::share_in_class(std::span<StepPlan::Prompt> prompts, bool first_class) {
  StepPlan::Prompt& urgent = prompts.front();
  const int64_t at_least = first_class ? limits_.min_chunk_tokens : 0;
  const std::span<StepPlan::Prompt> others = prompts.subspan(1);
  if (first_class) kept_back_ = missing(urgent);
  budget_.set_half_aside();
  // A whole range may need more than half of the rows.
  const bool ends =
      begins_whole(*urgent.view) ||
      n_remaining(urgent) <= budget_.rows_for(urgent.view->n_computed, n_remaining(urgent));
  if (!ends) plan_others(others);
  budget_.release_half();
  if (first_class) kept_back_ = 0;
  plan_chunk(urgent, at_least);
  if (first_class) kept_back_ = missing(urgent);
  if (ends) plan_others(others);
}

void PromptSharing::plan_others(std::span<StepPlan::Prompt> others) {
  std::ranges::sort(others, [](const StepPlan::Prompt& a, const StepPlan::Prompt& b) {
    return std::pair(n_remaining(a), a.sequence) < std::pair(n_remaining(b), b.sequence);
  });
  for (StepPlan::Prompt& prompt : others) plan_chunk(prompt, 0);
}

int64_t PromptSharing::rows_of_chunk(const StepPlan::Prompt& prompt, int64_t at_least) const {
  const SequenceView& view = *prompt.view;
  const int64_t first = view.n_computed;
  int64_t wanted = n_remaining(prompt);
  if (view.max_rows > 0) wanted = std::min(wanted, view.max_rows);
  const int64_t due = std::min({at_least, wanted, budget_.n_rows_free()});
  const int64_t holds = (prompt.n_pages + pages_.available() - kept_back_) * limits_.page_tokens;
  int64_t n = std::min(std::max(budget_.rows_for(first, wanted), due), holds - first);
  if (n < wanted) n = rounded(first, n, limits_.page_tokens);
  if (const Range* const whole = whole_around(view, first + n); whole != nullptr) {
    n = whole->begin - first;
    const int64_t n_whole = whole->end - first;
    if (n == 0 && due > 0 && n_whole <= std::min(budget_.n_rows_free(), holds - first))
      return n_whole;
  }
  // Crumbs cost more than they bring.
  return due == 0 && n < std::min(wanted, limits_.useful_chunk_tokens / 2) ? 0 : n;
}

void PromptSharing::plan_chunk(StepPlan::Prompt& prompt, int64_t at_least) {
  const int64_t first = prompt.view->n_computed;
  const int64_t n = rows_of_chunk(prompt, at_least);
  if (n <= 0) return;
  const int64_t n_new = pages_.missing(prompt.n_pages, first + n);
  pages_.take(n_new);
  pages_.promise(-n_new);
  prompt.n_pages += n_new;
  budget_.spend(StepShape::of(first, n));
  rows_.push_back({prompt.sequence, n, 0});
}

}  // namespace ruv

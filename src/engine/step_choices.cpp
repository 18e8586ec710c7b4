// Where only the largest logit counts, a row is cut in parts, so that one row is work for all
// threads too. Parts are whole blocks of argmax: cut rows give what whole ones give.
#include "engine/step_choices.h"

#include <algorithm>
#include <limits>

#include "base/allocation.h"

namespace ruv {
namespace {

constexpr int64_t kPart = 32 * kArgmaxBlock;

}  // namespace

StepChoices::StepChoices(int64_t max_rows, int64_t n_vocab) {
  items_.reserve(static_cast<size_t>(max_rows * ((n_vocab + kPart - 1) / kPart)));
}

void StepChoices::add(Sequence& sequence, int64_t row, std::span<float> logits) {
  if (!sequence.wants_likeliest(row)) {
    items_.push_back({&sequence, row, logits, kChooses});
    items_.back().follows = row > 0 && sequence.chooses_in_order();
    return;
  }
  logits = logits.first(static_cast<size_t>(sequence.n_vocab()));
  for (size_t first = 0; first < logits.size(); first += kPart) {
    const size_t n = std::min<size_t>(kPart, logits.size() - first);
    items_.push_back({&sequence, row, logits.subspan(first, n), static_cast<Token>(first)});
  }
}

void StepChoices::add_scored(Sequence& sequence, int64_t i, std::span<float> logits) {
  items_.push_back({&sequence, i, logits, kScores});
}

void StepChoices::choose(Item& item, SampleScratch& scratch) {
  if (item.first >= 0) {
    item.likeliest = argmax(item.logits);
    return;
  }
  // Without memory the row stays without a choice or a score.
  (void)try_allocating([&] {
    if (item.first == kScores) return item.sequence->score(item.row, item.logits);
    item.sequence->choose(item.row, item.logits, scratch);
  });
}

void StepChoices::choose_with_followers(size_t i, SampleScratch& scratch) {
  if (items_[i].follows) return;
  do {
    choose(items_[i++], scratch);
  } while (i < items_.size() && items_[i].follows);
}

// Joins the parts of one row, from item i on. Returns the first item of the next row.
size_t StepChoices::choose_of_parts(size_t i) {
  Sequence* const sequence = items_[i].sequence;
  const int64_t row = items_[i].row;
  Token id = 0;
  float best = -std::numeric_limits<float>::infinity();
  for (; i < items_.size() && items_[i].sequence == sequence && items_[i].row == row; ++i) {
    const float logit = items_[i].logits[static_cast<size_t>(items_[i].likeliest)];
    if (!(logit > best)) continue;
    best = logit;
    id = items_[i].first + items_[i].likeliest;
  }
  sequence->choose(row, id);
  return i;
}

void StepChoices::choose(Executor& executor) {
  scratch_.resize(static_cast<size_t>(executor.n_threads()));
  executor.each(std::ssize(items_), [this](int thread, int64_t i) {
    choose_with_followers(static_cast<size_t>(i), scratch_[static_cast<size_t>(thread)]);
  });
  for (size_t i = 0; i < items_.size();) i = items_[i].first < 0 ? i + 1 : choose_of_parts(i);
}

}  // namespace ruv

// Where only the largest logit counts, a row is cut in parts, so that one row is work for all
// threads too. Parts are whole blocks of argmax: cut rows give what whole ones give.
#include "engine/step_choices.h"

#include <algorithm>
#include <limits>
#include <new>

#include "base/allocation.h"

namespace ruv {
namespace {

constexpr int64_t kPart = 32 * kArgmaxBlock;

}  // namespace

StepChoices::StepChoices(int64_t max_sequences, int64_t n_vocab) {
  items_.reserve(static_cast<size_t>(max_sequences * ((n_vocab + kPart - 1) / kPart)));
}

void StepChoices::add(Sequence& sequence, std::span<float> logits) {
  if (!sequence.wants_likeliest()) {
    items_.push_back({&sequence, logits, -1});
    return;
  }
  logits = logits.first(static_cast<size_t>(sequence.n_vocab()));
  for (size_t first = 0; first < logits.size(); first += kPart) {
    const size_t n = std::min<size_t>(kPart, logits.size() - first);
    items_.push_back({&sequence, logits.subspan(first, n), static_cast<Token>(first)});
  }
}

void StepChoices::choose(Item& item) {
  if (item.first >= 0) {
    item.likeliest = argmax(item.logits);
    return;
  }
  if (!try_allocating([&] { item.sequence->choose(item.logits); })) item.sequence->fail_choosing();
}

void StepChoices::choose(Executor& executor) {
  executor.each(std::ssize(items_), [this](int64_t i) { choose(items_[static_cast<size_t>(i)]); });
  for (size_t i = 0; i < items_.size();) {
    Sequence* const sequence = items_[i].sequence;
    if (items_[i].first < 0) {
      ++i;
      continue;
    }
    Token id = 0;
    float best = -std::numeric_limits<float>::infinity();
    for (; i < items_.size() && items_[i].sequence == sequence; ++i) {
      const float logit = items_[i].logits[static_cast<size_t>(items_[i].likeliest)];
      if (!(logit > best)) continue;
      best = logit;
      id = items_[i].first + items_[i].likeliest;
    }
    sequence->choose(id);
  }
}

}  // namespace ruv

#include "grammar/mask/state_rows.h"

namespace ruv {
namespace {

// Rows that are kept.
constexpr size_t kMaxRows = 16384;

}  // namespace

Language StateRows::after_new(Language language, uint8_t byte) {
  const std::span<const Languages::Arc> arcs = languages_.arcs(language);
  if (arcs.size() > kFewArcs) return row(language)[byte];
  Language next = Language::nothing;
  for (const Languages::Arc& arc : arcs) {
    if (arc.bytes.has(byte)) next = arc.next;
  }
  return languages_.is_nothing(next) ? Language::nothing : next;
}

// All derivatives of a language at once; those that lead nowhere are left out.
const StateRows::Row& StateRows::row(Language language) {
  const auto index = static_cast<size_t>(language);
  if (index < rows_.size() && rows_[index]) return *rows_[index];
  auto made = std::make_unique<Row>();
  made->fill(Language::nothing);
  const std::span<const Languages::Arc> span = languages_.arcs(language);
  const std::vector<Languages::Arc> arcs(span.begin(), span.end());
  for (const Languages::Arc& arc : arcs) {
    if (languages_.is_nothing(arc.next)) continue;
    arc.bytes.for_each([&](uint8_t byte) { (*made)[byte] = arc.next; });
  }
  if (index >= rows_.size()) rows_.resize(std::max(languages_.size(), 2 * rows_.size()));
  ++n_rows_;
  return *(rows_[index] = std::move(made));
}

void StateRows::forget_many() {
  if (n_rows_ < kMaxRows) return;
  rows_.clear();
  n_rows_ = 0;
}

}  // namespace ruv

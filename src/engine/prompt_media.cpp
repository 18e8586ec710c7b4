#include "engine/prompt_media.h"

namespace ruv {
namespace {

int64_t length(Range range) { return range.end - range.begin; }

// Text never gets a position beyond its place then, so that a context has room for both.
bool fits(const Position& position, int64_t n_rows) {
  return std::ranges::all_of(position, [&](int32_t at) { return at >= 0 && at < n_rows; });
}

Status check_span(const MediaSpan& span, const MediaLimits& limits) {
  const int64_t n = length(span.rows);
  const int64_t n_bytes = n * limits.n_embd * int64_t{sizeof(float)};
  if (std::ssize(span.cells) != n || std::ssize(span.positions) != n ||
      span.embeddings.n_bytes != n_bytes) {
    return fail(Code::invalid,
                "medium at {}: {} cells, {} positions and {} bytes of embeddings for {} rows of {}",
                span.rows.begin, span.cells.size(), span.positions.size(), span.embeddings.n_bytes,
                n, limits.n_embd);
  }
  if (!std::ranges::all_of(span.cells, &PrefixCell::is_content)) {
    return fail(Code::invalid, "medium at {}: a cell is not one of a medium", span.rows.begin);
  }
  const auto fits_rows = [&](const Position& position) { return fits(position, n); };
  if (!std::ranges::all_of(span.positions, fits_rows)) {
    return fail(Code::invalid, "medium at {}: a position is not within its {} rows",
                span.rows.begin, n);
  }
  if (!span.whole || n <= limits.max_whole) return {};
  return fail(Code::invalid,
              "medium at {}: {} rows must be computed in one step, which has room for {}; raise "
              "max_batch_tokens",
              span.rows.begin, n, limits.max_whole);
}

}  // namespace

Status check_media(std::span<const MediaSpan> spans, const MediaLimits& limits) {
  int64_t least = 0;
  for (const MediaSpan& span : spans) {
    const Range rows = span.rows;
    if (rows.begin < least || rows.end <= rows.begin || rows.end > limits.n_prompt) {
      return fail(Code::invalid, "medium at {}: rows up to {}, after {} of {} places", rows.begin,
                  rows.end, least, limits.n_prompt);
    }
    least = rows.end;
    TRY(check_span(span, limits));
  }
  return {};
}

PromptMedia::PromptMedia(std::vector<MediaSpan> spans) : spans_(std::move(spans)) {
  next_position_.reserve(spans_.size());
  int64_t n_before = 0;  // places before this span, and the position of a token there
  int64_t position = 0;
  for (MediaSpan& span : spans_) {
    const auto first = static_cast<int32_t>(position + span.rows.begin - n_before);
    int32_t last = first;
    for (Position& at : span.positions) {
      for (int32_t& axis : at) last = std::max(last, axis += first);
    }
    position = last + 1;
    n_before = span.rows.end;
    next_position_.push_back(position);
    if (span.whole) whole_.push_back(span.rows);
  }
}

int64_t PromptMedia::edge_before(int64_t place) const {
  const auto is_around = [&](const Range& r) { return r.begin < place && place < r.end; };
  const auto found = std::ranges::find_if(whole_, is_around);
  return found == whole_.end() ? place : found->begin;
}

int64_t PromptMedia::position_of(int64_t place) const {
  const auto after = std::ranges::upper_bound(spans_, place, {},
                                              [](const MediaSpan& span) { return span.rows.end; });
  if (after == spans_.begin()) return place;
  const auto i = static_cast<size_t>(after - spans_.begin()) - 1;
  return next_position_[i] + place - spans_[i].rows.end;
}

void PromptMedia::write_cells(std::span<PrefixCell> cells) const {
  for (const MediaSpan& span : spans_) {
    std::ranges::copy(span.cells, cells.begin() + span.rows.begin);
  }
}

int64_t PromptMedia::n_equal(const PromptMedia& other, int64_t n) const {
  const auto begin_of = [&](const PromptMedia& media, size_t i) {
    return i < media.spans_.size() ? std::min(n, media.spans_[i].rows.begin) : n;
  };
  for (size_t i = 0;; ++i) {
    const int64_t begin = begin_of(*this, i);
    const int64_t other_begin = begin_of(other, i);
    if (begin != other_begin || begin == n) return std::min(begin, other_begin);
    const std::vector<PrefixCell>& cells = spans_[i].cells;
    const std::vector<PrefixCell>& others = other.spans_[i].cells;
    if (cells == others) continue;
    const auto differ = std::ranges::mismatch(cells, others).in1;
    return std::min(n, begin + (differ - cells.begin()));
  }
}

}  // namespace ruv

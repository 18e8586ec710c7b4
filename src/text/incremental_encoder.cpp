// Sections are compared by place, id and bytes; the first that differs ends what is kept.
#include "text/incremental_encoder.h"

#include <algorithm>

namespace ruv {

IncrementalEncoder::IncrementalEncoder(std::shared_ptr<const Tokenizer> tokenizer)
    : tokenizer_(std::move(tokenizer)),
      sections_of_(dynamic_cast<const SectionTokenizer*>(tokenizer_.get())) {}

const std::vector<Token>& IncrementalEncoder::encode(std::span<const TextPart> parts) {
  n_kept_ = 0;
  if (sections_of_ == nullptr) {
    ids_.clear();
    tokenizer_->encode_parts(parts, false, ids_);
    return ids_;
  }
  SectionTokenizer::Layout layout;
  sections_of_->lay_out(parts, false, layout);
  const auto differ =
      std::mismatch(text_.begin(), text_.end(), layout.text.begin(), layout.text.end());
  const auto n_same = static_cast<size_t>(differ.first - text_.begin());
  size_t kept = 0;
  while (kept < std::min(sections_.size(), layout.sections.size())) {
    const Section& old = sections_[kept];
    const Section& now = layout.sections[kept];
    if (old != now || now.end > n_same) break;
    ++kept;
  }
  n_kept_ = kept == 0 ? 0 : ends_[kept - 1];
  ids_.resize(n_kept_);
  ends_.resize(kept);
  TokenSink sink(&ids_);
  for (size_t i = kept; i < layout.sections.size(); ++i) {
    sections_of_->encode_section(layout, i, sink);
    ends_.push_back(ids_.size());
  }
  if (layout.text.size() <= kMaxRemembered) {
    text_ = layout.text;
    sections_ = std::move(layout.sections);
  } else {
    std::string().swap(text_);
    std::vector<Section>().swap(sections_);
  }
  return ids_;
}

}  // namespace ruv

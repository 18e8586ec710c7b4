// Cuts a prompt at added tokens, before and after normalisation.
#include "text/section_tokenizer.h"

#include "base/check.h"

namespace ruv {

SectionTokenizer::SectionTokenizer(TokenizerSpec spec) : Tokenizer(std::move(spec)) {
  make_normalizer();
  as_written_ = select(false);
  normalized_ = select(true);
}

void SectionTokenizer::make_normalizer() {
  Result<Normalizer> made = Normalizer::create(spec_.normalizers);
  if (made) {
    normalizer_ = std::move(*made);
  } else {
    normalizer_status_ = made.error();
  }
}

AddedTokens SectionTokenizer::select(bool normalized) const {
  std::vector<AddedToken> selected;
  NormalizedText changed;
  for (const AddedToken& token : spec_.added) {
    // Control tokens are always matched as written: only then is it known which part they stand in.
    const bool needs_normalized_text = !normalizer_.empty() && token.normalized && !token.special;
    if (needs_normalized_text != normalized) continue;
    selected.push_back(token);
    if (!normalized) continue;
    normalizer_.apply(token.text, false, changed);
    selected.back().text = changed.text;
  }
  return AddedTokens(std::move(selected));
}

template <class OnText>
void SectionTokenizer::cut(const AddedTokens& tokens, std::string_view text,
                           std::span<const SpecialRange> ranges, Before before, TokenSink& sink,
                           const OnText& on_text) const {
  std::vector<Section> sections;
  tokens.split(text, ranges, sections);
  const size_t base = sink.at();
  for (const Section& section : sections) {
    sink.move_to(base + section.begin);
    if (section.id >= 0) {
      sink.push(section.id, section.end - section.begin);
    } else {
      on_text(text.substr(section.begin, section.end - section.begin), before);
    }
    before = section.id >= 0 ? Before::added_token : Before::text;
  }
  sink.move_to(base + text.size());
}

void SectionTokenizer::encode_parts(std::span<const TextPart> parts, bool continues,
                                    TokenSink& sink) const {
  const Before before = continues ? Before::text : Before::nothing;
  std::vector<SpecialRange> ranges;
  std::string joined;
  size_t end = 0;
  for (const TextPart& part : parts) {
    if (part.text.empty()) continue;
    end += part.text.size();
    if (!ranges.empty() && ranges.back().special == part.special) {
      ranges.back().end = end;
    } else {
      ranges.push_back({end, part.special});
    }
    if (parts.size() > 1) joined += part.text;
  }
  CHECK(end < (size_t{1} << 31));
  if (end == 0) return;
  sink.expect(end);
  cut(as_written_, parts.size() > 1 ? joined : parts.front().text, ranges, before, sink,
      [&](std::string_view section, Before place) { encode_plain(section, place, sink); });
}

void SectionTokenizer::encode_plain(std::string_view text, Before before, TokenSink& sink) const {
  if (!normalizer_.may_change(text)) return encode_normalized(text, before, sink);
  NormalizedText changed;
  normalizer_.apply(text, sink.keeps_spans(), changed);
  const SpanMap map(sink);
  if (!changed.text.empty()) encode_normalized(changed.text, before, sink);
  map.trace(sink, changed.origin, true);
}

void SectionTokenizer::encode_normalized(std::string_view text, Before before,
                                         TokenSink& sink) const {
  if (normalized_.empty()) return encode_section(text, before, sink);
  const SpecialRange range{text.size(), SpecialParsing::off};
  cut(normalized_, text, {&range, 1}, before, sink,
      [&](std::string_view section, Before place) { encode_section(section, place, sink); });
}

}  // namespace ruv

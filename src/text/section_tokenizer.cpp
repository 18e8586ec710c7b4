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
    // Control tokens are always matched as written: only then is it known which part they are in.
    const bool needs_normalized_text = !normalizer_.empty() && token.normalized && !token.special;
    if (needs_normalized_text != normalized) continue;
    selected.push_back(token);
    if (!normalized) continue;
    normalizer_.apply(token.text, false, changed);
    selected.back().text = changed.text;
  }
  return AddedTokens(std::move(selected));
}

// Joins the parts and merges neighbouring ranges of equal parsing. A single part is not copied.
void SectionTokenizer::lay_out(std::span<const TextPart> parts, bool continues,
                               Layout& layout) const {
  layout.before_first = continues ? Before::text : Before::nothing;
  std::vector<SpecialRange> ranges;
  size_t end = 0;
  for (const TextPart& part : parts) {
    if (part.text.empty()) continue;
    end += part.text.size();
    if (!ranges.empty() && ranges.back().special == part.special) {
      ranges.back().end = end;
    } else {
      ranges.push_back({end, part.special});
    }
    if (parts.size() > 1) layout.joined += part.text;
  }
  CHECK(end < (size_t{1} << 31));
  if (end == 0) return;
  layout.text = parts.size() > 1 ? std::string_view(layout.joined) : parts.front().text;
  as_written_.split(layout.text, ranges, layout.sections);
}

void SectionTokenizer::encode_section(const Layout& layout, size_t i, TokenSink& sink) const {
  const Section& section = layout.sections[i];
  const size_t n = section.end - section.begin;
  if (section.id >= 0) {
    if (i == 0 && spec_.prefix_before_added && layout.before_first == Before::nothing) {
      if (const std::optional<Token> space = find("\u2581")) sink.push(*space, 0);
    }
    return sink.push(section.id, n);
  }
  encode_plain(layout.text.substr(section.begin, n), layout.before(i), sink);
}

void SectionTokenizer::encode_parts(std::span<const TextPart> parts, bool continues,
                                    TokenSink& sink) const {
  Layout layout;
  lay_out(parts, continues, layout);
  sink.expect(layout.text.size());
  const size_t base = sink.at();
  for (size_t i = 0; i < layout.sections.size(); ++i) {
    sink.move_to(base + layout.sections[i].begin);
    encode_section(layout, i, sink);
  }
  sink.move_to(base + layout.text.size());
}

// Places are traced back through the normaliser only when the sink keeps them.
void SectionTokenizer::encode_plain(std::string_view text, Before before, TokenSink& sink) const {
  if (!normalizer_.may_change(text)) return encode_normalized(text, before, sink);
  NormalizedText changed;
  normalizer_.apply(text, sink.keeps_spans(), changed);
  const SpanMap map(sink);
  if (!changed.text.empty()) encode_normalized(changed.text, before, sink);
  map.trace(sink, changed.origin, true);
}

// Takes the added tokens that are matched in normalised text out of a section.
void SectionTokenizer::encode_normalized(std::string_view text, Before before,
                                         TokenSink& sink) const {
  if (normalized_.empty()) return encode_section(text, before, sink);
  const SpecialRange range{text.size(), SpecialParsing::off};
  std::vector<Section> sections;
  normalized_.split(text, {&range, 1}, sections);
  const size_t base = sink.at();
  for (const Section& section : sections) {
    const size_t n = section.end - section.begin;
    sink.move_to(base + section.begin);
    if (section.id >= 0) {
      sink.push(section.id, n);
    } else {
      encode_section(text.substr(section.begin, n), before, sink);
    }
    before = section.id >= 0 ? Before::added_token : Before::text;
  }
}

}  // namespace ruv

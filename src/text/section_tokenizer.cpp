// Cuts a prompt at added tokens, before and after normalisation.
#include "text/section_tokenizer.h"

#include "base/check.h"
#include "text/normalize/normal_form.h"

namespace ruv {
namespace {

// Control tokens are always matched as written: only then is it known which part they stand in.
bool needs_normalized_text(const TokenizerSpec& spec, const AddedToken& token) {
  return !spec.normalizers.empty() && token.normalized && !token.special;
}

std::vector<AddedToken> select(const TokenizerSpec& spec, bool normalized) {
  std::vector<AddedToken> selected;
  for (const AddedToken& token : spec.added) {
    if (needs_normalized_text(spec, token) != normalized) continue;
    selected.push_back(token);
    if (normalized) selected.back().text = nfc(token.text);
  }
  return selected;
}

}  // namespace

SectionTokenizer::SectionTokenizer(TokenizerSpec spec)
    : Tokenizer(std::move(spec)),
      as_written_(select(spec_, false)),
      normalized_(select(spec_, true)) {}

template <class OnText>
void SectionTokenizer::cut(const AddedTokens& tokens, std::string_view text,
                           std::span<const SpecialRange> ranges, Before before, TokenSink& sink,
                           const OnText& on_text) const {
  std::vector<Section> sections;
  tokens.split(text, ranges, sections);
  for (const Section& section : sections) {
    if (section.id >= 0) {
      sink.push(section.id, section.end - section.begin);
    } else {
      on_text(text.substr(section.begin, section.end - section.begin), before);
    }
    before = section.id >= 0 ? Before::added_token : Before::text;
  }
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
  cut(as_written_, parts.size() > 1 ? joined : parts.front().text, ranges, before, sink,
      [&](std::string_view section, Before place) { encode_plain(section, place, sink); });
}

void SectionTokenizer::encode_plain(std::string_view text, Before before, TokenSink& sink) const {
  std::string composed;
  if (!spec_.normalizers.empty() && !is_surely_nfc(text)) {
    composed = nfc(text);
    text = composed;
  }
  if (normalized_.empty()) return encode_section(text, before, sink);
  const SpecialRange range{text.size(), SpecialParsing::off};
  cut(normalized_, text, {&range, 1}, before, sink,
      [&](std::string_view section, Before place) { encode_section(section, place, sink); });
}

}  // namespace ruv

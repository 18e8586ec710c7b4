#include "net/openai/noted_texts.h"

#include <algorithm>
#include <numeric>

#include "base/utf8.h"

namespace ruv {
namespace {

size_t room_beside(const std::vector<std::string>& texts) {
  const size_t n =
      std::accumulate(texts.begin(), texts.end(), texts.size(),
                      [](size_t sum, const std::string& text) { return sum + text.size(); });
  return kMaxNotedBytes - std::min(n, kMaxNotedBytes);
}

// The last characters of a text in at most n bytes.
std::string_view end_of(std::string_view text, size_t n) {
  text.remove_prefix(text.size() - std::min(text.size(), n));
  const auto is_inside = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  while (!text.empty() && is_inside(text.front())) text.remove_prefix(1);
  return text;
}

}  // namespace

// Hardly a token is without text, so that more than `room` of them need not be looked at.
void note_prompt(const ModelText& text, std::span<const Token> ids, RequestContents& contents) {
  const size_t room = room_beside(contents.prompts);
  const auto bytes = text.text_of(ids.last(std::min(ids.size(), room)), true);
  const std::string valid = text.valid_text(bytes.value_or(std::string()));
  const std::string_view kept = end_of(valid, room);
  if (kept.size() < valid.size() || ids.size() > room) contents.is_cut = true;
  if (room > 0) contents.prompts.emplace_back(kept);
}

void note_answer(size_t index, std::string_view text, RequestContents& contents) {
  const std::string_view head = text.substr(0, room_beside(contents.answers));
  contents.answers[index] += head.substr(0, whole_utf8_prefix(head));
  if (head.size() < text.size()) contents.is_cut = true;
}

}  // namespace ruv

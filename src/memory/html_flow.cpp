#include "memory/html_flow.h"

#include "base/utf8.h"

namespace ruv {
namespace {

constexpr uint32_t kNoBreakSpace = 0xA0, kSoftHyphen = 0xAD;

bool is_flow_blank(uint32_t c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == kNoBreakSpace;
}

}  // namespace

void HtmlFlow::put(uint32_t c) {
  if (c == kSoftHyphen || c == '\r') return;
  const bool skips = skips_newline_ && c == '\n';
  skips_newline_ = false;
  if (skips) return;
  const bool is_kept = keeps_blanks_ && (c == ' ' || c == '\t' || c == '\n');
  if (is_flow_blank(c) && !is_kept) return raise(Break::space);
  std::string& text = read_.text;
  constexpr std::string_view kBreaks[] = {"", " ", "\n", "\n\n"};
  if (!text.empty()) text += kBreaks[static_cast<size_t>(pending_)];
  pending_ = Break::none;
  if (heading_ != 0 && !is_marked_) {
    read_.marks.push_back({.at = std::ssize(text), .level = heading_});
    is_marked_ = true;
  }
  append_utf8(text, c == 0 ? kReplacement : c);
}

void HtmlFlow::end_line(Break at_least) {
  raise(at_least);
  heading_ = 0;
  is_marked_ = false;
}

void HtmlFlow::keep_blanks(bool keeps) {
  keeps_blanks_ = keeps;
  skips_newline_ = keeps;
}

}  // namespace ruv

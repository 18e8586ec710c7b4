// A page is read tag by tag in one pass. What is open matters only as far as it hides text: an
// element that is not shown ends with its end tag, or where the end tag may be missing, with what
// must end it; elements of its own name inside of it are counted, not kept.
#include "memory/html_text.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/utf8.h"
#include "memory/html_entities.h"
#include "memory/html_flow.h"

namespace ruv {
namespace {

using Break = HtmlFlow::Break;

constexpr size_t kMostTagBytes = 16;  // of names that are looked at

// Their content is text to the end tag, and not shown.
constexpr std::string_view kRawTags[] = {"script",  "style",    "title",   "iframe",
                                         "noembed", "noframes", "noscript"};
// The same, shown.
constexpr std::string_view kShownRawTags[] = {"textarea", "xmp"};
constexpr std::string_view kUnshownTags[] = {"template", "svg",    "object",  "video",
                                             "audio",    "canvas", "datalist"};
constexpr std::string_view kVoidTags[] = {"area",  "base",   "br",    "col",  "embed",
                                          "hr",    "img",    "input", "link", "meta",
                                          "param", "source", "track", "wbr"};
constexpr std::string_view kOptionalEndTags[] = {
    "p", "li", "dt", "dd", "tr", "td", "th", "option", "optgroup", "thead", "tbody", "tfoot"};
constexpr std::string_view kLineTags[] = {"li",      "dt",       "dd",     "tr",
                                          "option",  "optgroup", "legend", "summary",
                                          "caption", "thead",    "tbody",  "tfoot"};
constexpr std::string_view kParagraphTags[] = {
    "address", "article", "aside",  "blockquote", "body",   "center",     "details", "dialog",
    "dir",     "div",     "dl",     "fieldset",   "figure", "figcaption", "footer",  "form",
    "header",  "hgroup",  "hr",     "html",       "main",   "menu",       "nav",     "ol",
    "p",       "pre",     "search", "section",    "table",  "ul",         "xmp",     "textarea"};

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

bool is_tag_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }
bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }
char lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// At most kMostTagBytes of it: no name that matters is longer.
std::string lowered_name(std::string_view name) {
  std::string lower(name.substr(0, kMostTagBytes));
  std::ranges::transform(lower, lower.begin(), lowered);
  return lower;
}

// "h1" to "h6".
int level_of(std::string_view name) {
  return name.size() == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6' ? name[1] - '0' : 0;
}

Break break_of(std::string_view name) {
  if (is_one_of(name, kParagraphTags) || level_of(name) > 0) return Break::paragraph;
  if (is_one_of(name, kLineTags)) return Break::line;
  return name == "td" || name == "th" ? Break::space : Break::none;
}

struct PageTag {
  std::string name;
  bool is_end = false;
  bool is_closed = false;  // "/>"
  bool hides = false;      // by an attribute
};

// "display:none" among blanks and other styles.
bool hides_by_style(std::string_view style) {
  std::string plain;
  for (const char c : style) {
    if (!is_tag_blank(c)) plain += lowered(c);
  }
  return plain.find("display:none") != plain.npos;
}

// An element that is not shown, which has begun.
class UnshownElement {
 public:
  explicit UnshownElement(std::string name) : name_(std::move(name)) {
    may_lack_end_ = is_one_of(name_, kOptionalEndTags);
  }

  enum class Ending : uint8_t { none, with_tag, before_tag };
  Ending take(const PageTag& tag) {
    if (!may_lack_end_) {
      if (tag.name == name_) n_inside_ += tag.is_end ? -1 : 1;
      return n_inside_ < 0 ? Ending::with_tag : Ending::none;
    }
    if (n_inside_ == 0 && tag.name == name_) {
      return tag.is_end ? Ending::with_tag : Ending::before_tag;
    }
    if (n_inside_ == 0 && name_ == "p" && break_of(tag.name) >= Break::line) {
      return Ending::before_tag;
    }
    if (is_one_of(tag.name, kOptionalEndTags) || is_one_of(tag.name, kVoidTags)) {
      return Ending::none;
    }
    n_inside_ += tag.is_end ? -1 : 1;
    return n_inside_ < 0 ? Ending::before_tag : Ending::none;
  }

 private:
  std::string name_;
  bool may_lack_end_ = false;
  int64_t n_inside_ = 0;  // elements of its name, or all that have end tags where it may have none
};

class PageReader {
 public:
  explicit PageReader(std::string_view page) : page_(page) {}

  ReadText read() {
    while (at_ < page_.size()) {
      if (page_[at_] != '<' || !read_markup()) read_character(page_.size());
    }
    return flow_.take();
  }

 private:
  char peek(size_t ahead) const { return at_ + ahead < page_.size() ? page_[at_ + ahead] : '\0'; }

  // False: the '<' is text.
  bool read_markup() {
    const char next = peek(1);
    if (is_ascii_letter(next)) return read_tag(1);
    if (next == '/' && is_ascii_letter(peek(2))) return read_tag(2);
    if (next == '!' && page_.substr(at_).starts_with("<!--")) return skip_comment();
    if (next != '!' && next != '?' && next != '/') return false;
    if (next == '/' && at_ + 2 >= page_.size()) return false;
    skip_past(">", at_ + 1);
    return true;
  }

  void skip_past(std::string_view mark, size_t from) {
    const size_t found = page_.find(mark, from);
    at_ = found == page_.npos ? page_.size() : found + mark.size();
  }

  // "<!-->" and "<!--->" are whole comments.
  bool skip_comment() {
    skip_past("-->", at_ + 2);
    return true;
  }

  bool read_tag(size_t skipped) {
    const size_t first = at_ + skipped;
    at_ = first;
    while (at_ < page_.size() && !is_tag_blank(page_[at_]) && page_[at_] != '/' &&
           page_[at_] != '>') {
      ++at_;
    }
    PageTag tag{.name = lowered_name(page_.substr(first, at_ - first)), .is_end = skipped == 2};
    while (at_ < page_.size() && page_[at_] != '>') read_attribute(tag);
    if (at_ == page_.size()) return true;  // a tag that does not end is not shown
    ++at_;
    take_tag(tag);
    return true;
  }

  // What begins at at_, which is not '>': blanks, a '/', or a name with or without a value.
  void read_attribute(PageTag& tag) {
    const char c = page_[at_];
    if (is_tag_blank(c) || c == '/') {
      tag.is_closed = c == '/';
      ++at_;
      return;
    }
    tag.is_closed = false;
    const size_t first = at_++;
    while (at_ < page_.size() && !is_tag_blank(page_[at_]) && page_[at_] != '/' &&
           page_[at_] != '>' && page_[at_] != '=') {
      ++at_;
    }
    const std::string name = lowered_name(page_.substr(first, at_ - first));
    const std::string_view value = read_value();
    if (tag.is_end) return;
    tag.hides = tag.hides || name == "hidden" || (name == "style" && hides_by_style(value));
  }

  // Blanks and the value of an attribute, if there is one.
  std::string_view read_value() {
    while (at_ < page_.size() && is_tag_blank(page_[at_])) ++at_;
    if (peek(0) != '=') return {};
    ++at_;
    while (at_ < page_.size() && is_tag_blank(page_[at_])) ++at_;
    const char quote = peek(0);
    if (quote == '"' || quote == '\'') {
      const size_t first = ++at_;
      at_ = std::min(page_.find(quote, at_), page_.size());
      const std::string_view value = page_.substr(first, at_ - first);
      at_ = std::min(at_ + 1, page_.size());
      return value;
    }
    const size_t first = at_;
    while (at_ < page_.size() && !is_tag_blank(page_[at_]) && page_[at_] != '>') ++at_;
    return page_.substr(first, at_ - first);
  }

  void take_tag(const PageTag& tag) {
    if (unshown_) {
      const auto ending = unshown_->take(tag);
      if (ending != UnshownElement::Ending::none) unshown_.reset();
      if (ending == UnshownElement::Ending::with_tag) return flow_.end_line(break_of(tag.name));
    }
    const bool is_raw = is_one_of(tag.name, kRawTags);
    if (!tag.is_end && (is_raw || is_one_of(tag.name, kShownRawTags))) {
      return read_raw(tag, unshown_.has_value() || is_raw || tag.hides);
    }
    if (unshown_) return;
    show(tag);
    if (tag.is_end || is_one_of(tag.name, kVoidTags)) return;
    const bool is_empty = tag.name == "svg" && tag.is_closed;
    if (tag.hides || is_one_of(tag.name, kUnshownTags)) {
      if (!is_empty) unshown_.emplace(tag.name);
    }
  }

  // The breaks of a tag.
  void show(const PageTag& tag) {
    if (tag.name == "br") {
      if (flow_.is_in_heading()) return flow_.space();
      return flow_.end_line(Break::line);
    }
    const Break space = break_of(tag.name);
    if (space == Break::space) return flow_.space();
    if (space != Break::none) flow_.end_line(space);
    if (tag.name == "pre") flow_.keep_blanks(!tag.is_end);
    const int level = level_of(tag.name);
    if (level > 0 && !tag.is_end) flow_.begin_heading(level);
  }

  // Text up to the end tag of this name; entities are none in `xmp`.
  void read_raw(const PageTag& tag, bool is_hidden) {
    const size_t end = raw_end(tag.name);
    if (!is_hidden) {
      flow_.end_line(Break::paragraph);
      while (at_ < end) {
        if (tag.name == "xmp")
          put_character();
        else
          read_character(end);
      }
      flow_.end_line(Break::paragraph);
    }
    at_ = end;
  }

  size_t raw_end(std::string_view name) const {
    for (size_t at = page_.find("</", at_); at != page_.npos; at = page_.find("</", at + 2)) {
      const size_t after = at + 2 + name.size();
      if (after > page_.size()) break;
      const bool ends = after == page_.size() || is_tag_blank(page_[after]) ||
                        page_[after] == '/' || page_[after] == '>';
      if (ends && lowered_name(page_.substr(at + 2, name.size())) == name) return at;
    }
    return page_.size();
  }

  // The character at at_, written as itself.
  void put_character() {
    const CodePoint point = decode_utf8(page_, at_);
    at_ += point.size;
    if (!unshown_) flow_.put(point.value);
  }

  // The same, or an entity that ends before `end`.
  void read_character(size_t end) {
    if (page_[at_] != '&') return put_character();
    const auto [code_point, size] = entity_at(page_.substr(at_, end - at_));
    if (size == 0) return put_character();
    at_ += size;
    if (!unshown_) flow_.put(code_point);
  }

  struct Entity {
    uint32_t code_point = 0;
    size_t size = 0;  // bytes; 0: it is none
  };
  // `text` begins with '&'.
  static Entity entity_at(std::string_view text) {
    if (text.size() > 1 && text[1] == '#') return number_at(text);
    size_t end = 1;
    while (end < text.size() && end <= kMostEntityBytes &&
           (is_ascii_letter(text[end]) || is_ascii_digit(text[end]))) {
      ++end;
    }
    const uint32_t found = html_character(text.substr(1, end - 1));
    if (found == 0) return {};
    if (end < text.size() && text[end] == ';') return {found, end + 1};
    // Old pages leave the sign out where the character is an old one.
    return found < 0x100 ? Entity{found, end} : Entity{};
  }

  // "&#233;" or "&#xE9;".
  static Entity number_at(std::string_view text) {
    const bool is_hex = text.size() > 2 && lowered(text[2]) == 'x';
    const size_t first = is_hex ? 3 : 2;
    uint32_t number = 0;
    size_t end = first;
    for (; end < text.size(); ++end) {
      const char c = lowered(text[end]);
      const bool is_letter = is_hex && c >= 'a' && c <= 'f';
      if (!is_letter && !is_ascii_digit(c)) break;
      const auto digit = static_cast<uint32_t>(is_letter ? c - 'a' + 10 : c - '0');
      number = std::min(number * (is_hex ? 16 : 10) + digit, uint32_t{0x110000});
    }
    if (end == first) return {};
    if (number < 0x100) number = windows_character(static_cast<uint8_t>(number));
    const bool is_character = number != 0 && number < 0x110000 && (number >> 11) != 0x1B;
    if (end < text.size() && text[end] == ';') ++end;
    return {is_character ? number : kReplacement, end};
  }

  std::string_view page_;
  size_t at_ = 0;
  HtmlFlow flow_;
  std::optional<UnshownElement> unshown_;
};

// Whether a page says in its first bytes that it is Windows-1252, by one of its names.
bool claims_windows(std::string_view page) {
  constexpr size_t kLookedAt = 1024;
  std::string head(page.substr(0, kLookedAt));
  std::ranges::transform(head, head.begin(), lowered);
  size_t at = head.find("charset");
  if (at == head.npos) return false;
  at = head.find_first_not_of(" \t\r\n=\"'", at + 7);
  if (at == head.npos) return false;
  const std::string name = head.substr(at, head.find_first_of(" \t\r\n\"';/>", at) - at);
  constexpr std::string_view kNames[] = {"windows-1252", "cp1252",  "iso-8859-1", "iso8859-1",
                                         "latin1",       "latin-1", "us-ascii"};
  return is_one_of(name, kNames);
}

}  // namespace

Result<ReadText> read_html(std::string_view html) {
  if (html.starts_with("\xEF\xBB\xBF")) html.remove_prefix(3);
  if (is_valid_utf8(html)) return PageReader(html).read();
  if (html.starts_with("\xFF\xFE") || html.starts_with("\xFE\xFF")) {
    return fail(Code::invalid, "a page in UTF-16; convert it to UTF-8");
  }
  if (claims_windows(html)) {
    std::string text;
    for (const char c : html) append_utf8(text, windows_character(static_cast<uint8_t>(c)));
    return PageReader(text).read();
  }
  size_t at = 0;
  for (CodePoint point = decode_utf8(html, at); point.valid; point = decode_utf8(html, at)) {
    at += point.size;
  }
  return fail(Code::invalid,
              "byte {}: the page is not UTF-8, nor says that it is Windows-1252 or ISO 8859-1; "
              "convert it",
              at);
}

}  // namespace ruv

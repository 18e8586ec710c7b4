#include "net/memory/form_parts.h"

#include <algorithm>

namespace ruv {
namespace {

// Forms of files have a few parts with two or three lines each.
constexpr size_t kMostParts = 64;
constexpr size_t kMostHeadBytes = 8192;
constexpr size_t kMostBoundaryBytes = 70;

// Names of headers and parameters have no case.
bool is_same_word(std::string_view a, std::string_view lower) {
  return std::ranges::equal(a, lower, [](char x, char y) {
    return (x >= 'A' && x <= 'Z' ? static_cast<char>(x + 32) : x) == y;
  });
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Takes the value of a parameter off: a word, or a text in quotes, where a backslash before a quote
// or a backslash is dropped.
std::string take_value(std::string_view& rest) {
  std::string value;
  if (!rest.starts_with('"')) {
    value = without_blanks(rest.substr(0, rest.find(';')));
    rest.remove_prefix(std::min(rest.find(';'), rest.size()));
    return value;
  }
  rest.remove_prefix(1);
  while (!rest.empty() && rest.front() != '"') {
    const bool is_escape =
        rest.size() > 1 && rest[0] == '\\' && (rest[1] == '"' || rest[1] == '\\');
    if (is_escape) rest.remove_prefix(1);
    value += rest.front();
    rest.remove_prefix(1);
  }
  if (!rest.empty()) rest.remove_prefix(1);
  return value;
}

// "form-data; name="file"; filename="a.md"". False: it is none.
bool read_disposition(std::string_view value, FormPart& part) {
  const size_t end = std::min(value.find(';'), value.size());
  if (!is_same_word(without_blanks(value.substr(0, end)), "form-data")) return false;
  std::string_view rest = value.substr(end);
  bool has_name = false;
  while (!rest.empty()) {
    if (rest.front() == ';' || rest.front() == ' ' || rest.front() == '\t') {
      rest.remove_prefix(1);
      continue;
    }
    const size_t equals = rest.find('=');
    if (equals == rest.npos) return false;
    const std::string_view name = without_blanks(rest.substr(0, equals));
    rest.remove_prefix(equals + 1);
    std::string text = take_value(rest);
    if (is_same_word(name, "name")) {
      part.name = std::move(text);
      has_name = true;
    } else if (is_same_word(name, "filename")) {
      part.filename = std::move(text);
      part.is_file = true;
    }
  }
  return has_name;
}

// The lines before a part's content. False: they do not say what it is, or it is encoded.
bool read_head(std::string_view head, FormPart& part) {
  bool has_disposition = false;
  while (!head.empty()) {
    const size_t end = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + 2, head.size()));
    const size_t colon = line.find(':');
    if (colon == line.npos) return false;
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = without_blanks(line.substr(colon + 1));
    if (is_same_word(name, "content-disposition")) {
      has_disposition = read_disposition(value, part);
    } else if (is_same_word(name, "content-transfer-encoding")) {
      if (is_same_word(value, "base64") || is_same_word(value, "quoted-printable")) return false;
    }
  }
  return has_disposition;
}

}  // namespace

Result<std::vector<FormPart>> parse_form(std::string_view body, std::string_view boundary) {
  if (boundary.empty() || boundary.size() > kMostBoundaryBytes) {
    return fail(Code::invalid, "a form needs a boundary of 1 to {} characters in its Content-Type",
                kMostBoundaryBytes);
  }
  const std::string line = "\r\n--" + std::string(boundary);
  std::vector<FormPart> parts;
  // The first line has no end of a line before it, and text before it says nothing.
  size_t at = body.starts_with(line.substr(2)) ? line.size() - 2 : body.find(line);
  if (at == body.npos) return fail(Code::invalid, "the form has no part");
  if (!body.starts_with(line.substr(2))) at += line.size();
  while (true) {
    std::string_view rest = body.substr(at);
    if (rest.starts_with("--")) return parts;
    const auto wrong = [&](const char* what) {
      return fail(Code::invalid, "part {} of the form {}", parts.size() + 1, what);
    };
    if (!rest.starts_with("\r\n")) return wrong("does not begin in a line of its own");
    if (parts.size() == kMostParts) return wrong("is more than are taken");
    rest.remove_prefix(2);
    const size_t head = rest.substr(0, kMostHeadBytes).find("\r\n\r\n");
    if (head == rest.npos) return wrong("has no end of its headers");
    FormPart& part = parts.emplace_back();
    if (!read_head(rest.substr(0, head), part)) {
      return fail(Code::invalid,
                  "part {} of the form has no \"Content-Disposition: form-data; name=…\", or is "
                  "encoded",
                  parts.size());
    }
    // The end of the headers may be the end of the line before the next boundary.
    const size_t begin = head + 2;
    const size_t end = rest.find(line, begin);
    if (end == rest.npos)
      return fail(Code::invalid, "part {} of the form has no end", parts.size());
    part.content = end > begin ? rest.substr(begin + 2, end - begin - 2) : std::string_view();
    at = body.size() - rest.size() + end + line.size();
  }
}

}  // namespace ruv

#include "memory/document_forms.h"

#include <algorithm>
#include <string>

#include "memory/html_text.h"

namespace ruv {
namespace {

struct NamedForm {
  std::string_view ending;
  DocumentForm form;
};
constexpr NamedForm kFormEndings[] = {
    {".md", DocumentForm::markdown}, {".markdown", DocumentForm::markdown},
    {".html", DocumentForm::html},   {".htm", DocumentForm::html},
    {".xhtml", DocumentForm::html},  {".pdf", DocumentForm::pdf}};

bool ends_alike(std::string_view name, std::string_view ending) {
  if (name.size() < ending.size()) return false;
  const auto same = [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  };
  return std::ranges::equal(name.substr(name.size() - ending.size()), ending, same);
}

}  // namespace

DocumentForm form_of_name(std::string_view name) {
  for (const NamedForm& one : kFormEndings) {
    if (ends_alike(name, one.ending)) return one.form;
  }
  return DocumentForm::plain;
}

Result<DocumentForm> document_form_of(std::string_view word) {
  if (word == "text") return DocumentForm::plain;
  if (word == "markdown") return DocumentForm::markdown;
  if (word == "html") return DocumentForm::html;
  return fail(Code::invalid, "\"{}\": give \"text\", \"markdown\" or \"html\"", word);
}

bool looks_like_pdf(std::string_view bytes) { return bytes.starts_with("%PDF-"); }

Result<ReadText> read_document(DocumentForm form, std::string_view bytes) {
  if (form == DocumentForm::html) return read_html(bytes);
  if (form == DocumentForm::pdf || looks_like_pdf(bytes)) {
    return fail(Code::unsupported, "a PDF file is not read here: give its text");
  }
  return ReadText{std::string(bytes), {}};
}

std::string place_of(int64_t page, std::string_view headings) {
  std::string place = page > 0 ? "page " + std::to_string(page) : "";
  if (!place.empty() && !headings.empty()) place += ", ";
  return place.append(headings);
}

}  // namespace ruv

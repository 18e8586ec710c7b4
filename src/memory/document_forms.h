// The forms that documents come in, and the text of each that is kept.
#pragma once

#include <string_view>

#include "memory/chunks.h"

namespace ruv {

enum class DocumentForm : uint8_t { plain, markdown, html, pdf };

// By the ending of a file's name, in upper or lower case: .md and .markdown, .html, .htm and
// .xhtml, .pdf; all else is plain text.
DocumentForm form_of_name(std::string_view name);
// "text", "markdown" or "html". Fails: invalid.
Result<DocumentForm> document_form_of(std::string_view word);
// Whether bytes begin as a PDF file does.
bool looks_like_pdf(std::string_view bytes);

// What is kept of a document. Fails: as read_html; unsupported (PDF, which no code here reads).
Result<ReadText> read_document(DocumentForm form, std::string_view bytes);
// How a text of this form is cut.
inline TextForm text_form_of(DocumentForm form) {
  return form == DocumentForm::markdown ? TextForm::markdown : TextForm::plain;
}

// "page 3, The ship > Crew": where a chunk is within its document, as far as that is known; empty:
// it is not.
std::string place_of(int64_t page, std::string_view headings);

}  // namespace ruv

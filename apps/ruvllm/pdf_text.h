// The text of PDF files, by poppler's `pdftotext`: a process of its own, as what reads a format of
// that size meets files that were made to break it.
#pragma once

#include <string>

#include "memory/chunks.h"

namespace ruv {

// The text of a file's bytes, with a mark where each page begins. The process has no shell, no
// environment but PATH, reads the bytes from a descriptor, and has 60 s, 1 GiB of memory and
// 256 MiB of output. Fails: unsupported (pdftotext is not installed; the package is named), corrupt
// (it says what is wrong), deadline, out_of_memory (a limit), invalid (no page has text).
Result<ReadText> read_pdf(const std::string& bytes);

}  // namespace ruv

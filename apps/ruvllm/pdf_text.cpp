#include "pdf_text.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "base/process.h"
#include "base/utf8.h"

namespace ruv {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kMostSeconds = 60;
constexpr uint64_t kMostMemory = uint64_t{1} << 30;
constexpr size_t kMostOutput = size_t{256} << 20;
constexpr size_t kMostErrors = 4096;

ProcessOptions pdftotext_call(const std::string& bytes) {
  const char* const path = std::getenv("PATH");
  ProcessOptions options;
  options.argv = {"pdftotext", "-q", "-enc", "UTF-8", "-eol", "unix", "/dev/fd/3", "-"};
  options.environment = {"PATH=" + std::string(path != nullptr ? path : kDefaultProgramPath)};
  options.files = {bytes};
  options.limits = {.memory_bytes = kMostMemory, .cpu_seconds = kMostSeconds, .file_bytes = 1};
  return options;
}

// What it writes until it ends. Fails: as read_pdf.
Result<std::string> output_of(Process& process) {
  const auto end = Clock::now() + std::chrono::seconds(kMostSeconds);
  std::string output, errors;
  process.close_input();
  while (process.output_is_open() || !process.ended()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) {
      return fail(Code::deadline, "pdftotext took more than {} s", kMostSeconds);
    }
    ProcessTurn turn = TRY(process.turn({}, left.count()));
    output += turn.output;
    if (errors.size() < kMostErrors) errors += turn.errors;
    if (output.size() > kMostOutput) {
      return fail(Code::out_of_memory, "more than {} bytes of text", kMostOutput);
    }
  }
  const ProcessEnd ended = *process.ended();
  if (ended.ok()) return output;
  errors = to_valid_utf8(errors.substr(0, errors.find('\n')));
  return fail(Code::corrupt, "pdftotext cannot read it: {}{}{}", errors, errors.empty() ? "" : ", ",
              describe(ended));
}

// Each page ends with a form feed.
ReadText pages_of(std::string_view output) {
  ReadText read;
  int64_t page = 1;
  for (size_t at = 0; at < output.size(); ++page) {
    const size_t end = std::min(output.find('\f', at), output.size());
    read.marks.push_back({.at = std::ssize(read.text), .page = page});
    read.text += output.substr(at, end - at);
    if (!read.text.empty() && read.text.back() != '\n') read.text += '\n';
    at = end + 1;
  }
  return read;
}

}  // namespace

Result<ReadText> read_pdf(const std::string& bytes) {
  auto process = Process::start(pdftotext_call(bytes));
  if (!process && process.error().code() == Code::not_found) {
    return fail(Code::unsupported,
                "PDF files are read by pdftotext, which is not installed: install poppler-utils");
  }
  if (!process) return tl::unexpected(process.error());
  const std::string output = to_valid_utf8(TRY(output_of(*process)));
  if (output.find_first_not_of(" \t\r\n\f") == output.npos) {
    return fail(Code::invalid, "no page has text: pictures of pages are not read");
  }
  return pages_of(output);
}

}  // namespace ruv

// Any bytes as a page: its text is UTF-8 and no longer than three bytes for each of the page's, its
// headings begin lines, and it can be cut into chunks.
#include <cstdlib>

#include "base/utf8.h"
#include "memory/html_text.h"

namespace {

void expect(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view page(reinterpret_cast<const char*>(data), size);
  const auto read = ruv::read_html(page);
  if (!read) {
    expect(!read.error().message().empty());
    return 0;
  }
  expect(ruv::is_valid_utf8(read->text) && read->text.size() <= 3 * size);
  int64_t last = -1;
  for (const ruv::TextMark& mark : read->marks) {
    expect(mark.at > last && mark.at < std::ssize(read->text));
    expect(mark.at == 0 || read->text[static_cast<size_t>(mark.at) - 1] == '\n');
    expect(mark.level >= 1 && mark.level <= 6);
    last = mark.at;
  }
  const auto chunks =
      ruv::chunks_of(read->text, {.most_bytes = 64, .overlap_bytes = 8}, read->marks);
  expect(chunks.has_value());
  return 0;
}

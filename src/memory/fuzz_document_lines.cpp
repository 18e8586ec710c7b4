// Any bytes as a line of exported documents: it is refused by what is wrong, or is a document that
// is written and read again as the same.
#include <cstdlib>

#include "memory/document_lines.h"

namespace {

void expect(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto json = ruv::parse_json(text, "line", {.depth = 64, .values = 10'000});
  if (!json) return 0;
  if (const auto head = ruv::read_head_line(*json)) {
    const auto again = ruv::read_head_line(ruv::head_line(*head));
    expect(again && again->kind.probe == head->kind.probe);
  }
  for (const int64_t n_dims : {0, 2}) {
    const auto read = ruv::read_document_line(*json, n_dims);
    if (!read) {
      expect(!read.error().message().empty());
      continue;
    }
    const auto again = ruv::read_document_line(ruv::document_line(*read, n_dims), n_dims);
    expect(again && again->texts == read->texts && again->vectors == read->vectors);
  }
  return 0;
}

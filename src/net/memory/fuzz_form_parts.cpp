// Any bytes as a form: the first line is the boundary. A form is refused with a message, or its
// parts are pieces of the body, in their order, without the boundary in them.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "net/memory/form_parts.h"

namespace {

void expect(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(text.find('\n'), size);
  const std::string_view boundary = text.substr(0, end);
  const std::string_view body = text.substr(std::min(end + 1, size));
  const auto parts = ruv::parse_form(body, boundary);
  if (!parts) {
    expect(!parts.error().message().empty());
    return 0;
  }
  const char* last = body.data();
  const std::string line = "\r\n--" + std::string(boundary);
  for (const ruv::FormPart& part : *parts) {
    expect(part.content.find(line) == part.content.npos);
    expect(part.filename.empty() || part.is_file);
    if (part.content.empty()) continue;
    expect(part.content.data() >= last);
    last = part.content.data() + part.content.size();
    expect(last <= body.data() + body.size());
  }
  return 0;
}

// Any bytes as what a hub may answer to a push: URLs and headers that are accepted are one line.
#include <algorithm>
#include <cstdlib>

#include "hub/upload_answers.h"

namespace {

void expect(bool condition) {
  if (!condition) std::abort();
}

bool is_one_line(std::string_view text) {
  return std::ranges::none_of(text, [](unsigned char c) { return c < 32 || c == 127; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  if (const auto modes = ruv::read_upload_modes(text)) expect(modes->size() <= 256);
  if (const auto commit = ruv::read_commit_answer(text)) expect(commit->size() == 40);
  const auto places = ruv::read_upload_places(text);
  if (!places) return 0;
  for (const ruv::UploadPlace& place : *places) {
    expect(is_one_line(place.url) && is_one_line(place.verify_url));
    for (const std::string& line : place.headers) expect(is_one_line(line));
    for (const std::string& url : place.part_urls) expect(is_one_line(url) && !url.empty());
    expect(place.is_there || !place.url.empty());
  }
  return 0;
}

// Any bytes as what a hub or a disk may give: a list of files, whose paths then stay below their
// folder, a journal of ranges, whose ranges lie within the file, a redirect, a range's header
// and a file of names.
#include <cstdlib>

#include "hub/choose_files.h"
#include "hub/content_range.h"
#include "hub/hub_http.h"
#include "hub/local_names.h"
#include "hub/model_reference.h"
#include "hub/range_journal.h"

namespace {

void expect(bool condition) {
  if (!condition) std::abort();
}

void read_listing(std::string_view text) {
  const auto listing = ruv::read_repo_listing(text, "fuzz");
  if (!listing) return;
  for (const ruv::RepoFile& file : listing->files) {
    expect(ruv::check_file_path(file.path).ok());
    expect(("/" + file.path + "/").find("/../") == std::string::npos);
  }
  const auto chosen = ruv::choose_files(listing->files, "");
  if (chosen) expect(!chosen->files.empty());
}

void read_ranges(std::string_view text) {
  constexpr uint64_t kBytes = 1000;
  const ruv::JournalState state = ruv::read_journal(text, kBytes, "s");
  uint64_t n_missing = 0;
  for (const ruv::ByteRange& gap : state.here.missing(kBytes)) n_missing += gap.size();
  expect(n_missing + state.here.n_bytes() == kBytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  read_listing(text);
  read_ranges(text);
  const auto to = ruv::redirected("https://hub.example/a", text);
  if (to) expect(to->starts_with("https://") || ruv::origin_of(*to)->starts_with("https://"));
  if (ruv::check_content_range(text, {10, 20}, 100).ok()) expect(text.find("/100") != text.npos);
  const auto names = ruv::LocalNames::parse(text, "fuzz");
  if (names) expect(ruv::LocalNames::parse(names->dump(), "fuzz")->dump() == names->dump());
  const auto reference = ruv::read_hub_reference(text);
  if (reference) expect(ruv::read_hub_reference(ruv::text_of(*reference)).has_value());
  return 0;
}

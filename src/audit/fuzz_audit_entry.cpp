// Any bytes as an entry of a log and as a proof: they are refused with a message, or what is read
// says the same when it is written again. No bytes are a proof that was not signed.
#include <cstdlib>

#include "audit/audit_entry.h"
#include "audit/audit_proof.h"
#include "audit/audit_seal.h"
#include "audit/request_json.h"

namespace {

void expect(bool condition) {
  if (!condition) std::abort();
}

void check_request(const ruv::Json& json) {
  const auto read = ruv::read_request_json(json);
  if (!read) return expect(!read.error().message().empty());
  const ruv::Json once = ruv::request_json(read->request, ruv::RequestTexts::with);
  const auto again = ruv::read_request_json(once);
  expect(again.has_value());
  expect(ruv::request_json(again->request, ruv::RequestTexts::with).dump() == once.dump());
}

// What anyone may have sealed for the log's reader.
void check_contents(std::string_view bytes) {
  const auto read = ruv::contents_of_bytes(bytes);
  if (!read) return expect(!read.error().message().empty());
  expect(ruv::bytes_of_contents(*read) == bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_contents(text);
  const auto json = ruv::parse_json(text, "entry", {.depth = 64, .values = 100'000});
  if (!json || !json->is_object()) return 0;
  (void)ruv::entry_columns(*json);
  const auto digests = ruv::digests_in(*json);
  if (!digests) expect(!digests.error().message().empty());
  if (const ruv::Json* request = json->find("request")) check_request(*request);
  const auto proven = ruv::check_proof(*json);
  if (!proven) expect(!proven.error().message().empty());
  return 0;
}

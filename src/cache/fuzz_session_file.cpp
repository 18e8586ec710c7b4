// Any bytes as a session's file: refused with a reason, or a label and a text within their limits
// that give a file with the same content again. The first byte says whether hashes are made right
// first, so that the fuzzer gets past them.
#include <cstdlib>

#include "base/hash.h"
#include "cache/session_file.h"

namespace {

// The places are those of docs/sessions.md.
void make_hashes_right(std::span<std::byte> file) {
  if (file.size() < 80) return;
  uint32_t n_label = 0;
  std::memcpy(&n_label, file.data() + 12, sizeof n_label);
  if (n_label > file.size() - 80) return;
  const uint64_t of_text = ruv::hash_bytes(file.subspan(80 + n_label));
  std::memcpy(file.data() + 56, &of_text, sizeof of_text);
  std::string bound(ruv::as_text(file.first(40)));
  bound.append(ruv::as_text(file.subspan(56, 24)));
  const uint64_t of_label =
      ruv::hash_bytes(file.subspan(80, n_label), ruv::hash_bytes(ruv::as_bytes(bound)));
  std::memcpy(file.data() + 40, &of_label, sizeof of_label);
}

void check(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const auto plain = ruv::SessionCodec::create(std::nullopt);
  static const auto sealed = ruv::SessionCodec::create(ruv::SealKey{1, 2, 3});
  if (size == 0) return 0;
  const std::span<const std::byte> given = std::as_bytes(std::span(bytes, size)).subspan(1);
  std::vector<std::byte> file(given.begin(), given.end());
  check(!sealed->open_text(file, "file"));
  if (bytes[0] % 2 != 0) make_hashes_right(file);
  const auto info = plain->open_label(file, "file");
  const auto text = plain->open_text(file, "file");
  if (!info) {
    check(!text && !info.error().message().empty());
    return 0;
  }
  check(ruv::check_session_name(info->name).ok());
  if (!text) return 0;
  check(text->size() <= ruv::kMaxSessionTextBytes);
  for (const auto* codec : {&plain, &sealed}) {
    const auto again = (*codec)->close(*info, *text);
    check(again.has_value());
    check(*(*codec)->open_text(*again, "again") == *text);
    check((*codec)->open_label(*again, "again")->name == info->name);
  }
  return 0;
}

#include "hub/content_range.h"

#include <charconv>
#include <optional>

namespace ruv {
namespace {

// The number at the start of the text, and what must follow it; nothing: it is not so.
std::optional<uint64_t> take_number(std::string_view& text, std::string_view mark) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (!text.starts_with(mark)) return std::nullopt;
  text.remove_prefix(mark.size());
  return value;
}

}  // namespace

Status check_content_range(std::string_view header, ByteRange range, uint64_t n_bytes) {
  std::string_view left = header;
  constexpr std::string_view kUnit = "bytes ";
  if (left.starts_with(kUnit)) {
    left.remove_prefix(kUnit.size());
    const std::optional<uint64_t> first = take_number(left, "-");
    const std::optional<uint64_t> last = first ? take_number(left, "/") : std::nullopt;
    const std::optional<uint64_t> size = last ? take_number(left, "") : std::nullopt;
    const bool is_right = size && left.empty() && *first == range.begin && *last < range.end &&
                          *last >= *first && *size == n_bytes;
    if (is_right) return {};
  }
  return fail(Code::corrupt, "the server answers bytes {}-{} of {} with the range '{:.100}'",
              range.begin, range.end - 1, n_bytes, header);
}

}  // namespace ruv

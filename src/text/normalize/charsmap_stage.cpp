// SentencePiece's precompiled_charsmap: u32 size of the trie in bytes, the units of a double array
// (Darts-clone, 32 bits each), then replacements that end with a NUL. The values of the trie are
// offsets into the replacements.
//   unit: bits 0-7 label (bit 31 too: no label is met by a value unit), bit 8 has a value,
//         bit 9 the offset counts in 256s, bits 10-30 offset to the children
#include <utf8proc.h>

#include <array>
#include <cstring>
#include <optional>

#include "base/bytes.h"
#include "base/utf8.h"
#include "text/normalize/stage.h"
#include "text/read_char.h"

namespace ruv {
namespace {

constexpr size_t kGraphemeLimit = 6;  // clusters of fewer bytes are looked up whole
constexpr utf8proc_int32_t kMark = 0x300;

// Marks of Unicode 16 and 17, which utf8proc may not know to continue a cluster.
bool is_new_mark(uint32_t c) {
  return c == 0x897 || (c >= 0x1ACF && c <= 0x1ADD) || (c >= 0x1AE0 && c <= 0x1AEB);
}

class CharsmapStage final : public NormalizerStage {
 public:
  static Result<StagePtr> create(const NormalizerStep& step);

  bool may_change(std::string_view text) const override;
  void apply(std::string_view text, bool with_origin, NormalizedText& out) const override;

 private:
  struct Match {
    size_t size = 0;  // 0: none
    uint32_t value = 0;
  };

  static uint32_t offset(uint32_t unit) { return (unit >> 10) << ((unit & 0x200U) >> 6); }
  static uint32_t label(uint32_t unit) { return unit & 0x800000FFU; }
  void find_plain();
  // The longest, or the shortest, key that begins `text`.
  Match find(std::string_view text, bool longest) const;
  std::string_view replacement(uint32_t value) const;
  // Both continue to `end` or a little further and return where they stopped.
  size_t scan(std::string_view text, size_t begin, size_t end, TextBuilder& out) const;
  size_t scan_graphemes(std::string_view text, size_t begin, size_t end, TextBuilder& out) const;
  void put_cluster(std::string_view text, size_t begin, size_t end, TextBuilder& out) const;
  // The end of the bytes from `at` on that stay as they are, taken fast.
  size_t plain_end(std::string_view text, size_t at) const;

  bool graphemes_ = false;
  std::vector<uint32_t> units_;
  std::string replacements_;
  std::array<bool, 256> begins_{};  // a key may begin with the byte
  // ASCII characters that are not keys and begin no key that continues in ASCII: they are kept
  // unless a character outside ASCII follows.
  std::array<bool, 128> plain_{};
  bool plain_graphic_ = true;  // ' ' to '~' all are plain
};

Result<StagePtr> CharsmapStage::create(const NormalizerStep& step) {
  auto made = std::make_shared<CharsmapStage>();
  made->graphemes_ = step.pattern == "grapheme";
  made->plain_.fill(true);
  if (step.content.empty()) return StagePtr(made);
  ByteReader reader(as_bytes(step.content), "charsmap");
  const auto n_bytes = TRY(reader.read<uint32_t>("size of the trie"));
  if (n_bytes % 4 != 0 || n_bytes == 0) {
    return reader.error("size of the trie", "is not a multiple of 4");
  }
  const Bytes units = TRY(reader.take(n_bytes, "trie"));
  made->units_.resize(n_bytes / 4);
  std::memcpy(made->units_.data(), units.data(), n_bytes);
  made->replacements_ = as_text(TRY(reader.take(reader.remaining(), "replacements")));
  made->find_plain();
  return StagePtr(made);
}

void CharsmapStage::find_plain() {
  const auto child = [&](uint64_t base, uint32_t byte) -> std::optional<uint32_t> {
    const uint64_t node = base ^ byte;
    if (node >= units_.size() || label(units_[node]) != byte) return std::nullopt;
    return units_[node];
  };
  const uint64_t root = offset(units_[0]);
  for (uint32_t byte = 1; byte < 256; ++byte) {
    const std::optional<uint32_t> unit = child(root, byte);
    begins_[byte] = unit.has_value();
    if (!unit || byte >= 128) continue;
    const uint64_t below = root ^ byte ^ offset(*unit);
    plain_[byte] = (*unit & 0x100U) == 0;
    for (uint32_t next = 1; next < 128; ++next) {
      if (child(below, next)) plain_[byte] = false;
    }
    if (byte >= ' ' && byte < 0x7F && !plain_[byte]) plain_graphic_ = false;
  }
}

CharsmapStage::Match CharsmapStage::find(std::string_view text, bool longest) const {
  Match found;
  if (units_.empty()) return found;
  uint64_t node = offset(units_[0]);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte == 0) break;
    node ^= byte;
    if (node >= units_.size() || label(units_[node]) != byte) break;
    const uint32_t unit = units_[node];
    node ^= offset(unit);
    if ((unit & 0x100U) == 0) continue;
    if (node >= units_.size()) break;
    found = {i + 1, units_[node] & 0x7FFFFFFFU};
    if (!longest) break;
  }
  return found;
}

std::string_view CharsmapStage::replacement(uint32_t value) const {
  if (value >= replacements_.size()) return {};
  const std::string_view rest = std::string_view(replacements_).substr(value);
  return rest.substr(0, rest.find('\0'));
}

size_t CharsmapStage::plain_end(std::string_view text, size_t at) const {
  constexpr uint64_t kHighs = 0x8080808080808080U;
  while (plain_graphic_ && at + 8 <= text.size()) {
    uint64_t eight = 0;
    std::memcpy(&eight, text.data() + at, 8);
    // Each byte from ' ' to '~'.
    const uint64_t low = (eight + 0x6060606060606060U) & kHighs;
    const uint64_t high = (eight + 0x0101010101010101U) & kHighs;
    if ((eight & kHighs) != 0 || low != kHighs || high != 0) break;
    at += 8;
  }
  while (at < text.size() && static_cast<uint8_t>(text[at]) < 0x80 &&
         plain_[static_cast<uint8_t>(text[at])]) {
    ++at;
  }
  return at;
}

bool CharsmapStage::may_change(std::string_view text) const {
  for (size_t at = 0; at < text.size();) {
    const size_t stop = plain_end(text, at);
    if (stop == text.size()) return false;
    // The plain character before may begin a key with this one.
    for (size_t i = stop > at ? stop - 1 : stop; i <= stop; ++i) {
      if (begins_[static_cast<uint8_t>(text[i])] && find(text.substr(i), false).size > 0) {
        return true;
      }
    }
    const CodePoint c = read_char(text, stop);
    if (!c.valid && !graphemes_) return true;
    at = stop + c.size;
  }
  return false;
}

size_t CharsmapStage::scan(std::string_view text, size_t begin, size_t end,
                           TextBuilder& out) const {
  size_t at = begin;
  while (at < end) {
    const bool may = begins_[static_cast<uint8_t>(text[at])];
    const Match match = may ? find(text.substr(at), true) : Match{};
    if (match.size > 0) {
      out.put(replacement(match.value), at);
      at += match.size;
      continue;
    }
    const CodePoint c = read_char(text, at);
    out.put(c.valid ? text.substr(at, c.size) : kReplacementText, at);
    at += c.size;
  }
  return at;
}

void CharsmapStage::put_cluster(std::string_view text, size_t begin, size_t end,
                                TextBuilder& out) const {
  if (end - begin < kGraphemeLimit) {
    const Match match = find(text.substr(begin, end - begin), false);
    if (match.size > 0) return out.put(replacement(match.value), begin);
  }
  for (size_t at = begin; at < end;) {
    const size_t size = read_char(text, at).size;
    const Match match = find(text.substr(at, size), false);
    out.put(match.size > 0 ? replacement(match.value) : text.substr(at, size), at);
    at += size;
  }
}

size_t CharsmapStage::scan_graphemes(std::string_view text, size_t begin, size_t end,
                                     TextBuilder& out) const {
  utf8proc_int32_t state = 0;
  utf8proc_int32_t before = 0;
  size_t cluster = begin;
  for (size_t at = begin; at < end;) {
    const CodePoint c = read_char(text, at);
    const auto now = is_new_mark(c.value)
                         ? kMark
                         : static_cast<utf8proc_int32_t>(c.valid ? c.value : kReplacement);
    if (at > begin && utf8proc_grapheme_break_stateful(before, now, &state)) {
      put_cluster(text, cluster, at, out);
      cluster = at;
    }
    before = now;
    at += c.size;
  }
  put_cluster(text, cluster, end, out);
  return end;
}

void CharsmapStage::apply(std::string_view text, bool with_origin, NormalizedText& out) const {
  TextBuilder builder(out, with_origin);
  out.text.reserve(text.size() + text.size() / 8);
  for (size_t at = 0; at < text.size();) {
    size_t plain = plain_end(text, at);
    // The last character may begin a cluster, or a key of several characters.
    if (plain < text.size() && plain > at) --plain;
    builder.copy(text, at, plain);
    at = plain;
    size_t end = at;
    while (end < text.size()) {
      const size_t stop = plain_end(text, end);
      // Two plain characters: the first ends a cluster and the second begins another.
      if (stop >= end + 2 || (stop > end && stop == text.size())) {
        end = stop == text.size() ? stop : end + 1;
        break;
      }
      end = stop > end ? stop : end + read_char(text, end).size;
    }
    at = graphemes_ ? scan_graphemes(text, at, end, builder) : scan(text, at, end, builder);
  }
  builder.finish(text.size());
}

}  // namespace

Result<StagePtr> make_charsmap_stage(const NormalizerStep& step) {
  return CharsmapStage::create(step);
}

}  // namespace ruv

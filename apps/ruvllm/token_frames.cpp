// One buffer each way; nothing is converted but on big-endian machines, which we do not build for.
#include "token_frames.h"

#include <bit>
#include <cstdio>
#include <cstring>

namespace ruv {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kLongestFrame = 1U << 30;

// Reads n_bytes; false when stdin ends before.
bool read_exactly(void* to, size_t n_bytes) { return std::fread(to, 1, n_bytes, stdin) == n_bytes; }

void write_frame(uint32_t count, const void* items, size_t n_bytes) {
  std::fwrite(&count, 1, sizeof(count), stdout);
  std::fwrite(items, 1, n_bytes, stdout);
}

Status answer_text(const Tokenizer& tokenizer, uint32_t n_bytes, SpecialParsing special,
                   int64_t number) {
  std::string text(n_bytes, '\0');
  if (!read_exactly(text.data(), n_bytes))
    return fail(Code::corrupt, "frame {}: ends before its {} bytes", number, n_bytes);
  std::vector<Token> ids;
  tokenizer.encode(text, special, false, ids);
  write_frame(static_cast<uint32_t>(ids.size()), ids.data(), ids.size() * sizeof(Token));
  return {};
}

Status answer_ids(const Tokenizer& tokenizer, uint32_t n_ids, bool special, int64_t number) {
  std::vector<Token> ids(n_ids);
  if (!read_exactly(ids.data(), n_ids * sizeof(Token)))
    return fail(Code::corrupt, "frame {}: ends before its {} ids", number, n_ids);
  for (const Token id : ids) {
    if (id < 0 || id >= tokenizer.vocab_size())
      return fail(Code::corrupt, "frame {}: id {} is outside of the vocabulary of {}", number, id,
                  tokenizer.vocab_size());
  }
  const std::string text = tokenizer.decode(ids, special);
  write_frame(static_cast<uint32_t>(text.size()), text.data(), text.size());
  return {};
}

}  // namespace

Status answer_frames(const Tokenizer& tokenizer, const FrameWork& work) {
  uint32_t count = 0;
  const SpecialParsing special = work.special ? SpecialParsing::on : SpecialParsing::off;
  for (int64_t number = 1;; ++number) {
    const size_t n_read = std::fread(&count, 1, sizeof(count), stdin);
    if (n_read == 0) break;
    if (n_read != sizeof(count)) return fail(Code::corrupt, "frame {}: half a length", number);
    if (count > kLongestFrame / (work.decode ? sizeof(Token) : 1))
      return fail(Code::corrupt, "frame {}: {} items are too many", number, count);
    TRY(work.decode ? answer_ids(tokenizer, count, work.special, number)
                    : answer_text(tokenizer, count, special, number));
  }
  std::fflush(stdout);
  return {};
}

}  // namespace ruv

// One buffer each way; nothing is converted but on big-endian machines, which we do not build for.
#include "token_frames.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace ruv {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kLongestFrame = 1U << 30;

// stdin in large blocks. What was answered is flushed before it waits for more, so that a program
// may wait for its answers before it continues.
class Input {
 public:
  Input() : block_(size_t{1} << 18) {}

  // Bytes read to `to`: fewer than n_bytes only at the end of stdin.
  size_t read(void* to, size_t n_bytes) {
    size_t n_read = 0;
    while (n_read < n_bytes) {
      if (begin_ == end_ && !fill()) break;
      const size_t n = std::min(n_bytes - n_read, end_ - begin_);
      std::memcpy(static_cast<char*>(to) + n_read, block_.data() + begin_, n);
      begin_ += n;
      n_read += n;
    }
    return n_read;
  }

 private:
  bool fill() {
    std::fflush(stdout);
    ssize_t n = 0;
    do {
      n = ::read(STDIN_FILENO, block_.data(), block_.size());
    } while (n < 0 && errno == EINTR);
    begin_ = 0;
    end_ = n > 0 ? static_cast<size_t>(n) : 0;
    return end_ > 0;
  }

  std::vector<char> block_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

void write_frame(uint32_t count, const void* items, size_t n_bytes) {
  std::fwrite(&count, 1, sizeof(count), stdout);
  std::fwrite(items, 1, n_bytes, stdout);
}

Status answer_text(const Tokenizer& tokenizer, Input& in, uint32_t n_bytes, const FrameWork& work,
                   int64_t number) {
  std::string text(n_bytes, '\0');
  if (in.read(text.data(), n_bytes) != n_bytes)
    return fail(Code::corrupt, "frame {}: ends before its {} bytes", number, n_bytes);
  std::vector<Token> ids;
  const TextPart part{text, work.special ? SpecialParsing::on : SpecialParsing::off};
  TokenSink sink(&ids);
  sink.limit_threads(work.n_threads);
  tokenizer.encode_parts({&part, 1}, false, sink);
  write_frame(static_cast<uint32_t>(ids.size()), ids.data(), ids.size() * sizeof(Token));
  return {};
}

Status answer_ids(const Tokenizer& tokenizer, Input& in, uint32_t n_ids, bool special,
                  int64_t number) {
  std::vector<Token> ids(n_ids);
  if (in.read(ids.data(), n_ids * sizeof(Token)) != n_ids * sizeof(Token))
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
  Input in;
  uint32_t count = 0;
  for (int64_t number = 1;; ++number) {
    const size_t n_read = in.read(&count, sizeof(count));
    if (n_read == 0) break;
    if (n_read != sizeof(count))
      return fail(Code::corrupt, "frame {}: ends inside its length", number);
    if (count > kLongestFrame / (work.decode ? sizeof(Token) : 1))
      return fail(Code::corrupt, "frame {}: {} items are too many", number, count);
    TRY(work.decode ? answer_ids(tokenizer, in, count, work.special, number)
                    : answer_text(tokenizer, in, count, work, number));
  }
  std::fflush(stdout);
  return {};
}

}  // namespace ruv

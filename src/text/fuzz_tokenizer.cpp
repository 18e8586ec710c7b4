// Encodes hostile bytes with a small tokenizer of each kind and decodes what comes out; streams and
// whole texts must agree.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/utf8.h"
#include "text/incremental_encoder.h"
#include "text/test_vocabularies.h"

namespace {

using namespace ruv;

std::vector<std::shared_ptr<const Tokenizer>> all_tokenizers() {
  std::vector<std::shared_ptr<const Tokenizer>> all;
  for (const char* scheme :
       {"gpt-2", "llama-bpe", "qwen2", "qwen35", "gpt-4o", "tekken", "falcon", "starcoder",
        "default", "deepseek-llm", "deepseek-coder", "deepseek-v3"}) {
    TokenizerSpec spec = byte_test_spec({"h e", "Ġ h", "a a", "aa aa", "Ã ©"}, scheme);
    if (all.size() % 2 == 1) spec.normalizers = {{.kind = NormalizerKind::nfc}};
    all.push_back(test_tokenizer(std::move(spec)));
  }
  TokenizerSpec pieces = piece_test_spec({"▁", "a", "b", "ab", "▁a", "▁▁", "é"});
  for (AddedToken& added : pieces.added) added.lstrip = added.rstrip = true;
  all.push_back(test_tokenizer(pieces));
  pieces.split_at_spaces = true;
  pieces.remove_extra_spaces = true;
  all.push_back(test_tokenizer(pieces));
  pieces.byte_fallback = false;
  all.push_back(test_tokenizer(pieces));
  // Ranks by id, as tiktoken has them, in an order that no training gives.
  TokenizerSpec ranks = byte_test_spec({"a b", "Ġ ab", "b a", "ab ab", "a a", "aa b", "b b"});
  ranks.merges.clear();
  all.push_back(test_tokenizer(ranks));
  ranks.ignore_merges = true;
  all.push_back(test_tokenizer(ranks));
  return all;
}

// Places, threads, counts and what is kept from a prompt before change no id.
void check_ways(const std::shared_ptr<const Tokenizer>& tokenizer, std::span<const TextPart> parts,
                const std::vector<Token>& ids) {
  size_t n_bytes = 0;
  for (const TextPart& part : parts) n_bytes += part.text.size();
  std::vector<Token> placed;
  std::vector<TokenSpan> spans;
  TokenSink sink(&placed, &spans);
  sink.limit_threads(2);
  tokenizer->encode_parts(parts, false, sink);
  CHECK(placed == ids && spans.size() == ids.size() && sink.at() == n_bytes);
  for (const TokenSpan& span : spans) CHECK(span.begin <= span.end && span.end <= n_bytes);
  TokenSink counter(nullptr);
  tokenizer->encode_parts(parts, false, counter);
  CHECK(counter.n_tokens() == ids.size());
  IncrementalEncoder encoder(tokenizer);
  encoder.encode(parts.first(1));
  CHECK(encoder.encode(parts) == ids);
}

void check_one(const std::shared_ptr<const Tokenizer>& shared, std::string_view text, size_t cut) {
  const Tokenizer& tokenizer = *shared;
  const TextPart parts[] = {{text.substr(0, cut), SpecialParsing::on},
                            {text.substr(cut), SpecialParsing::off}};
  std::vector<Token> ids;
  tokenizer.encode_parts(parts, false, ids);
  check_ways(shared, parts, ids);
  Detokenizer stream(tokenizer, true, false);
  std::string streamed;
  for (const Token id : ids) {
    CHECK(id >= 0 && id < tokenizer.vocab_size());
    const std::string part = stream.push(id);
    CHECK(is_valid_utf8(part));
    streamed += part;
  }
  streamed += stream.finish();
  const std::string whole = tokenizer.decode(ids, true);
  CHECK(streamed == tokenizer.valid_text(whole));
  const TokenizerSpec& spec = tokenizer.spec();
  if (spec.kind == TokenizerKind::byte_bpe && spec.normalizers.empty()) CHECK(whole == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const auto kTokenizers = all_tokenizers();
  if (size < 1) return 0;
  const std::string_view text(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  const size_t cut = text.empty() ? 0 : bytes[0] % (text.size() + 1);
  for (const auto& tokenizer : kTokenizers) check_one(tokenizer, text, cut);
  return 0;
}

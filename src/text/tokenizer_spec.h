// TokenizerSpec: a tokenizer as data. Readers of GGUF, tokenizer.json, SentencePiece models,
// tiktoken ranks and RWKV vocabularies fill it; Tokenizer::create picks the algorithm by `kind`. A
// text passes through the normalizers, then the splits, then the algorithm. Fields that concern
// only some kinds name them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "text/token_index.h"

namespace ruv {

// The algorithm that turns words into tokens.
enum class TokenizerKind : uint8_t {
  byte_bpe,           // GPT-2 style: splits, byte alphabet, ranked merges
  sentencepiece_bpe,  // GGUF "llama": ▁ for space, merges by score or rank, byte fallback
  unigram,            // GGUF "t5": the most probable pieces (Kudo, 2018), ▁ for space
  wordpiece,          // GGUF "bert": greedy longest pieces inside words
  rwkv_world,         // greedy longest tokens over the bytes of the whole text
};

// As GGUF's token types: normal tokens come from text, control tokens only from templates, byte
// tokens from characters that have no token.
enum class TokenKind : uint8_t { normal, unknown, control, user_defined, unused, byte };

// Text that becomes one id wherever it appears, before any other splitting.
struct AddedToken {
  Token id = 0;
  std::string text;
  bool special = false;      // control: matched only when special parsing is on
  bool lstrip = false;       // eats white space before it
  bool rstrip = false;       // and after it
  bool single_word = false;  // only between non-word characters
  bool normalized = false;   // matched in the normalised text
};

// The steps of tokenizer.json's normalizers and of SentencePiece's.
enum class NormalizerKind : uint8_t {
  nfc,
  nfd,
  nfkc,
  nfkd,
  lowercase,      // Unicode, a character at a time
  strip_accents,  // drops non-spacing marks
  strip_left,     // white space at the beginning, and at the end
  strip_right,
  clean_text,        // BERT: controls dropped, white space becomes a space
  space_ideographs,  // BERT: spaces around CJK characters
  nmt,               // SentencePiece's nmt rules without tables
  prepend,           // `content` before a text that is not empty
  replace_text,      // every `pattern` by `content`
  replace_regex,     // every match of the regular expression `pattern` by `content`
  charsmap,          // `content`: a SentencePiece precompiled_charsmap
};

// One step with its parameters; see NormalizerKind for the ones that use them.
struct NormalizerStep {
  NormalizerKind kind = NormalizerKind::nfc;
  std::string pattern{};
  std::string content{};
};

// What happens to the matches of a split; names as in tokenizer.json.
enum class SplitBehavior : uint8_t {
  isolated,
  removed,
  merged_with_previous,
  merged_with_next,
  contiguous,
};

// Cuts each piece of the step before at the matches of a regular expression as tokenizer.json files
// write them (Oniguruma syntax).
struct SplitStep {
  std::string regex{};
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;  // what does not match is the delimiter
};

struct TokenizerSpec {
  TokenizerKind kind = TokenizerKind::byte_bpe;
  // How words are split: the steps in `splits`, or if there are none, the scheme `pre` by its GGUF
  // name: "gpt-2", "llama-bpe", "qwen2", …
  std::string pre;
  std::vector<SplitStep> splits;
  std::vector<NormalizerStep> normalizers;
  // tokens[id] as stored. byte_bpe: in the GPT-2 byte alphabet unless raw_tokens. Kinds with ▁: ▁
  // for the space. wordpiece: with `continuing_prefix` on pieces inside a word.
  std::vector<std::string> tokens;
  bool raw_tokens = false;       // byte_bpe, rwkv_world: tokens are the bytes themselves
  std::vector<TokenKind> kinds;  // one per token
  std::vector<float> scores;     // sentencepiece_bpe, unigram: one per token
  // unigram from tokenizer.json: the scores in double precision, which decides near ties; empty
  // elsewhere.
  std::vector<double> wide_scores;
  // Ranked merges "left right": byte_bpe, and sentencepiece_bpe from tokenizer.json (then scores
  // are empty and the rank decides). byte_bpe without merges ranks results by id, as tiktoken does.
  std::vector<std::string> merges;
  // Matched before splitting; ids must be in `tokens`.
  std::vector<AddedToken> added;
  std::optional<Token> bos, eos, unk, pad;
  // Ids that end an answer besides eos (end of turn), for example <|eot_id|>.
  std::vector<Token> end_of_turn;
  // Whether tokens are put before and after a prompt: bos and eos, or in their place those of
  // `lead` and `trail`, which a tokenizer.json states whatever bos and eos are called.
  bool add_bos = false;
  bool add_eos = false;
  std::vector<Token> lead, trail;
  bool add_space_prefix = false;  // ▁ before the first text
  bool ignore_merges = false;     // byte_bpe: a whole word in the vocabulary is taken as it is
  // byte_bpe: what ends the tokens that end a word (CLIP: "</w>"); they decode to a space after it.
  std::string word_end;
  bool byte_fallback = true;  // sentencepiece_bpe, unigram: unknown characters become <0xXX>
  bool fuse_unknown = true;   // unknown characters in a row are one unknown token
  bool remove_extra_spaces = false;
  // The text of an unknown token where control tokens have none; only SentencePiece models have it.
  std::string unknown_text;
  // Finer rules of tokenizer.json's Metaspace; GGUF files leave them off.
  bool prefix_first_only = false;    // ▁ not repeated after each added token
  bool prefix_before_added = false;  // ▁ alone before a text that begins with an added token
  bool prefix_if_missing = false;    // no ▁ before a text that begins with a space itself
  bool split_at_spaces = false;      // no piece crosses the space before a word
  bool prefix_each_word = false;     // ▁ before every piece that `splits` makes (T5)
  // wordpiece
  std::string continuing_prefix = "##";
  uint32_t max_word_chars = 100;  // longer words are unknown
  bool cleanup_spaces = false;    // decoding drops the space before punctuation, as BERT's does

  // The tokens that a prompt begins and ends with.
  std::span<const Token> first_tokens() const { return around(add_bos, lead, bos); }
  std::span<const Token> last_tokens() const { return around(add_eos, trail, eos); }

 private:
  static std::span<const Token> around(bool adds, const std::vector<Token>& stated,
                                       const std::optional<Token>& usual) {
    if (!adds) return {};
    if (!stated.empty()) return stated;
    return usual ? std::span(&*usual, 1) : std::span<const Token>();
  }
};

}  // namespace ruv

// BpeCore: the tokens of words, whichever way is shortest and exact: the whole word as one token,
// a word seen before, the search by trees, and where the trees do not hold, merging itself.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>

#include "text/bpe/merge_trees.h"
#include "text/bpe/vocabulary.h"
#include "text/bpe/word_cache.h"
#include "text/bpe/word_search.h"
#include "text/normalize/normalizer.h"
#include "text/split/pre_tokenizer.h"
#include "text/token_sink.h"

namespace ruv {

class BpeCore {
 public:
  struct Options {
    BpeSymbols symbols = BpeSymbols::bytes;
    bool take_whole_words = false;  // a word that is a token is not merged
    // What symbols without a token become: in characters, the tokens of their bytes when all are
    // there; else `unknown`; else nothing.
    std::array<Token, 256> fallback_bytes{};  // -1 where missing; characters only
    Token unknown = -1;
    bool fuse_unknown = false;  // unknown neighbours are one token
  };
  // What one call of encode works with. Pooled, so that later calls find a warm cache.
  struct Scratch {
    explicit Scratch(const BpeCore& core)
        : search(core.vocabulary_, core.trees_, core.options_.symbols, core.byte_tokens_) {}
    WordCache cache;
    WordSearch search;
    SymbolMerger merger;
    std::vector<Symbol> symbols;
    std::vector<Token> ids;
    std::vector<Word> words;  // for the caller, as `text`
    NormalizedText text;
    std::string padded;          // a word whose end is too near the end of the text
    bool after_unknown = false;  // the last symbol was unknown; the caller resets it
  };
  class Lease {
   public:
    explicit Lease(const BpeCore& core);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Scratch& operator*() { return *scratch_; }
    Scratch* operator->() { return scratch_.get(); }

   private:
    const BpeCore& core_;
    std::unique_ptr<Scratch> scratch_;
  };

  // Requires: `vocabulary` is finished; ids are in it.
  BpeCore(Vocabulary vocabulary, MergeTrees::Rules rules, const Options& options);
  BpeCore(const BpeCore&) = delete;
  BpeCore& operator=(const BpeCore&) = delete;

  const Vocabulary& vocabulary() const { return vocabulary_; }

  // What a word becomes may depend on the word before it.
  bool joins_words() const {
    const auto& bytes = options_.fallback_bytes;
    const bool all_known = *std::min_element(bytes.begin(), bytes.end()) >= 0;
    return options_.fuse_unknown && options_.unknown >= 0 && !all_known;
  }

  // Sends the tokens of words of `text`, in order, to a sink that stands where the text begins, and
  // leaves it there. Thread-safe; `scratch` is the caller's alone. Requires: no word is empty.
  void encode_words(std::string_view text, std::span<const Word> words, Scratch& scratch,
                    TokenSink& sink) const;
  // The tokens of a word by merging alone: what all other ways must agree with.
  void merge_word(std::string_view word, Scratch& scratch, TokenSink& sink) const;

 private:
  struct Probe {
    WordKey key;
    uint64_t hash = 0;
  };
  static constexpr size_t kBlock = 64;

  void encode_block(const char* text, std::span<const Word> words, Scratch& scratch,
                    TokenSink& sink) const;
  void encode_word(std::string_view word, const Probe& probe, Scratch& scratch,
                   TokenSink& sink) const;
  bool search_word(std::string_view word, Scratch& scratch) const;
  bool merge_tokens(std::string_view word, Scratch& scratch) const;
  void merge_symbols(std::string_view word, Scratch& scratch) const;
  void send_symbol(std::string_view text, Token id, Scratch& scratch, TokenSink& sink) const;
  bool send_long_word(std::string_view word, Scratch& scratch, TokenSink& sink) const;
  void send_ids(std::span<const Token> ids, TokenSink& sink) const;
  void flush(Scratch& scratch, TokenSink& sink) const;
  bool is_whole(const Vocabulary::Entry& entry) const;
  bool has_fallback(std::string_view character) const;
  bool may_be_part(std::string_view character) const;
  void note_characters();
  void find_parts() const;

  Vocabulary vocabulary_;
  Options options_;
  std::array<Token, 256> byte_tokens_{};
  MergeTrees trees_;
  // By text, characters that are no tokens but part of longer ones: a bit per hash of those that
  // are part of any, and, found when the bits first say yes, their keys in order.
  std::vector<uint64_t> part_bits_;
  mutable std::once_flag parts_found_;
  mutable std::vector<WordKey> parts_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Scratch>> pool_;
};

}  // namespace ruv

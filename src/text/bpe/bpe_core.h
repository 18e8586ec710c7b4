// BpeCore: turns words into tokens by the cheapest way that is exact. In this order:
//
//   1. the whole word is one token (where the tokenizer allows it, or merging would make it);
//   2. the word is in a cache of recent short words;
//   3. WordSearch finds the tokens by longest match and pair tests, in linear time;
//   4. where the merge trees cannot describe the vocabulary, merging itself decides.
//
// All four give the same tokens: those of applying the ranked merges one by one (merge_word), which
// the tests use as the definition.
#pragma once

#include <algorithm>
#include <array>
#include <memory>

#include "base/once.h"
#include "base/thread.h"
#include "text/bpe/merge_trees.h"
#include "text/bpe/vocabulary.h"
#include "text/bpe/word_cache.h"
#include "text/bpe/word_search.h"
#include "text/normalize/normalizer.h"
#include "text/split/pre_tokenizer.h"
#include "text/token_sink.h"

namespace ruv {

// Immutable after construction except for the pool of scratch memory; any number of threads may
// encode at once.
class BpeCore {
 public:
  struct Options {
    BpeSymbols symbols = BpeSymbols::bytes;
    bool take_whole_words = false;  // a word that is a token is not merged
    // What symbols without a token become: for characters, the tokens of their bytes when all of
    // those exist; otherwise `unknown`; otherwise nothing.
    std::array<Token, 256> fallback_bytes{};  // -1 where missing; characters only
    Token unknown = -1;
    bool fuse_unknown = false;  // unknown neighbours are one token
  };
  // Working memory of one call of encode. Pooled, so that later calls find a warm cache; about 0.7
  // MB each, most of it WordCache.
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
  // Borrows a Scratch from the pool of a BpeCore and returns it.
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

  // Whether the tokens of a word may depend on the word before it: unknown neighbours fuse. Such
  // texts cannot be encoded in parallel.
  bool joins_words() const {
    const auto& bytes = options_.fallback_bytes;
    const bool all_known = *std::min_element(bytes.begin(), bytes.end()) >= 0;
    return options_.fuse_unknown && options_.unknown >= 0 && !all_known;
  }

  // Sends the tokens of words of `text`, in order. The sink's position must be the start of `text`,
  // and is there again afterwards. Thread-safe; `scratch` belongs to the caller. Requires: no word
  // is empty.
  void encode_words(std::string_view text, std::span<const Word> words, Scratch& scratch,
                    TokenSink& sink) const;
  // The tokens of a word by merging alone: the definition that all faster ways must agree with. O(n
  // log n) for n symbols.
  void merge_word(std::string_view word, Scratch& scratch, TokenSink& sink) const;

 private:
  // A word's key and hash, computed for a block of words ahead so that their loads overlap.
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
  // With merges by text: characters that are not tokens but occur in longer ones. part_bits_ has a
  // bit per hash of those; their keys, in order, are collected when a bit first says yes.
  std::vector<uint64_t> part_bits_;
  mutable Once parts_found_;
  mutable std::vector<WordKey> parts_;
  mutable Mutex mutex_;
  mutable std::vector<std::unique_ptr<Scratch>> pool_;
};

}  // namespace ruv

// parallel_encode: one thread cuts a long text into words while others encode stretches of them.
// Where words begin depends on all the text before; what a word becomes does not. The tokens
// therefore equal those of one thread.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "text/split/word.h"
#include "text/token_sink.h"

namespace ruv {

// Below this size, starting threads costs more than it saves.
inline constexpr size_t kParallelBytes = size_t{1} << 18;

struct WordWork {
  // As PreTokenizer::next_words. Called by one thread.
  std::function<bool(size_t& at, std::vector<Word>& words)> next_words;
  // Sends the tokens of words to a sink positioned at the start of the text, and leaves it after
  // the last word. May be called by any thread.
  std::function<void(std::span<const Word> words, TokenSink& sink)> encode;
};

// The number of threads worth using for n_bytes, within the sink's limit.
int threads_for(size_t n_bytes, const TokenSink& sink);

// Uses n_threads threads including the caller. An exception thrown by `work` is rethrown; the sink
// then holds part of the tokens.
void parallel_encode(const WordWork& work, int n_threads, TokenSink& sink);

}  // namespace ruv

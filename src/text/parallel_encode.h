// parallel_encode: one thread cuts a long text into words, others encode stretches of them as they
// come. Where words begin depends on all the text before; what a word becomes does not. So the
// tokens are those of one thread.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "text/split/word.h"
#include "text/token_sink.h"

namespace ruv {

// Shorter texts are not worth starting threads for.
inline constexpr size_t kParallelBytes = size_t{1} << 18;

struct WordWork {
  // As PreTokenizer::next_words. Called by one thread.
  std::function<bool(size_t& at, std::vector<Word>& words)> next_words;
  // Sends the tokens of words to a sink that stands where the text begins, and leaves it behind the
  // last word. Called by any thread.
  std::function<void(std::span<const Word> words, TokenSink& sink)> encode;
};

// The threads that a text of n_bytes is worth, within what the sink allows.
int threads_for(size_t n_bytes, const TokenSink& sink);

// Uses n_threads threads, the caller among them. What `work` throws is thrown again; the sink has
// then got a part of the tokens.
void parallel_encode(const WordWork& work, int n_threads, TokenSink& sink);

}  // namespace ruv

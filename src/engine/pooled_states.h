// pooled_states: hidden states of many texts through an engine, without filling its queue.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "ruv/engine.h"

namespace ruv {

// Texts whose states are wanted.
struct PooledTexts {
  std::vector<std::vector<Token>> ids;
  std::vector<int64_t> second_texts = {};  // Request::second_text of each; empty: 0
  Pooling pooling = Pooling::last;
  ServiceTerms terms = {};
  std::string_view what = "text";  // begins the errors of one of several, with its number from 1
};

// Calls on_states(states, number of tokens) for each text, in their order. A window of requests is
// open: the next one is submitted when the oldest is done, or, where the queue is full for other
// reasons, once one of these leaves it. Waits. Fails: as Engine::stream, deadline, cancelled; the
// first failure ends all.
Status pooled_states(Engine& engine, PooledTexts texts,
                     const std::function<void(std::vector<float>, int64_t)>& on_states);

}  // namespace ruv

// ScriptedExecutor: an executor without a model. What it keeps in a token's slot of a page, and the
// logits it gives, are hashes of all slots before it, read from the pages, of tiered pages as
// attention reads them: a wrong, stale or shared page or tail changes the answer. Layers with a
// window keep a hash of what the first layer keeps, and are read as far as a window reaches. A row
// of a medium is one number, which says what it is part of. scripted_answer says what the answer
// must be, without pages.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "cache/content_cells.h"
#include "engine/context_shift.h"
#include "engine/executor.h"
#include "engine/prompt_media.h"
#include "engine/sample/test_sampler.h"
#include "engine/step_cost.h"

namespace ruv {

class FakeClock final : public Clock {
 public:
  int64_t now_ns() const override { return now_ns_; }
  void advance_ns(int64_t ns) { now_ns_ += ns; }

 private:
  int64_t now_ns_ = 1'000'000'000;
};

// What a token's slot keeps, never 0: that is a cleared slot. Of tiered pages `tail` in the tail.
struct ScriptedSlot {
  uint32_t store;
  uint32_t tail;
};

// A text as the scripted model sees it.
class ScriptedState {
 public:
  explicit ScriptedState(bool tiered) : tiered_(tiered) {}

  // The next token, or number of a medium's row; `shift`: by how much its position is smaller than
  // its place. Returns what its slot keeps.
  ScriptedSlot push(Token token, int64_t shift = 0) {
    last_ = token;
    begin_group();
    const auto placed = static_cast<uint64_t>(token) ^ static_cast<uint64_t>(shift) << 32;
    const uint32_t kept = mix(sum_ ^ placed) | 1;
    const ScriptedSlot slot = {tiered_ ? mix(kept) | 1 : kept, kept};
    push_kept(slot);
    return slot;
  }
  // A token of which only the slot is known, but for the last one. Its tail does not matter where a
  // later group follows.
  void push_kept(ScriptedSlot slot) {
    begin_group();
    sum_ = sum_ * kFactor + slot.tail;
    old_sum_ = old_sum_ * kFactor + slot.store;
    ++n_tokens_;
  }

  // Three of four times the likeliest next token follows from the last one alone, so that guesses
  // may be right.
  void logits(std::span<float> out) const {
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<float>(mix(sum_ + i + 1) >> 8) * 0x1p-24F;
    }
    if ((mix(sum_) & 3) == 0) return;
    const auto follows = (static_cast<size_t>(last_) * 5 + 3) % out.size();
    out[follows] += 2;
  }

 private:
  static constexpr uint64_t kFactor = 0x9E3779B97F4A7C15ULL;

  void begin_group() {
    if (tiered_ && n_tokens_ % kGroupTokens == 0) sum_ = old_sum_;
  }
  static uint32_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return static_cast<uint32_t>(x >> 32);
  }
  bool tiered_;
  int64_t n_tokens_ = 0;
  uint64_t sum_ = 1;
  uint64_t old_sum_ = 1;  // of what the store keeps
  Token last_ = 0;
};

// What the number of a medium's row says.
struct ScriptedRow {
  int32_t content = 0;
  int32_t n_rows = 0;  // of the medium, below 128
  int32_t row = 0;
  bool whole = false;

  Token number() const { return ((content * 128 + n_rows) * 128 + row) * 2 + whole; }
  static ScriptedRow of(Token number) {
    return {number >> 15, number >> 8 & 127, number >> 1 & 127, (number & 1) != 0};
  }
};

// `n_rows` rows, all at one position or, as text is, at one each.
inline MediaSpan scripted_media(int32_t content, int64_t begin, int32_t n_rows, bool whole,
                                bool as_text) {
  MediaSpan span;
  span.rows = {begin, begin + n_rows};
  span.whole = whole;
  const int32_t all[] = {content, n_rows, whole, as_text};
  const ContentCells cells(std::as_bytes(std::span(all)), {1, 2});
  std::vector<float> embeddings;
  for (int32_t row = 0; row < n_rows; ++row) {
    span.cells.push_back(cells.at(row));
    span.positions.push_back(as_text ? Position{row, row, row} : Position{0, 0, 0});
    embeddings.push_back(static_cast<float>(ScriptedRow{content, n_rows, row, whole}.number()));
  }
  span.embeddings = default_device()->vector(std::move(embeddings)).value().memory;
  return span;
}

// The running state: of all tokens so far.
struct RunningHash {
  uint64_t sum = 0;
  int64_t n_tokens = 0;

  void push(ScriptedSlot slot) {
    sum = sum * 0x9E3779B97F4A7C15ULL + slot.store;
    ++n_tokens;
  }
  // As a layer keeps it: zeros before the first token, as in a cleared frame.
  RunningHash in_layer(int64_t layer) const {
    return {n_tokens == 0 ? 0 : sum ^ static_cast<uint64_t>(layer), n_tokens};
  }
  bool operator==(const RunningHash&) const = default;
};

// What the scripted model keeps.
struct ScriptedLayers {
  bool tiered = false;
  std::vector<int64_t> windows = {};  // of layers beside the first, which keeps all tokens
  bool has_state = false;             // the last layer keeps a running state and no tokens
  bool has_both = false;              // the first layer keeps a running state beside its tokens
  int64_t state_bytes = sizeof(RunningHash);  // at least as many

  bool any_state() const { return has_state || has_both; }

  // Layers of unequal shapes, the keys of each with room for a number per token.
  CacheLayout layout() const {
    const KvType type = tiered ? KvType::int4 : KvType::f16;
    CacheLayout layout = {{{{1, 8, 8, type, has_both ? state_bytes : 0}, 0}}};
    for (const int64_t window : windows)
      layout.layers.push_back({{2, 8, 4 + window % 5, type}, window});
    if (has_state) layout.layers.push_back({KvShape{.state_bytes = state_bytes}});
    return layout;
  }
};

class ScriptedExecutor final : public Executor {
 public:
  // `frames`: of tails and windows.
  ScriptedExecutor(int64_t n_pages, int64_t n_vocab, FakeClock& clock,
                   const ScriptedLayers& layers = {}, const FrameLimits& frames = {})
      : pages_(std::move(*KvPages::create(layers.layout(), n_pages, frames))),
        n_vocab_(n_vocab),
        clock_(&clock) {
    EXPECT_GE(pages_.settled(0).shape().key_bytes(), kPageTokens * int64_t{sizeof(uint32_t)});
    for (int64_t layer = 0; layer < pages_.n_layers(); ++layer) {
      const KvShape& shape = pages_.layout().layers[static_cast<size_t>(layer)].shape;
      n_token_layers_ += shape.has_tokens();
      if (shape.has_state()) state_layers_.push_back(layer);
    }
  }

  // The next step stops in the middle, as if its flag had become true there.
  void abort_next() { aborts_ = true; }
  int64_t n_rows() const { return n_rows_; }
  int64_t n_aborted() const { return n_aborted_; }
  // What its steps take from now on.
  void set_cost(const StepCost& cost) { cost_ = cost; }
  // Of all that it was told to compute, in order.
  uint64_t trace() const { return trace_; }

  std::optional<StepResult> run(const Batch& batch, const StopFlag& /*stop*/) override {
    StepShape shape;
    for (const BatchSequence& sequence : batch.sequences) {
      shape = shape + StepShape::of(sequence.first_position, sequence.n_rows);
    }
    shape.n_outputs = std::ssize(batch.logit_rows);
    clock_->advance_ns(static_cast<int64_t>(cost_.step_ms(shape) * 1e6));
    n_rows_ += batch.n_rows();
    numbers_ = numbers_of(batch);
    follow(batch);
    writers_.clear();
    logits_.assign(batch.logit_rows.size() * static_cast<size_t>(n_vocab_), -1);
    n_outputs_ = 0;
    size_t n_done = 0;
    for (const BatchSequence& sequence : batch.sequences) {
      if (aborts_ && n_done++ * 2 >= batch.sequences.size()) break;
      compute(batch, sequence);
    }
    n_aborted_ += aborts_;
    if (std::exchange(aborts_, false)) return std::nullopt;
    EXPECT_EQ(n_outputs_, batch.logit_rows.size());
    return StepResult{{logits_.data(), static_cast<int64_t>(n_outputs_), n_vocab_}, {}};
  }
  KvPages& pages() override { return pages_; }

 private:
  void follow(const Batch& batch) {
    const auto add = [&](int64_t value) {
      trace_ = (trace_ ^ static_cast<uint64_t>(value)) * 0x100000001B3ULL + 1;
    };
    for (const Token number : numbers_) add(number);
    for (const Position& position : batch.positions) add(position[0]);
    for (const int32_t row : batch.logit_rows) add(row);
    for (const BatchSequence& sequence : batch.sequences) {
      add(sequence.n_rows);
      for (const PageId page : sequence.pages) add(page);
    }
  }

  static PageId page_of(const BatchSequence& sequence, int64_t position) {
    return sequence.pages[static_cast<size_t>(position / kPageTokens)];
  }
  static Address slot_address(const KvView& view, PageId page, int64_t position) {
    EXPECT_GE(view.frame(page), 0) << "position " << position << " has no frame";
    return view.region->keys(std::max(0, view.frame(page)), view.layer, 0) +
           position % kPageTokens * int64_t{sizeof(uint32_t)};
  }
  uint32_t slot(const KvView& view, PageId page, int64_t position) const {
    return download<uint32_t>(slot_address(view, page, position));
  }
  template <class T>
  T download(Address from) const {
    T value;
    pages_.device().download(from, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  template <class T>
  void upload(Address to, const T& value) const {
    pages_.device().upload(to, std::as_bytes(std::span(&value, 1)));
  }
  // Every layer that keeps a state has it at both ends of its bytes, and each a different one.
  void write_states(FrameId frame, const RunningHash& running) const {
    for (const int64_t layer : state_layers_) {
      upload(pages_.state(frame, layer), running.in_layer(layer));
      upload(state_end(frame, layer), running.in_layer(layer));
    }
  }
  void expect_states(FrameId frame, const RunningHash& running) const {
    for (const int64_t layer : state_layers_) {
      for (const Address at : {pages_.state(frame, layer), state_end(frame, layer)}) {
        const auto before = download<RunningHash>(at);
        ASSERT_EQ(before, running.in_layer(layer))
            << "a state of layer " << layer << " after " << before.n_tokens << " tokens";
      }
    }
  }
  Address state_end(FrameId frame, int64_t layer) const {
    const KvShape& shape = pages_.layout().layers[static_cast<size_t>(layer)].shape;
    return pages_.state(frame, layer) + (shape.state_bytes - int64_t{sizeof(RunningHash)});
  }
  bool tiered() const { return is_tiered(pages_.settled(0).type()); }

  // What a row at `reader` reads of an earlier position.
  ScriptedSlot read(const BatchSequence& sequence, int64_t position, int64_t reader) {
    const PageId page = page_of(sequence, position);
    ScriptedSlot kept = {slot(pages_.settled(0), page, position), 0};
    EXPECT_NE(kept.store, 0U) << "position " << position << " was never written";
    kept.tail = kept.store;
    if (tiered() && position / kGroupTokens >= reader / kGroupTokens) {
      kept.tail = slot(pages_.newest(0), page, position);
      EXPECT_NE(kept.tail, 0U) << "the tail of position " << position << " was never written";
    }
    read_windows(page, position, reader, kept);
    return kept;
  }
  // As far as attention reads: to the beginning of a block of kSkipTokens.
  void read_windows(PageId page, int64_t position, int64_t reader, ScriptedSlot kept) {
    for (int64_t layer = 1; layer < n_token_layers_; ++layer) {
      const int64_t window = pages_.layout().layers[static_cast<size_t>(layer)].window;
      if (position < std::max<int64_t>(0, reader - window + 1) / kSkipTokens * kSkipTokens)
        continue;
      const bool is_own = tiered() && position / kGroupTokens >= reader / kGroupTokens;
      const KvView& view = is_own ? pages_.newest(layer) : pages_.settled(layer);
      EXPECT_EQ(slot(view, page, position), in_layer(layer, is_own ? kept.tail : kept.store))
          << "position " << position << " for " << reader << " in layer " << layer;
    }
  }
  static uint32_t in_layer(int64_t layer, uint32_t kept) {
    return layer == 0 ? kept : (kept ^ static_cast<uint32_t>(layer * 0x9E3779B1)) | 1;
  }
  void write(const BatchSequence& sequence, int64_t position, ScriptedSlot kept) {
    const PageId page = page_of(sequence, position);
    for (int64_t layer = 0; layer < n_token_layers_; ++layer) {
      upload(slot_address(pages_.settled(layer), page, position), in_layer(layer, kept.store));
      if (!tiered()) continue;
      upload(slot_address(pages_.newest(layer), page, position), in_layer(layer, kept.tail));
    }
  }

  // The tokens of the batch, and the numbers of its embeddings.
  std::vector<Token> numbers_of(const Batch& batch) const {
    std::vector<Token> numbers = batch.tokens;
    for (const EmbeddedRows& embedded : batch.embedded) {
      for (int64_t i = 0; i < embedded.rows.n_rows; ++i) {
        const auto number = static_cast<Token>(download<float>(embedded.rows.row(i)));
        const ScriptedRow row = ScriptedRow::of(number);
        EXPECT_TRUE(!row.whole || embedded.rows.n_rows == row.n_rows) << "a medium was cut";
        numbers[static_cast<size_t>(embedded.row_begin + i)] = number;
      }
    }
    return numbers;
  }

  void compute(const Batch& batch, const BatchSequence& sequence) {
    ASSERT_LE(sequence.first_position + sequence.n_rows, std::ssize(sequence.pages) * kPageTokens);
    ScriptedState state(tiered());
    RunningHash running;
    for (int64_t i = 0; i < sequence.first_position; ++i) {
      const ScriptedSlot kept = read(sequence, i, sequence.first_position);
      state.push_kept(kept);
      running.push(kept);
    }
    auto next_out = sequence.state_outs.begin();
    if (!state_layers_.empty()) {
      ASSERT_GE(sequence.state, 0);
      expect_states(sequence.state, running);
    }
    for (int64_t i = 0; i < sequence.n_rows; ++i) {
      const auto row = static_cast<size_t>(sequence.row_begin + i);
      const int64_t position = sequence.first_position + i;
      const PageId page = page_of(sequence, position);
      const auto writer = writers_.emplace(page, &sequence).first;
      ASSERT_EQ(writer->second, &sequence) << "two sequences write page " << page;
      const ScriptedSlot kept = state.push(numbers_[row], position - batch.positions[row][0]);
      write(sequence, position, kept);
      running.push(kept);
      for (; next_out != sequence.state_outs.end() && next_out->row == i; ++next_out) {
        write_states(next_out->frame, running);
      }
      if (n_outputs_ == batch.logit_rows.size() ||
          batch.logit_rows[n_outputs_] != static_cast<int32_t>(row))
        continue;
      state.logits(std::span(logits_).subspan(n_outputs_ * static_cast<size_t>(n_vocab_),
                                              static_cast<size_t>(n_vocab_)));
      ++n_outputs_;
    }
    EXPECT_EQ(next_out, sequence.state_outs.end());
  }

  KvPages pages_;
  int64_t n_token_layers_ = 0;  // the first ones
  std::vector<int64_t> state_layers_;
  int64_t n_vocab_;
  FakeClock* clock_;
  StepCost cost_ = {.fixed_ms = 5, .row_ms = 0.5};
  bool aborts_ = false;
  int64_t n_rows_ = 0;
  int64_t n_aborted_ = 0;
  uint64_t trace_ = 0xCBF29CE484222325ULL;
  size_t n_outputs_ = 0;
  std::map<PageId, const BatchSequence*> writers_;
  std::vector<Token> numbers_;  // of the step's rows
  std::vector<float> logits_;
};

// What an engine must answer. Requires: a seed and max_tokens are given, or the context ends it.
inline std::vector<Token> scripted_answer(const Request& request, int64_t n_vocab, int64_t n_ctx,
                                          bool tiered = false,
                                          const std::vector<MediaSpan>& spans = {}) {
  const GenerateParams& params = request.params;
  SequentialSampler sampler(params, params.seed.value_or(0));
  std::vector<Token> tokens = request.prompt;
  std::vector<float> logits(static_cast<size_t>(n_vocab));
  ScriptedState state(tiered);
  const PromptMedia media(spans);
  const auto push_tokens = [&](Range places) {
    for (int64_t at = places.begin; at < places.end; ++at) {
      state.push(tokens[static_cast<size_t>(at)], at - media.position_of(at));
    }
  };
  const auto push_rows = [&](const MediaSpan& span, Range places) {
    for (int64_t at = places.begin; at < places.end; ++at) {
      const int64_t row = at - span.rows.begin;
      float number = 0;
      default_device()->download(span.embeddings.start + row * int64_t{sizeof number},
                                 std::as_writable_bytes(std::span(&number, 1)));
      state.push(static_cast<Token>(number), at - span.positions[static_cast<size_t>(row)][0]);
    }
  };
  media.each_part({0, std::ssize(tokens)}, push_tokens, push_rows);
  // Of what follows the prompt.
  const int64_t shift = std::ssize(tokens) - media.position_of(std::ssize(tokens));
  std::vector<Token> answer;
  const bool may_shift = params.context_shift && spans.empty();
  while (std::ssize(answer) != params.max_tokens && (may_shift || std::ssize(tokens) < n_ctx)) {
    if (std::ssize(tokens) == n_ctx) {
      const int64_t n_keep = params.n_keep < 0 ? std::ssize(request.prompt) : params.n_keep;
      const DroppedTokens dropped = dropped_tokens(n_ctx, n_keep);
      tokens.erase(tokens.begin() + dropped.begin, tokens.begin() + dropped.end);
      state = ScriptedState(tiered);
      push_tokens({0, std::ssize(tokens)});
    }
    state.logits(logits);
    const Token id =
        sampler.sample(logits, tokens, std::min(std::ssize(answer), std::ssize(tokens)));
    if (std::ranges::find(params.stop_tokens, id) != params.stop_tokens.end()) break;
    state.push(id, shift);
    tokens.push_back(id);
    answer.push_back(id);
  }
  return answer;
}

}  // namespace ruv

// Sequence: one request's timeline: its tokens, pages, sampler, and the way its text goes out.
#pragma once

#include <memory>
#include <optional>

#include "cache/page_list.h"
#include "engine/sample/sampler.h"
#include "engine/stop_text.h"
#include "model/model.h"
#include "ruv/engine.h"
#include "text/healing.h"

namespace ruv {

class Sequence {
 public:
  // Requires: a request that Engine::submit accepted.
  Sequence(RequestId id, Request request, const Model& model, PagePool& pool, int64_t n_ctx,
           int64_t now_ns);

  // Puts `healed.prefix` in place of the prompt's last tokens. Requires: nothing is computed yet;
  // `prefixes` outlives the sequence.
  void heal(const HealedPrompt& healed, const TokenPrefixes& prefixes);

  RequestId id() const { return id_; }
  const std::vector<Token>& tokens() const { return tokens_; }
  int64_t n_tokens() const { return static_cast<int64_t>(tokens_.size()); }
  int64_t n_computed() const { return n_computed_; }
  PageList& pages() { return pages_; }
  const PageList& pages() const { return pages_; }

  // Its first rows are about to be computed.
  void started(int64_t now_ns);
  // n more tokens are in the cache.
  void computed(int64_t n) { n_computed_ += n; }
  // Pages are given back; everything is to be computed again.
  void preempted();
  // Chooses the next token from the logits after the last one and reports it. Returns true when the
  // answer is finished.
  bool advance(std::span<float> logits, int64_t now_ns);
  // Ends the answer from outside.
  void finish(FinishReason reason, Status status, int64_t now_ns);

 private:
  int64_t n_generated() const { return n_tokens() - answer_begin_; }
  bool ends_answer(Token id) const;
  bool reproduce(Token id, int64_t now_ns);
  std::string new_text(std::string text);  // without what the prompt had
  void emit(Event event, FinishReason reason, int64_t now_ns);
  Timings timings(int64_t now_ns) const;

  RequestId id_;
  GenerateParams params_;
  std::function<void(const Event&)> on_event_;
  const Model* model_;
  int64_t n_ctx_;
  std::vector<Token> tokens_;
  int64_t n_prompt_;      // as it was given
  int64_t answer_begin_;  // the first token that is not the prompt's
  ForcedPrefix prefix_;
  size_t n_skipped_ = 0;  // bytes of text still to come that the prompt had
  int64_t n_computed_ = 0;
  PageList pages_;
  uint64_t seed_;
  Sampler sampler_;
  std::optional<Detokenizer> detokenizer_;  // none: the model has no tokenizer, text stays empty
  StopText stop_text_;
  int64_t submitted_ns_;
  int64_t started_ns_ = 0;
  int64_t first_token_ns_ = 0;
};

}  // namespace ruv

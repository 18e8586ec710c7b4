// Sequence: one request's timeline: its tokens, its pages, and the events that report its answer.
// TokenChooser decides what comes next, AnswerText makes text of it.
#pragma once

#include <array>
#include <memory>

#include "cache/page_list.h"
#include "device/batch_builder.h"
#include "engine/answer_text.h"
#include "engine/held_adapters.h"
#include "engine/hidden_pool.h"
#include "engine/prompt_media.h"
#include "engine/prompt_scores.h"
#include "engine/sequence_times.h"
#include "engine/speculator.h"
#include "engine/token_chooser.h"
#include "ruv/engine.h"
#include "text/healing.h"

namespace ruv {

// What the prefix cache has for a waiting sequence.
struct CachedPrefix {
  int64_t n_tokens = 0;
  int64_t n_pages = 0;   // whole pages that it would share
  int64_t n_pinned = 0;  // those among them that have no other holder now
};

// The other sequence whose prompt shares the longest prefix with this one's.
struct Leader {
  RequestId id = 0;  // 0: none
  int64_t n_tokens = 0;
};

class Sequence {
 public:
  // Requires: a request that Engine::submit accepted.
  Sequence(RequestId id, Request request, const Model& model, PagePool& pool, int64_t n_ctx,
           int64_t now_ns);

  // Takes back the prompt's tokens from healed.n_kept on; a constraint makes what it generates
  // begin with `healed.prefix`, which is not part of the answer. Requires: nothing is computed yet.
  void heal(const HealedPrompt& healed);

  // Limits what it generates. Requires: nothing was generated yet.
  void constrain(std::unique_ptr<TokenConstraint> constraint) {
    chooser_.constrain(std::move(constraint));
  }

  RequestId id() const { return id_; }
  // The scope in which its prefixes are shared: tenant, salt and adapter.
  const std::string& scope() const { return scope_; }
  const ServiceTerms& terms() const { return terms_; }
  // Null: the model as it is.
  AdapterMix adapters() const { return adapters_.mix(); }
  int32_t tenant() const { return tenant_; }
  void set_tenant(int32_t tenant) { tenant_ = tenant; }
  int64_t n_cached() const { return n_cached_; }
  bool was_started() const { return times_.was_started(); }
  const GenerateParams& params() const { return params_; }
  int64_t n_prompt() const { return std::max<int64_t>(0, answer_begin_); }
  bool in_prompt() const { return n_computed_ + 1 < n_tokens(); }
  // With placeholders where the prompt has media(): neither what is computed nor what prefixes are
  // known by, which add_rows() and make_cells() give.
  const std::vector<Token>& tokens() const { return tokens_; }
  const PromptMedia& media() const { return media_; }
  // Sets `cells` to those of all its places. Throws std::bad_alloc.
  void make_cells(std::vector<PrefixCell>& cells) const;
  // The places at the beginning that it could share with `other`: their cells are equal, and it
  // could resume after them.
  int64_t n_shared(const Sequence& other) const;
  // Adds its next n places to a step that it has begun there. Throws nothing within the reserved
  // size of the batch.
  void add_rows(int64_t n, BatchBuilder& batch) const;
  int64_t n_tokens() const { return static_cast<int64_t>(tokens_.size()); }
  int64_t n_computed() const { return n_computed_; }
  // What the scheduler sees of a waiting sequence. `as_of`: the cache state that `cached`
  // describes.
  struct Outlook {
    CachedPrefix cached;
    int64_t as_of = 0;
    Leader leader;
  };
  Outlook& outlook() { return outlook_; }
  const Outlook& outlook() const { return outlook_; }
  PageList& pages() { return pages_; }
  const PageList& pages() const { return pages_; }

  // The number of tokens that it may still generate.
  int64_t n_tokens_left() const;
  int64_t n_vocab() const { return model_->n_usable_tokens(); }
  int64_t n_ctx() const { return n_ctx_; }
  bool may_draft() const { return params_.speculative && !wants_hidden(); }
  // Its rows give hidden states and no logits; it ends with its prompt.
  bool wants_hidden() const { return pool_ != nullptr; }
  // How many of its next n tokens, at their end, give hidden states.
  int64_t n_hidden_wanted(int64_t n) const {
    return pool_ == nullptr ? 0 : pool_->n_wanted({n_computed_, n_computed_ + n});
  }
  // Takes the hidden states of its next n tokens, before computed(n).
  void add_hidden(int64_t n, HostRows states) {
    pool_->add({n_computed_, n_computed_ + n}, states);
  }
  // Whether rows of its prompt must still give logits, for their scores.
  bool wants_scores() const { return scores_ != nullptr; }
  // How many of its next n tokens give such logits: the first ones.
  int64_t n_scores_wanted(int64_t n) const {
    return scores_ == nullptr ? 0 : scores_->n_wanted({n_computed_, n_computed_ + n});
  }
  // Takes the logits of the i-th of its next tokens, before computed(n). Throws std::bad_alloc.
  // Different rows may be scored at once, as choose().
  void score(int64_t i, std::span<const float> logits);
  // Truncates a draft before the first token that cannot occur there.
  void cut_draft(std::vector<Token>& draft) const { chooser_.cut(draft); }
  // Drafts at most n tokens of what its constraint hardly leaves a choice in.
  void draft_foreseen(int64_t n, std::vector<Token>& draft) const;
  // Created when it first drafts.
  std::unique_ptr<SequenceDrafts>& drafts() { return drafts_; }
  void drafted(int64_t n) { n_drafted_ += n; }

  // Milliseconds from its arrival to its first token, or to now if it has none yet.
  int64_t waited_ms(int64_t now_ns) const { return times_.waited_ms(now_ns); }
  // Milliseconds to its deadline; 0: passed; -1: none.
  int64_t left_ms(int64_t now_ns) const { return times_.left_ms(now_ns, terms_.timeout_ms); }

  // Its first rows are about to be computed; n_cached tokens are in its pages already.
  void started(int64_t now_ns, int64_t n_cached, CacheMiss miss);
  // n more tokens have been computed.
  void computed(int64_t n) { n_computed_ += n; }
  // Releases all pages; everything must be computed again.
  void preempted();
  // Whether its context is full and the answer continues without part of it.
  bool wants_shift() const { return !is_finished_ && may_shift() && n_tokens() >= n_ctx_; }
  // Drops that part. What is left must be computed again, as after preempted(). Requires:
  // wants_shift().
  void shift();
  // The next step gives the logits after the last known token and after each of the first n_drafts
  // tokens of its draft: row i follows i drafted tokens. Throws std::bad_alloc.
  void begin_step(int64_t n_drafts);
  // Decides which tokens the constraint allows in each row. Throws std::bad_alloc. Sequences may do
  // that, and choose rows, on different threads at once. Requires: is_constrained().
  void build_masks() { chooser_.build_masks(); }
  // How many that were.
  int64_t n_masks() const { return chooser_.n_masks(); }
  bool is_constrained() const { return chooser_.is_constrained(); }
  // Chooses the token after a row from its logits, which it changes. Throws std::bad_alloc.
  void choose(int64_t row, std::span<float> logits, SampleScratch& scratch);
  // Whether the choice is simply the likeliest token, which other code may then find.
  bool wants_likeliest(int64_t row) const;
  // Whether rows of a step must be chosen in their order, one after the other.
  bool chooses_in_order() const { return chooser_.chooses_in_order(); }
  void choose(int64_t row, Token likeliest) { chooser_.choose(row, likeliest); }
  // Whether the next row was chosen, and the prompt scored, so that advance() can report it.
  bool can_advance() const {
    if (scores_ != nullptr && !scores_->complete()) return false;
    return params_.max_tokens == 0 || chooser_.has_choice() || !chooser_.failure().ok();
  }
  // Reports the choice of the next row. Returns whether it equals the drafted token `guess` (-1:
  // none). Requires: can_advance().
  bool advance(Token guess, int64_t now_ns);
  // Reports the hidden states, which end the request. Throws std::bad_alloc. Requires:
  // wants_hidden(), and all of the prompt is computed.
  void finish_hidden(int64_t now_ns);
  // Whether the last event has been sent.
  bool is_finished() const { return is_finished_; }
  // Ends the answer from outside. Throws nothing.
  void finish(FinishReason reason, const Status& status, int64_t now_ns);
  // Ends it with out_of_memory, without needing memory. If the callback threw std::bad_alloc on its
  // final event, it is called again with this one.
  void run_out_of_memory(int64_t now_ns);

 private:
  int64_t n_generated() const { return n_tokens() - answer_begin_; }
  bool ends_answer(Token id) const;
  bool has_taken_long(std::string_view text, int64_t now_ns) const;
  void reproduce(Token id, int64_t now_ns);
  // What the answer continues: all that is before it, but not a source text.
  std::span<const Token> answered() const {
    return std::span(tokens_).subspan(static_cast<size_t>(n_source_));
  }
  bool may_shift() const {
    return params_.context_shift && media_.empty() && n_source_ == 0 && n_ctx_ > 1;
  }
  bool is_at_end() const { return n_tokens() >= n_ctx_ && !may_shift(); }
  void add_source_rows(int64_t n, BatchBuilder& batch) const;
  void tell(Event event, Token id, int64_t now_ns);
  void emit(Event event, FinishReason reason, int64_t now_ns);
  void add_end(Event& event, FinishReason reason);
  Timings timings(int64_t now_ns) const;

  RequestId id_;
  GenerateParams params_;
  std::function<void(const Event&)> on_event_;
  std::unique_ptr<HiddenPool> pool_;      // null: it generates tokens
  std::unique_ptr<PromptScores> scores_;  // null: not asked for, or reported
  const Model* model_;
  int64_t n_ctx_;
  ServiceTerms terms_;
  HeldAdapters adapters_;
  std::string scope_;
  int32_t tenant_ = -1;  // index of the engine's ledger
  std::vector<Token> tokens_;
  int64_t n_source_;  // tokens of a source text, which an encoder reads; 0: there is none
  std::array<PrefixCell, 2> source_cells_;  // of its first places
  PromptMedia media_;
  int64_t second_text_;   // where it begins; 0: there is none
  int64_t n_prompt_;      // as it was given
  int64_t answer_begin_;  // the first token that is not the prompt's; negative where it was dropped
  int64_t n_dropped_ = 0;
  int64_t n_computed_ = 0;
  bool is_finished_ = false;
  int64_t n_cached_ = 0;
  CacheMiss cache_miss_ = CacheMiss::none;
  PageList pages_;
  Outlook outlook_;
  uint64_t seed_;
  TokenChooser chooser_;
  AnswerText text_;
  std::unique_ptr<SequenceDrafts> drafts_;
  int64_t n_drafted_ = 0;
  int64_t n_accepted_ = 0;
  SequenceTimes times_;
};

}  // namespace ruv

// LearnInstance: what one tenant or session has taught, on disk in a folder of its own:
//   journal            all feedback, what became of it, and what was undone (learn/learn_journal.h)
//   state-<n>          the state of generation n (learn/learn_state.h)
//   adapter-<n>/       its adapter, as PEFT has it
// Generation 0 has learned nothing. Each accepted step makes a generation with the next number,
// which is never given again; undoing makes an earlier one current. A generation exists from the
// moment that its line is in the journal, which comes after its files. What an instance knows
// depends on its journal alone: feedback that had no outcome when the process ended is learned
// after the start, from the same state, to the same bytes.
#pragma once

#include <deque>
#include <map>
#include <memory>

#include "learn/feedback.h"
#include "learn/learn_journal.h"
#include "learn/update_gate.h"

namespace ruv {

struct InstanceOptions {
  bool syncs = true;          // LearnJournal::open
  size_t max_pending = 1000;  // feedback that waits
  size_t max_states = 16;     // generations that can be gone back to; each takes some 5 adapters
};

// What there is to say of an instance.
struct InstanceSummary {
  std::string name;
  uint64_t generation = 0;
  uint64_t n_feedback = 0;  // ever taken
  uint64_t n_accepted = 0, n_refused = 0;
  uint64_t n_pending = 0;
  uint64_t oldest_generation = 0;  // that can be gone back to beside 0
  std::string task = {};
  double mean_reward = 0;
  std::string refusal = {};  // why the last refused step was
  std::string failure = {};  // why it learns no more; empty: it does
};
Json summary_json(const InstanceSummary& summary);

// Feedback that waits, and the state that it is learned from.
struct LearnTurn {
  uint64_t number = 0;
  Judgement judgement = {};
  uint64_t parent = 0;      // the generation of the state
  uint64_t generation = 0;  // that it makes if it is accepted
};

// One thread at a time: the Learner's lock.
class LearnInstance {
 public:
  // Reads what is in the folder, which is made if need be. `initial`: the state of generation 0.
  // Fails: corrupt, invalid (of another model or adapter); as make_folder and LearnJournal::open.
  static Result<std::unique_ptr<LearnInstance>> open(const std::string& folder,
                                                     const InstanceOptions& options,
                                                     const StateFit& fit,
                                                     std::shared_ptr<const LearnState> initial);

  // Writes it to the journal; returns its number, from 1. Fails: unavailable (too many wait, or the
  // instance learns no more); as LearnJournal::add.
  Result<uint64_t> take(const Judgement& judgement);
  // The oldest feedback that waits; nothing: none does, or it learns no more.
  std::optional<LearnTurn> next_turn() const;
  std::shared_ptr<const LearnState> state() const { return state_; }
  // Feedback that the state has kept. Null: there is none of this number.
  const Judgement* kept(uint64_t number) const;

  // The files of a generation. Any thread, before accept(). Fails: as FileWriter.
  std::string state_path(uint64_t generation) const;
  std::string adapter_folder(uint64_t generation) const;
  Status write_state(uint64_t generation, const LearnState& state) const;

  // The outcome of a turn, for the journal. False: something was undone since the turn began, and
  // it must be learned again. Fails: as LearnJournal::add; then it learns no more. `share`: as
  // GatedStep has it.
  Result<bool> accept(const LearnTurn& turn, std::shared_ptr<const LearnState> state,
                      const UpdateReading& reading, float share);
  Result<bool> refuse(const LearnTurn& turn, const std::string& why, const UpdateReading& reading);
  // Makes the generation `n` accepted steps before the current one current. Returns it. Fails:
  // invalid (there are fewer, or its state is no longer kept), corrupt (its file), as
  // LearnJournal::add.
  Result<uint64_t> undo(uint64_t n);
  // From now on it takes and learns nothing.
  void give_up(const Status& why) { failure_ = why; }

  uint64_t generation() const { return generation_; }
  InstanceSummary summary(const std::string& name) const;

 private:
  LearnInstance(std::string folder, const InstanceOptions& options, const StateFit& fit,
                std::shared_ptr<const LearnState> initial)
      : folder_(std::move(folder)),
        options_(options),
        fit_(fit),
        initial_(std::move(initial)),
        state_(initial_) {}
  // One line of the journal.
  Status visit(const Json& entry);
  Status visit_update(const Json& update);
  Result<std::shared_ptr<const LearnState>> load_state(uint64_t generation) const;
  Result<bool> finish(const LearnTurn& turn, const Json& entry);
  // Texts and files that nothing needs.
  void forget_texts();
  void forget_states() const;

  std::string folder_;
  InstanceOptions options_;
  StateFit fit_;
  std::shared_ptr<const LearnState> initial_, state_;
  std::optional<LearnJournal> journal_;
  std::map<uint64_t, Judgement> texts_;   // that wait or are kept
  std::map<uint64_t, uint64_t> parents_;  // of each generation but 0
  uint64_t generation_ = 0, n_generations_ = 0;
  uint64_t n_feedback_ = 0, last_done_ = 0;  // numbers
  uint64_t n_accepted_ = 0, n_refused_ = 0;
  std::string refusal_;
  Status failure_;
};

}  // namespace ruv

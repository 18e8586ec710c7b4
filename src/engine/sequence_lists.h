// SequenceLists: the sequences of an engine, by what they wait for. Each is in exactly one list.
#pragma once

#include <memory>
#include <vector>

#include "engine/sequence.h"

namespace ruv {

struct SequenceLists {
  using List = std::vector<std::unique_ptr<Sequence>>;

  // Each has room for all sequences, so that moving one cannot fail.
  List running;    // in order of start
  List waiting;    // in order of arrival, preempted ones before
  List restoring;  // their pages come from disk; they wait when these are there
  List started;    // while a plan is applied: between waiting and running

  // Makes room for one more sequence in every list. Throws std::bad_alloc, with nothing changed
  // that counts.
  void make_room();
  int64_t n_waiting() const { return std::ssize(waiting) + std::ssize(restoring); }
  int64_t n_all() const { return std::ssize(running) + n_waiting(); }
};

}  // namespace ruv

// Teaching: what a server needs of a Learner.
#pragma once

#include "learn/feedback.h"
#include "learn/learn_instance.h"

namespace ruv {

// Any thread may call. Instances are apart: see Learner.
class Teaching {
 public:
  virtual ~Teaching() = default;
  // Takes a feedback for an instance and returns its number once it is in the journal. What it
  // teaches is learned later. Fails: invalid, unavailable, out_of_memory.
  virtual Result<uint64_t> adapt(const std::string& name, const AdaptFeedback& feedback) = 0;
  // Takes back the last n accepted steps; returns the generation that is current then. Fails:
  // not_found (there is no such instance), invalid.
  virtual Result<uint64_t> undo(const std::string& name, uint64_t n) = 0;
  // By name.
  virtual std::vector<InstanceSummary> summaries() const = 0;
};

}  // namespace ruv

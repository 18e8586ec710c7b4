// UpdateGate: whether what was learned may be used. A step is accepted only if the model that it
// makes still says what the base says where nothing was to be learned: on held-out texts, by their
// loss and by the divergence of the whole distributions, and on single answers (canaries); if the
// adapter is small beside the weights; and if the step did for its feedback what it was made for.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "learn/gradient_model.h"

namespace ruv {

// What is measured, in natural logarithms for each token. Raising a limit lets an instance learn
// more and forget more.
struct UpdateLimits {
  double held_out_rise = 0.01;  // of the mean loss, as a share of the base's
  double divergence = 1;        // mean KL(base ‖ adapted)
  double canary_rise = 3;       // of the mean loss of the answer that lost most
  double norm = 0.5;            // |B · A| / |W|, the largest of a matrix, times alpha / rank
  double own_rise = 0.1;        // of the loss of the feedback that was learned
};
// Fails: invalid (a limit that is negative or not a number).
Status check(const UpdateLimits& limits);

// Texts that are held out and canaries are both needed: an adapter may leave the mean alone and one
// answer not. On rehearsed ones steps keep the model as it is, so that they measure
// nothing.
struct UpdateTexts {
  std::vector<JudgedText> held_out = {}, canaries = {}, rehearsed = {};
};
// Makes every second text one that is rehearsed, of both kinds, while more than one is left.
void rehearse_half(UpdateTexts& texts);

struct UpdateReading {
  double held_out = 0, base_held_out = 0;  // mean losses
  double divergence = 0;
  double canary_rise = 0;
  double norm = 0;
  double own_before = 0, own_after = 0;  // mean losses, by weight, of the step's feedback
};
// Its members, as the journal has them.
Json reading_json(const UpdateReading& reading);

// The first limit that is passed, with both numbers; empty: none. Numbers that are not finite pass
// every limit.
std::string refusal_of(const UpdateReading& reading, const UpdateLimits& limits);

class UpdateGate {
 public:
  // Measures the base, whose logits of all held-out rows it keeps: n_vocab numbers for each judged
  // token. Fails: invalid (no texts), out_of_memory; as GradientModel::rows.
  static Result<UpdateGate> create(GradientModel<float>& model, UpdateTexts texts);

  // What the adapter that is in the model does, but for own_before and own_after. Fails: as
  // GradientModel::rows.
  Result<UpdateReading> read(GradientModel<float>& model) const;

 private:
  UpdateTexts texts_;
  std::vector<std::vector<float>> base_logits_;  // by held-out text
  std::vector<double> canary_losses_;
  std::vector<double> base_norms_;  // by module
  double base_held_out_ = 0;
};

}  // namespace ruv

// The loss of a model that learns from another one's probabilities (Hinton et al., 2015).
#pragma once

#include "train/token_loss.h"

namespace ruv {

// Σ over rows with a target of weight · t² · KL(softmax(teacher / t) || softmax(student / t)).
// Where the student has adjoints, adds `scale` times its derivative to them. The factor t² keeps
// gradients of the same size for all temperatures t. Requires: both have as many rows and columns;
// targets as cross_entropy; t > 0.
template <class T>
double distill_loss(const Adjoined<T>& student, const Adjoined<T>& teacher,
                    const RowTargets& targets, double temperature, double scale, WorkerPool& pool);

}  // namespace ruv

// Losses of embeddings: those of texts that belong together should point the same way. Similarity
// is the cosine, so lengths of embeddings do not matter.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ruv {

// Embeddings of a step, (n, width), and the derivatives of the loss by them, which are added to.
struct Embeddings {
  int64_t width = 0;
  std::vector<double> values, gradients;

  int64_t n() const { return width == 0 ? 0 : std::ssize(values) / width; }
};

// max(0, margin + cos(anchor, negative) - cos(anchor, positive)), numbers of rows; derivatives are
// times `scale`.
struct Triplet {
  int64_t anchor = 0, positive = 0, negative = 0;
};
double triplet_loss(Embeddings& embeddings, const Triplet& triplet, double margin, double scale);

// InfoNCE (van den Oord et al., 2018): cross entropy of cos(anchor, candidate) / temperature over
// all candidates, of which one is right. Requires: positive is among the candidates.
struct RightCandidate {
  int64_t anchor = 0, positive = 0;
  std::span<const int64_t> candidates;
};
double info_nce_loss(Embeddings& embeddings, const RightCandidate& choice, double temperature,
                     double scale);

}  // namespace ruv

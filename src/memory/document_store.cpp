#include "memory/document_store.h"

#include <algorithm>
#include <cmath>

namespace ruv {
namespace {

// The least cosine of two vectors of one text by one model in two formats: 8 bits and more.
constexpr double kSameModel = 0.99;

double cosine(std::span<const float> a, std::span<const float> b) {
  double product = 0, square_a = 0, square_b = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    product += double{a[i]} * double{b[i]};
    square_a += double{a[i]} * double{a[i]};
    square_b += double{b[i]} * double{b[i]};
  }
  return square_a > 0 && square_b > 0 ? product / std::sqrt(square_a * square_b) : 0;
}

}  // namespace

bool DocumentStore::is_same_model(const Kind& a, const Kind& b) {
  if (a.probe.empty() || b.probe.empty()) return a.embedder == b.embedder;
  return a.probe.size() == b.probe.size() && cosine(a.probe, b.probe) >= kSameModel;
}

}  // namespace ruv

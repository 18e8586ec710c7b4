// ProductCodes: each four numbers of a vector by the nearest of 256 centres (product quantisation;
// Jégou, Douze and Schmid, 2011). A query has a table of its distances from all centres, of which a
// row's code picks those to add up, so that the query itself is not rounded.
//
// Centres are learnt by k-means, each part by itself, from the first vectors of an index: they
// follow from the changes as the graph does. Before there are as many, searches use float32.
#pragma once

#include "memory/code_rows.h"

namespace ruv {

class ProductCodes final : public CodeRows {
 public:
  // Vectors that centres are learnt from.
  static constexpr int64_t kLearnFrom = 4096;

  ProductCodes(Metric metric, int64_t n_dims);

  bool is_ready() const override { return is_used_; }
  int64_t n_to_learn_from() const override { return kLearnFrom; }
  Status learn(std::span<const float* const> rows, WorkerPool& pool) override;
  void use() override { is_used_ = true; }
  // Whether there are centres, then centres and the rows' codes.
  Status save(PieceWriter& file, std::span<const uint32_t> rows) const override;
  Status load(PieceReader& file, std::span<const uint32_t> rows) override;

  void set(uint32_t number, const float* numbers, CodedQuery& memory) override;
  void begin(const float* query, CodedQuery& memory) const override;
  void measure(CodedQuery& query, std::span<const uint32_t> rows, float* out) const override;
  int64_t n_looked_at(int64_t n) const override { return 2 * n; }
  int64_t n_measured_again(int64_t, int64_t n_found) const override { return n_found; }

 private:
  static constexpr int64_t kCentreFloats = 1024;  // of a part

  Status allocate();
  float* centres_of(int64_t part) { return centres_.as<float>() + part * kCentreFloats; }

  int64_t n_parts_;
  Buffer centres_;  // as PartKernel has them
  bool is_used_ = false;
};

// The centres of the part that begins with number `first` of each row, as PartKernel has them:
// kCentresOfPart · kNumbersOfPart numbers. Requires: as many rows as centres at least.
void learn_centres(std::span<const float* const> rows, int64_t first, float* centres);
// The centre of the least of kCentresOfPart distances; of equal ones the lowest.
uint8_t nearest_centre(const float* distances);

}  // namespace ruv

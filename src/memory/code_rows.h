// CodeRows: the codes of an index's vectors, and distances of a query from them. These are near
// what float32 gives, up to a constant that is the same for all rows; only their order counts.
//
// Rows lie in blocks that never move. A row needs no others to be coded, but for product codes,
// which learn their centres from the first rows (memory/product_codes.h).
#pragma once

#include <memory>
#include <vector>

#include "base/buffer.h"
#include "base/worker_pool.h"
#include "memory/piece_file.h"
#include "memory/vector_codes.h"

namespace ruv {

// What a row has besides its code.
struct RowScale {
  float scale = 0;   // of its numbers; of binary codes the vector's length
  float square = 0;  // Σ x², of the numbers before they were rounded
};

// A query in the form in which codes are compared, and the memory of that. For one thread.
struct CodedQuery {
  std::vector<float> numbers;
  std::vector<uint8_t> bytes;
  RowScale scale;
  std::vector<const uint8_t*> rows;
  std::vector<const uint16_t*> halves;
  std::vector<int32_t> counts;
  std::vector<float> scales;
};

class CodeRows {
 public:
  // Null: none. Requires: check(codes, metric, n_dims) is ok.
  static std::unique_ptr<CodeRows> create(VectorCodes codes, Metric metric, int64_t n_dims);

  virtual ~CodeRows() = default;
  CodeRows(const CodeRows&) = delete;
  CodeRows& operator=(const CodeRows&) = delete;

  // Makes room for rows below n_rows. Fails: out_of_memory, and the rows are as before.
  Status grow(int64_t n_rows);
  int64_t n_bytes() const;

  // Whether there are codes to compare. False: they need to learn() first.
  virtual bool is_ready() const { return true; }
  // How many rows learn() needs.
  virtual int64_t n_to_learn_from() const { return 0; }
  // Learns from rows, the same for any number of threads. Then rows can be set; they are used from
  // use() on. Fails: out_of_memory.
  virtual Status learn(std::span<const float* const>, WorkerPool&) { return {}; }
  virtual void use() {}
  // What set() has computed for these rows, so that a file need not be read to compute it again.
  // Fails: as the files; corrupt, out_of_memory.
  virtual Status save(PieceWriter& file, std::span<const uint32_t> rows) const;
  virtual Status load(PieceReader& file, std::span<const uint32_t> rows);

  // Codes the numbers of a row, which are as many as the vectors have and zeros up to a multiple of
  // 16. Rows may be set by several threads at once.
  virtual void set(uint32_t number, const float* numbers, CodedQuery& memory) = 0;
  // Begins comparisons with a query, of numbers as rows have.
  virtual void begin(const float* query, CodedQuery& memory) const = 0;
  virtual void measure(CodedQuery& query, std::span<const uint32_t> rows, float* out) const = 0;
  // How many near nodes are looked at in place of n: more where codes tell less.
  virtual int64_t n_looked_at(int64_t n) const { return n; }
  // How many of the nearest by codes are measured again for the k nearest; at most `n_found`.
  virtual int64_t n_measured_again(int64_t k, int64_t n_found) const = 0;

 protected:
  CodeRows(Metric metric, int64_t n_dims, int64_t row_bytes)
      : metric_(metric), n_dims_(n_dims), row_bytes_(row_bytes) {}

  bool is_product() const { return metric_ == Metric::cosine || metric_ == Metric::dot; }
  const uint8_t* code(uint32_t number) const {
    return blocks_[number / kRowsOfBlock].as<uint8_t>() + number % kRowsOfBlock * row_bytes_;
  }
  uint8_t* code_to_set(uint32_t number) { return const_cast<uint8_t*>(code(number)); }
  // The codes of these rows, to query.rows.
  void collect(CodedQuery& query, std::span<const uint32_t> rows) const;
  // Distances of products of codes, in query.counts, times both scales.
  void from_products(const CodedQuery& query, std::span<const uint32_t> rows, float* out) const;

  Metric metric_;
  int64_t n_dims_, row_bytes_;
  std::vector<RowScale> scales_;

 private:
  static constexpr uint32_t kRowsOfBlock = 8192;

  std::vector<Buffer> blocks_;
};

}  // namespace ruv

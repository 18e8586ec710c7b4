// Our matmul rows under an instruction counter (bench/neon/count.py), on random weights.
//   ours count TABLE FORMAT ROWS...   multiplies between marks
//   ours check TABLE FORMAT ROWS...   compares with the reference table, byte by byte
//   ours loop N...                    a loop whose length is known
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "counted.h"
#include "kernels/kernels.h"
#include "tensor/format.h"

namespace ruv {
namespace {

using counted::kColumns;
using counted::kK;

// One matrix as a table's row has it, and activations in the format that the row takes.
class Matmul {
 public:
  Matmul(const Kernels& table, const GemmKernel& row, int64_t n_rows)
      : row_(row), out_(static_cast<size_t>(n_rows * kColumns)) {
    pack();
    const std::vector<float> x = counted::random_activations(n_rows);
    const bool is_q8 = row.act == ActFormat::q8;
    act_stride_ = is_q8 ? kK / 32 * int64_t{sizeof(ActBlock)} : kK * int64_t{sizeof(float)};
    act_.resize(static_cast<size_t>(n_rows * act_stride_));
    for (int64_t r = 0; r < n_rows; ++r) {
      std::byte* to = act_.data() + r * act_stride_;
      if (is_q8) {
        table.quantize_row(x.data() + r * kK, reinterpret_cast<ActBlock*>(to), kK);
      } else {
        std::memcpy(to, x.data() + r * kK, kK * sizeof(float));
      }
    }
  }

  void run(int64_t n_rows) {
    row_.run({.weights = weights_.data(),
              .act = act_.data(),
              .out = out_.data(),
              .k = kK,
              .n_groups = kColumns / row_.mr,
              .n_cols = kColumns,
              .n_rows = n_rows,
              .act_stride = act_stride_,
              .out_stride = kColumns,
              .ahead = row_.ahead});
  }
  const std::vector<float>& out() const { return out_; }

 private:
  void pack() {
    const int64_t row_bytes = format_of(row_.weight).bytes_of(kK);
    const std::vector<std::byte> file = counted::random_bytes(kColumns * row_bytes);
    const int64_t group_bytes = row_.group_bytes(kK);
    weights_.resize(static_cast<size_t>(kColumns / row_.mr * group_bytes));
    std::vector<const std::byte*> rows(static_cast<size_t>(row_.mr));
    for (int64_t g = 0; g < kColumns / row_.mr; ++g) {
      for (size_t i = 0; i < rows.size(); ++i)
        rows[i] = file.data() + (g * row_.mr + static_cast<int64_t>(i)) * row_bytes;
      row_.pack(weights_.data() + g * group_bytes, rows.data(), kK);
    }
  }

  const GemmKernel& row_;
  std::vector<std::byte> weights_;
  std::vector<std::byte> act_;
  int64_t act_stride_ = 0;
  std::vector<float> out_;
};

bool agrees(Matmul& matmul, const GemmKernel& plain, int64_t n_rows) {
  matmul.run(n_rows);
  Matmul expected(*find_kernels("ref"), plain, n_rows);
  expected.run(n_rows);
  return std::memcmp(matmul.out().data(), expected.out().data(),
                     expected.out().size() * sizeof(float)) == 0;
}

int refuse(const char* what, const char* name) {
  std::fprintf(stderr, "ours: %s: %s\n", what, name);
  return 1;
}

int run(bool checks, const char* isa, const char* name, const std::vector<int64_t>& row_counts) {
  const Kernels* table = find_kernels(isa);
  if (table == nullptr) return refuse("this processor has no such table", isa);
  const Format* format = find_format(name);
  if (format == nullptr) return refuse("there is no such format", name);
  const GemmKernel* row = find_gemm(*table, format->dtype);
  const GemmKernel* plain = find_gemm(*find_kernels("ref"), format->dtype);
  if (row == nullptr || plain == nullptr || row->act == ActFormat::bf16)
    return refuse("the table has no row in int8 or float32 for", name);
  for (const int64_t n_rows : row_counts) {
    Matmul matmul(*table, *row, n_rows);
    if (!checks) {
      counted::count(isa, n_rows, [&] { matmul.run(n_rows); });
    } else if (!agrees(matmul, *plain, n_rows)) {
      return refuse("not the bytes of the reference table", name);
    }
  }
  return 0;
}

}  // namespace
}  // namespace ruv

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  const int first = what == "loop" ? 2 : 4;
  std::vector<int64_t> counts;
  for (int i = first; i < argc; ++i) counts.push_back(std::atoll(argv[i]));
  if (counts.empty() || (what != "loop" && what != "count" && what != "check")) {
    std::fputs("ours count|check TABLE FORMAT ROWS..., ours loop N...\n", stderr);
    return 2;
  }
  if (what != "loop") return ruv::run(what == "check", argv[2], argv[3], counts);
  for (const int64_t n : counts) ruv::counted::count_known_loop(n);
  return 0;
}

#include "format/quant_budget.h"

#include <algorithm>
#include <cmath>

#include "format/quant_allocation.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

// In order of size. Formats that are not written, or whose blocks do not fill the rows, are left
// out.
constexpr DType kCandidates[] = {
    DType::iq1_s,   DType::iq1_m, DType::iq2_xxs, DType::iq2_xs, DType::iq2_s,  DType::q2_k,
    DType::iq3_xxs, DType::iq3_s, DType::q3_k,    DType::iq4_xs, DType::iq4_nl, DType::q4_k,
    DType::q5_0,    DType::q5_k,  DType::q5_1,    DType::q6_k,   DType::q8_0};

// Rows that are measured of a tensor, evenly spread; more measure more exactly and take longer.
constexpr int64_t kSampledRows = 96;

// How much noise in a product moves a model's answers, by what the matrix is for: means over the
// layers of two small models (docs/quantising.md), for files in which it is not measured. Layers of
// one model differ as much as these do.
struct RoleSensitivity {
  std::string_view part;  // of the name
  double factor;
};
constexpr RoleSensitivity kSensitivities[] = {
    {"attn_v.", 0.2},        {"attn_output.", 0.13}, {"attn_k.", 0.09},  {"attn_q.", 0.04},
    {"attn_qkv.", 0.1},      {"ffn_down", 0.09},     {"ffn_gate", 0.07}, {"ffn_up", 0.055},
    {"output.weight", 12.0}, {"token_embd.", 12.0},
};

double role_sensitivity(std::string_view tensor_name) {
  for (const RoleSensitivity& row : kSensitivities) {
    if (tensor_name.find(row.part) != tensor_name.npos) return row.factor;
  }
  return 0.1;
}

// Calibration makes products noisy. A table of embeddings is looked up as well, and there its noise
// counts far more: it always has the figure of its role, as does what was not measured.
double sensitivity_of(const PlannedTensor& planned) {
  const bool is_table = planned.tensor.name == "token_embd.weight";
  if (!is_table && planned.importance != nullptr && planned.importance->sensitivity > 0.0F) {
    return static_cast<double>(planned.importance->sensitivity);
  }
  return role_sensitivity(planned.tensor.name);
}

// Noise and signal of one row, weighed by importance.
struct RowNoise {
  double noise = 0;
  double signal = 0;
};

bool is_low(DType dtype) {
  return dtype == DType::iq1_s || dtype == DType::iq1_m || dtype == DType::iq2_xxs ||
         dtype == DType::iq2_xs || dtype == DType::iq2_s || dtype == DType::iq3_xxs;
}

// Codebooks are looked up as they are packed (kernels/pack/layout.h). So in memory, and by the
// speed that follows from it, they are no smaller than formats of three and four bits, which lose
// less; they are taken only where the others are too large as a file.
bool is_codebook(DType dtype) { return is_low(dtype) || dtype == DType::iq3_s; }

// The formats that a tensor may get.
std::vector<DType> candidates_of(const PlannedTensor& planned, bool codebooks_too) {
  std::vector<DType> formats;
  for (const DType dtype : kCandidates) {
    const Format& format = format_of(dtype);
    const bool is_blind = planned.importance == nullptr && is_low(dtype);
    if (format.encode == nullptr || is_blind || (is_codebook(dtype) && !codebooks_too)) continue;
    if (planned.tensor.n_columns() % format.block_size == 0) formats.push_back(dtype);
  }
  if (formats.empty()) formats.push_back(DType::f16);
  return formats;
}

uint64_t bytes_as(const PlannedTensor& planned, DType dtype) {
  const int64_t row_bytes = format_of(dtype).bytes_of(planned.tensor.n_columns());
  return static_cast<uint64_t>(row_bytes * planned.tensor.n_rows());
}

// What all tensors take at least without codebooks.
uint64_t least_bytes(std::span<const PlannedTensor> plan) {
  uint64_t total = 0;
  for (const PlannedTensor& planned : plan) {
    uint64_t least = planned.is_free ? UINT64_MAX : planned.bytes_out();
    if (planned.is_free) {
      for (const DType dtype : candidates_of(planned, false))
        least = std::min(least, bytes_as(planned, dtype));
    }
    total += least;
  }
  return total;
}

class NoiseMeter {
 public:
  explicit NoiseMeter(WorkerPool& workers) : workers_(workers) {}

  // Relative noise of the tensor in a format: a share of the product's mean square.
  Result<double> measure(const PlannedTensor& planned, const ColumnImportance& importance,
                         const Format& format) {
    const int64_t n_rows = planned.tensor.n_rows();
    const int64_t n = std::min(n_rows, kSampledRows);
    rows_.assign(static_cast<size_t>(n), {});
    workers_.run_items(n, [&](int, int64_t i) {
      rows_[static_cast<size_t>(i)] =
          noise_of_row(planned.tensor, i * n_rows / n, importance, format);
    });
    RowNoise sum;
    for (const RowNoise& row : rows_) {
      sum.noise += row.noise;
      sum.signal += row.signal;
    }
    if (!std::isfinite(sum.noise) || !std::isfinite(sum.signal)) {
      return fail(Code::corrupt, "tensor '{}' has numbers that {} cannot hold",
                  quoted_name(planned.tensor.name), format.name);
    }
    return sum.signal > 0 ? sum.noise / sum.signal : 0.0;
  }

 private:
  static RowNoise noise_of_row(const ExportTensor& tensor, int64_t row,
                               const ColumnImportance& importance, const Format& format) {
    const int64_t n = tensor.n_columns();
    std::vector<float> numbers(static_cast<size_t>(n));
    std::vector<float> decoded(static_cast<size_t>(n));
    std::vector<std::byte> bytes(static_cast<size_t>(format.bytes_of(n)));
    read_row(tensor, row, numbers.data());
    for (const float x : numbers) {
      if (!(std::fabs(x) <= 65504.0F)) return {INFINITY, INFINITY};
    }
    const float* const weights = importance.of_row(row);
    format.encode(numbers.data(), weights, bytes.data(), n);
    format.decode(bytes.data(), decoded.data(), n);
    RowNoise sum;
    for (size_t i = 0; i < numbers.size(); ++i) {
      const double weight = weights == nullptr ? 1.0 : static_cast<double>(weights[i]);
      const double x = static_cast<double>(numbers[i]);
      const double off = x - static_cast<double>(decoded[i]);
      sum.noise += weight * off * off;
      sum.signal += weight * x * x;
    }
    return sum;
  }

  WorkerPool& workers_;
  std::vector<RowNoise> rows_;
};

}  // namespace

Status choose_formats(std::span<PlannedTensor> plan, uint64_t max_bytes, WorkerPool& workers) {
  NoiseMeter meter(workers);
  const bool codebooks_too = least_bytes(plan) > max_bytes;
  std::vector<std::vector<FormatChoice>> items;
  std::vector<std::vector<DType>> formats;
  uint64_t n_fixed = 0;
  for (const PlannedTensor& planned : plan) {
    if (!planned.is_free) {
      n_fixed += planned.bytes_out();
      continue;
    }
    const ColumnImportance importance(planned);
    std::vector<FormatChoice>& choices = items.emplace_back();
    std::vector<DType>& dtypes = formats.emplace_back();
    const double sensitivity = sensitivity_of(planned);
    for (const DType dtype : candidates_of(planned, codebooks_too)) {
      const double noise = TRY(meter.measure(planned, importance, format_of(dtype)));
      choices.push_back({bytes_as(planned, dtype), sensitivity * noise});
      dtypes.push_back(dtype);
    }
  }
  const uint64_t budget = max_bytes > n_fixed ? max_bytes - n_fixed : 0;
  const auto chosen = allocate_formats(items, budget);
  if (!chosen) {
    return fail(Code::invalid,
                "the smallest formats take more than {} bytes for all tensors; the size wanted is "
                "too small",
                max_bytes);
  }
  size_t item = 0;
  for (PlannedTensor& planned : plan) {
    if (!planned.is_free) continue;
    planned.to = formats[item][(*chosen)[item]];
    ++item;
  }
  return {};
}

}  // namespace ruv

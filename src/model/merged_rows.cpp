#include "model/merged_rows.h"

#include <algorithm>
#include <cmath>

#include "model/adapter_rows.h"

namespace ruv {
namespace {

std::vector<float> decoded(const MatrixRows& rows) {
  std::vector<float> numbers(rows.rows.size() * static_cast<size_t>(rows.n_in));
  const Format& format = format_of(rows.dtype);
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    format.decode(rows.rows[i], numbers.data() + i * static_cast<size_t>(rows.n_in), rows.n_in);
  }
  return numbers;
}

// (n_cols, n_rows) of (n_rows, n_cols).
std::vector<float> transposed(const std::vector<float>& numbers, size_t n_cols) {
  std::vector<float> turned(numbers.size());
  const size_t n_rows = numbers.size() / n_cols;
  for (size_t i = 0; i < n_rows; ++i) {
    for (size_t j = 0; j < n_cols; ++j) turned[j * n_rows + i] = numbers[i * n_cols + j];
  }
  return turned;
}

const std::byte* address_of(const Weight& matrix, size_t row) {
  return reinterpret_cast<const std::byte*>(matrix.plain.rows[row].bits());
}

}  // namespace

Result<MergedRows> MergedRows::create(const Model& model, std::span<const MergedFile> files) {
  MergedRows made;
  bool has_lengths = false;
  for (const MergedFile& file : files) {
    for (const AdapterMatrices& m : file.matrices) {
      TRY(check_shapes(model, m));
      if (!m.biases.empty() && m.has_own_biases) {
        return fail(Code::unsupported, "adapters with biases of their own are not merged");
      }
      has_lengths = has_lengths || !m.magnitudes.empty();
      TRY(made.add(model, file, m));
    }
  }
  if (has_lengths && (files.size() > 1 || files.front().scale != 1)) {
    return fail(Code::unsupported,
                "an adapter that gives rows their length (DoRA) is merged alone, at a scale of 1");
  }
  std::ranges::stable_sort(made.places_, std::less(), &Place::row);
  return made;
}

Status MergedRows::add(const Model& model, const MergedFile& file, const AdapterMatrices& m) {
  const float scale = m.scale * file.scale;
  const std::vector<float> a = decoded(m.a);
  if (!m.end) {
    for (const Role role : m.roles) {
      RoleRows rows = rows_of_role(model, m, role, file.order);
      const Linear& linear = model.layers[static_cast<size_t>(m.layer)][role];
      TRY(add_rows(m.expert ? linear.experts[static_cast<size_t>(*m.expert)] : linear.weight,
                   {a, decoded(rows.b), rows.b.n_in, scale, std::move(rows.magnitudes)}));
    }
    return {};
  }
  const bool is_one =
      !model.output.empty() && address_of(model.output, 0) == address_of(model.token_embd, 0);
  if (is_one) {
    return fail(Code::unsupported,
                "the model's output is its embedding: an adapter of one of them cannot be merged");
  }
  if (!m.magnitudes.empty() && *m.end == ModelEnd::token_embd) {
    return fail(Code::unsupported, "an embedding with lengths of its own (DoRA) is not merged");
  }
  // Tokens are rows of the embedding, which A has one of each.
  if (*m.end == ModelEnd::output) {
    return add_rows(model.output, {a, decoded(m.b), m.b.n_in, scale, m.magnitudes});
  }
  return add_rows(
      model.token_embd,
      {transposed(decoded(m.b), static_cast<size_t>(m.b.n_in)), a, m.b.n_in, scale, {}});
}

Status MergedRows::add_rows(const Weight& matrix, Change change) {
  for (size_t i = 0; i < matrix.plain.rows.size(); ++i) {
    places_.push_back({address_of(matrix, i), changes_.size(), static_cast<int64_t>(i)});
  }
  changes_.push_back(std::move(change));
  return {};
}

std::span<const MergedRows::Place> MergedRows::places_of(const std::byte* row) const {
  const auto begin = std::ranges::lower_bound(places_, row, std::less(), &Place::row);
  const auto end = std::ranges::upper_bound(places_, row, std::less(), &Place::row);
  return {begin, end};
}

bool MergedRows::changes(const std::byte* row) const { return !places_of(row).empty(); }

int64_t MergedRows::n_rows() const {
  int64_t n = 0;
  for (size_t i = 0; i < places_.size(); ++i) {
    if (i == 0 || places_[i].row != places_[i - 1].row) ++n;
  }
  return n;
}

// Sums in double, rounded once for each change.
Status MergedRows::apply(const std::byte* row, std::span<float> numbers) const {
  const size_t n_in = numbers.size();
  for (const Place& place : places_of(row)) {
    const Change& change = changes_[place.change];
    const auto rank = static_cast<size_t>(change.rank);
    const float* const b = change.b.data() + static_cast<size_t>(place.index) * rank;
    double square = 0;
    std::vector<double> sums(numbers.begin(), numbers.end());
    for (size_t r = 0; r < rank; ++r) {
      const double factor = double{change.scale} * double{b[r]};
      const float* const a = change.a.data() + r * n_in;
      for (size_t c = 0; c < n_in; ++c) sums[c] += factor * double{a[c]};
    }
    for (const double x : sums) square += x * x;
    double length = 1;
    if (!change.magnitudes.empty()) {
      length = double{change.magnitudes[static_cast<size_t>(place.index)]} / std::sqrt(square);
      if (!std::isfinite(length)) {
        return fail(Code::invalid, "a row of length 0, or one that is not a number");
      }
    }
    for (size_t c = 0; c < n_in; ++c) numbers[c] = static_cast<float>(sums[c] * length);
  }
  return {};
}

}  // namespace ruv

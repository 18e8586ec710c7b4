#include "train/weight_entries.h"

#include <algorithm>

namespace ruv {

// Rows of a file are decoded as they are read.
template <class T>
void LookupEntry<T>::run(bool /*keeps*/) {
  const auto scale = static_cast<T>(form_.scale);
  std::vector<T> row(static_cast<size_t>(out_.n_cols));
  for (int64_t i = 0; i < out_.n_rows; ++i) {
    table_.read_row(rows_[static_cast<size_t>(i)], row.data());
    T* const out = out_.row(i);
    for (int64_t c = 0; c < out_.n_cols; ++c) {
      const T number = row[static_cast<size_t>(c)] * scale;
      out[c] = form_.adds ? out[c] + number : number;
    }
  }
}

// Rows may be the same: a column's sums are taken in the order of the rows.
template <class T>
void LookupEntry<T>::backward() {
  const auto scale = static_cast<T>(form_.scale);
  if (table_.is_trained()) {
    each_columns(this->team_.pool, out_.n_rows, out_.n_cols, [&](Range columns) {
      for (int64_t i = 0; i < out_.n_rows; ++i) {
        const T* const g = out_.adjoint(i);
        T* const to = table_.gradient() + rows_[static_cast<size_t>(i)] * out_.n_cols;
        for (int64_t c = columns.begin; c < columns.end; ++c) to[c] += scale * g[c];
      }
    });
  }
  if (!form_.adds) clear_adjoints(this->team_, out_);
}

template <class T>
void LookupEntry<T>::use(MemoryUse<T>& use) const {
  if (form_.adds) use.read(out_);
  use.write(out_);
}

template <class T>
void ProductsEntry<T>::add_bias(const Part& part) {
  if (part.bias.empty()) return;
  this->rows(part.out, [&](int64_t i) {
    T* const out = part.out.row(i);
    for (int64_t c = 0; c < part.out.n_cols; ++c) out[c] += part.bias.values[c];
  });
}

// x is kept only where some matrix is trained: else the walk back needs the matrices alone.
template <class T>
void ProductsEntry<T>::run(bool keeps) {
  const bool trained =
      std::ranges::any_of(parts_, [](const Part& part) { return part.weight->is_trained(); });
  if (keeps && trained) kept_x_.keep(x_.values, x_.size(), this->team_);
  for (const Part& part : parts_) {
    this->team_.products.forward(part.out.values, part.out.n_cols,
                                 whole<T>(x_.row(part.first_row), part.out.n_rows, x_.n_cols),
                                 *part.weight);
    add_bias(part);
  }
}

// dW += gᵀ x, db += Σ g, dx += g W.
template <class T>
void ProductsEntry<T>::backward() {
  MatrixProducts<T>& products = this->team_.products;
  for (const Part& part : parts_) {
    const Adjoined<T>& out = part.out;
    const Factor<T> g = whole<T>(out.adjoints, out.n_rows, out.n_cols);
    if (part.weight->is_trained()) {
      const Factor<T> x =
          whole<T>(kept_x_.get() + part.first_row * x_.n_cols, out.n_rows, x_.n_cols);
      products.multiply({part.weight->gradient(), x_.n_cols, true}, g.transposed(), x.transposed());
    }
    if (part.bias.adjoints != nullptr) {
      each_columns(this->team_.pool, out.n_rows, out.n_cols, [&](Range columns) {
        for (int64_t i = 0; i < out.n_rows; ++i) {
          for (int64_t c = columns.begin; c < columns.end; ++c) {
            part.bias.adjoints[c] += out.adjoint(i)[c];
          }
        }
      });
    }
    products.backward(x_.adjoint(part.first_row), x_.n_cols, g, *part.weight);
    clear_adjoints(this->team_, out);
  }
}

template <class T>
void ProductsEntry<T>::use(MemoryUse<T>& use) const {
  use.read(x_);
  for (const Part& part : parts_) use.write(part.out);
}

// A head's numbers are columns of the rows of all heads.
template <class T>
void HeadProductsEntry<T>::run(bool keeps) {
  if (keeps) kept_x_.keep(x_.values, x_.size(), this->team_);
  for (size_t h = 0; h < heads_.size(); ++h) {
    const TrainMatrix<T>& w = *heads_[h];
    const auto head = static_cast<int64_t>(h);
    this->team_.products.forward(out_.values + head * w.n_out(), out_.n_cols,
                                 {x_.values + head * w.n_in(), x_.n_rows, w.n_in(), x_.n_cols, 1},
                                 w);
  }
}

template <class T>
void HeadProductsEntry<T>::backward() {
  MatrixProducts<T>& products = this->team_.products;
  for (size_t h = 0; h < heads_.size(); ++h) {
    TrainMatrix<T>& w = *heads_[h];
    const auto head = static_cast<int64_t>(h);
    const Factor<T> g = {out_.adjoints + head * w.n_out(), out_.n_rows, w.n_out(), out_.n_cols, 1};
    const Factor<T> x = {kept_x_.get() + head * w.n_in(), x_.n_rows, w.n_in(), x_.n_cols, 1};
    if (w.is_trained()) {
      products.multiply({w.gradient(), w.n_in(), true}, g.transposed(), x.transposed());
    }
    products.backward(x_.adjoints + head * w.n_in(), x_.n_cols, g, w);
  }
  clear_adjoints(this->team_, out_);
}

template <class T>
void HeadProductsEntry<T>::use(MemoryUse<T>& use) const {
  use.read(x_);
  use.write(out_);
}

template class LookupEntry<float>;
template class LookupEntry<double>;
template class ProductsEntry<float>;
template class ProductsEntry<double>;
template class HeadProductsEntry<float>;
template class HeadProductsEntry<double>;

}  // namespace ruv

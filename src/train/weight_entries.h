// Entries of a tape that read matrices of the model. Gradients are added to where a matrix or bias
// is trained: dW += gᵀ · x, d of a bias += Σ g, and of a table's row += g. The adjoint of x gets g
// · W in any case.
#pragma once

#include "train/row_entries.h"

namespace ruv {

// out[r] = table[rows[r]] · scale, or x[r] += table[rows[r]]: tokens, learned positions and types.
// The gradient of a table is that of the matrix it is tied to.
template <class T>
class LookupEntry final : public RowsEntry<T> {
 public:
  // `scale` is 1 where rows are added.
  struct Form {
    bool adds = false;
    double scale = 1;
  };
  LookupEntry(TrainTeam<T>& team, Adjoined<T> out, TrainMatrix<T>& table, std::vector<int32_t> rows,
              Form form)
      : RowsEntry<T>(team), out_(out), table_(table), rows_(std::move(rows)), form_(form) {}
  void run(bool keeps) override;
  void backward() override;
  void use(MemoryUse<T>& use) const override;

 private:
  Adjoined<T> out_;
  TrainMatrix<T>& table_;
  std::vector<int32_t> rows_;
  Form form_;
};

// Products of one x, as matmul_each has them; results overlap neither x nor each other.
template <class T>
class ProductsEntry final : public RowsEntry<T> {
 public:
  // One product, of out.n_rows rows of x from `first_row` on.
  struct Part {
    Adjoined<T> out;
    TrainMatrix<T>* weight;
    Adjoined<T> bias;  // empty: none
    int64_t first_row;
  };
  ProductsEntry(TrainTeam<T>& team, Adjoined<T> x, std::vector<Part> parts)
      : RowsEntry<T>(team), x_(x), parts_(std::move(parts)) {}
  void run(bool keeps) override;
  void backward() override;
  void forget() override { kept_x_.drop(); }
  void use(MemoryUse<T>& use) const override;

 private:
  // Adds the bias to each row of the product.
  void add_bias(const Part& part);

  Adjoined<T> x_;
  std::vector<Part> parts_;
  KeptNumbers<T> kept_x_;
};

// out[r][h] = x[r][h] · W_hᵀ: products of columns, with a matrix for each head.
template <class T>
class HeadProductsEntry final : public RowsEntry<T> {
 public:
  HeadProductsEntry(TrainTeam<T>& team, Adjoined<T> out, Adjoined<T> x,
                    std::vector<TrainMatrix<T>*> heads)
      : RowsEntry<T>(team), out_(out), x_(x), heads_(std::move(heads)) {}
  void run(bool keeps) override;
  void backward() override;
  void forget() override { kept_x_.drop(); }
  void use(MemoryUse<T>& use) const override;

 private:
  Adjoined<T> out_, x_;
  std::vector<TrainMatrix<T>*> heads_;
  KeptNumbers<T> kept_x_;
};

}  // namespace ruv

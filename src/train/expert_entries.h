// Experts in training. Which experts a row has is decided anew in each run and has no derivative;
// their weights have one, by which routers learn.
#pragma once

#include "train/pointwise.h"
#include "train/row_entries.h"

namespace ruv {

// A row's experts, ascending, and their weights. Ranks by which they are chosen are made of scores,
// the bias and groups as on the CPU device (device/ops.h, RouteParams).
template <class T>
class RouteEntry final : public RowsEntry<T> {
 public:
  struct Vectors {
    Adjoined<T> choice_bias, expert_scales;  // empty: none
  };
  RouteEntry(TrainTeam<T>& team, Adjoined<T> routes, Adjoined<T> logits, Vectors vectors,
             const RouteParams& params)
      : RowsEntry<T>(team), routes_(routes), logits_(logits), vectors_(vectors), params_(params) {}
  void run(bool keeps) override;
  void backward() override;
  void forget() override;
  void use(MemoryUse<T>& use) const override;

 private:
  int64_t n_chosen() const { return routes_.n_cols / 2; }
  // The scores of a row, of all experts.
  std::vector<double> scores_of(const T* logits) const;
  // The experts of the greatest scores, ascending.
  std::vector<int64_t> choose(const std::vector<double>& scores) const;
  // What the weights of a row are divided by; 1 where they are not.
  double divisor_of(double sum) const;
  // The way back of one row.
  void row_back(int64_t i, const T* logits, const T* routes, std::vector<double>& of_scores);

  Adjoined<T> routes_, logits_;
  Vectors vectors_;
  RouteParams params_;
  KeptNumbers<T> kept_logits_, kept_routes_;
};

// The feed-forwards of each row's experts. Rows of an expert are computed together, and experts in
// the order of their numbers, so that a row's sum has one order. Matrices of experts that no row
// chose are not read.
template <class T>
class ExpertsEntry final : public RowsEntry<T> {
 public:
  struct Expert {
    TrainMatrix<T>* gate;  // null: none has one
    TrainMatrix<T>* up;
    TrainMatrix<T>* down;
    Adjoined<T> gate_bias, up_bias, down_bias;  // empty: none
  };
  // What is between the matrices, and where the weight of a row is multiplied in.
  struct Form {
    Act act;
    GateLimits limits;
    bool weighs_inputs;
  };
  struct Rows {
    Adjoined<T> out, x, routes;
  };
  ExpertsEntry(TrainTeam<T>& team, Rows rows, std::vector<Expert> experts, Form form)
      : RowsEntry<T>(team), rows_(rows), experts_(std::move(experts)), form_(form) {}
  void run(bool keeps) override;
  void backward() override;
  void forget() override;
  void use(MemoryUse<T>& use) const override;

 private:
  // The rows that chose an expert, and where in their routes its weight is.
  struct Choice {
    std::vector<int64_t> rows, places;
  };
  // What an expert computes of its rows.
  struct Inner {
    std::vector<T> x, gate, up, made, out;
  };
  std::vector<Choice> choices_of(const T* routes) const;
  Inner compute(const Expert& expert, const Choice& choice, const T* x, const T* routes) const;
  // The way back of one expert, whose inner rows are computed again.
  void expert_back(const Expert& expert, const Choice& choice);
  void add_bias(std::vector<T>& rows, const Adjoined<T>& bias) const;
  // Adds to the gradients of a matrix and its bias, and g · W to `dx`.
  void product_back(TrainMatrix<T>& w, const Adjoined<T>& bias, const std::vector<T>& g,
                    const std::vector<T>& x, std::vector<T>& dx);
  // Numbers between the matrices after GateLimits, and whether a limit cut them: then they have no
  // adjoint.
  double gate_of(T number) const;
  double up_of(T number) const;
  bool is_gate_cut(T number) const;
  bool is_up_cut(T number) const;

  Rows rows_;
  std::vector<Expert> experts_;
  Form form_;
  KeptNumbers<T> kept_x_, kept_routes_;
};

}  // namespace ruv

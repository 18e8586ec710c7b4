// Linear attention by the gated delta rule in training. With k and q unit vectors, g what is kept
// of each key and b the share that is written, a row is
//
//   S' = diag(g) S;  w = b (v - S'ᵀ k);  S = S' + k wᵀ;  out = Sᵀ q / √key_dim
//
// and its way back, with H the adjoint of S and h that of out,
//
//   H += q hᵀ / √key_dim;  dq = S h / √key_dim;  dw = Hᵀ k;  dv = b dw;  db = dw · (v - S'ᵀ k)
//   dk = H w - b S' dw;  H -= b k dwᵀ;  dg = rows of H · S, summed;  H = diag(g) H
//
// States begin with zero. On the way back a
// head's states of all rows of a sequence are in memory, (rows, key_dim, value_dim) for each
// thread.
#pragma once

#include "train/row_entries.h"

namespace ruv {

template <class T>
class DeltaEntry final : public RowsEntry<T> {
 public:
  // Rows of the step, as DeltaInputs names them.
  struct Rows {
    Adjoined<T> out, qkv, beta, decay;
  };
  struct Vectors {
    Adjoined<T> rate, bias;  // of decays
  };
  DeltaEntry(TrainTeam<T>& team, const Batch& batch, Rows rows, Vectors vectors,
             const DeltaRuleParams& params)
      : RowsEntry<T>(team), batch_(batch), rows_(rows), vectors_(vectors), params_(params) {}
  void run(bool keeps) override;
  void backward() override;
  void forget() override;
  void use(MemoryUse<T>& use) const override;

 private:
  // Numbers of the step, as they are or as they were kept.
  struct Inputs {
    const T *qkv, *beta, *decay;
  };
  // What a thread needs of one row and head, and the states before all rows.
  struct Scratch {
    std::vector<double> query, key, keep, written, memory;
    std::vector<double> of_query, of_key, of_written, of_state;
    std::vector<T> states;
    double beta = 0;
  };
  // Makes room, with the states of all rows of the longest sequence or of one.
  void prepare(bool with_states);
  // f(thread, sequence, value head), all heads of a head of keys by one thread.
  template <class F>
  void each_head(F&& f);
  int64_t key_head_of(int64_t head) const;
  int64_t n_decays() const { return rows_.decay.n_cols / params_.n_value_heads; }
  // Reads the row's inputs of a head: unit vectors, what is kept of each key, beta.
  void read(int64_t row, int64_t head, const Inputs& in, Scratch& s) const;
  // One row of a head: `state` becomes the next one.
  void step(int64_t row, int64_t head, const Inputs& in, T* state, Scratch& s) const;
  // The rows of a head forward again, and back; a row; and what it does to the lengths of queries
  // and keys, and to decays.
  void head_back(const BatchSequence& sequence, int64_t head, Scratch& s);
  void row_back(int64_t row, int64_t head, const T* before, Scratch& s);
  void vectors_back(int64_t row, int64_t head, Scratch& s);
  void decays_back(int64_t row, int64_t head, const std::vector<double>& of_keep);

  const Batch& batch_;
  Rows rows_;
  Vectors vectors_;
  DeltaRuleParams params_;
  KeptNumbers<T> kept_qkv_, kept_beta_, kept_decay_;
  std::vector<Scratch> scratch_;
};

}  // namespace ruv

// Attention of whole sequences, and the rows that it reads in place of pages. What a row sees is
// decided as for any device (device/visible_keys.h). Forward, heads are independent of each other;
// back, those that read one head of keys add to its adjoints one after another.
#pragma once

#include "train/row_entries.h"

namespace ruv {

// What store_kv keeps of a layer: the rows of a step.
// Rows of all sequences of the step, as wide as all heads of keys and of values.
template <class T>
struct KvRows {
  Adjoined<T> k, v;
};

// Copies keys and values to where attention reads them.
template <class T>
class StoreKvEntry final : public RowsEntry<T> {
 public:
  StoreKvEntry(TrainTeam<T>& team, KvRows<T> kept, Adjoined<T> k, Adjoined<T> v)
      : RowsEntry<T>(team), keys_(team, kept.k, k), values_(team, kept.v, v) {}
  void run(bool keeps) override {
    keys_.run(keeps);
    values_.run(keeps);
  }
  void backward() override {
    keys_.backward();
    values_.backward();
  }
  void use(MemoryUse<T>& use) const override {
    keys_.use(use);
    values_.use(use);
  }

 private:
  CopyEntry<T> keys_, values_;
};

// What AttendParams names, as numbers.
template <class T>
struct AttendNumbers {
  Adjoined<T> sinks = {};                              // empty: none
  Adjoined<T> table = {}, of_query = {}, of_key = {};  // of distances; empty: none
};

// Attention of all sequences of a batch, which may be any mix of lengths.
template <class T>
class AttendEntry final : public RowsEntry<T> {
 public:
  // Rows of the step: results, queries, and what store_kv kept.
  struct Rows {
    Adjoined<T> out, q;
    KvRows<T> kv;
  };
  // `batch` and what params point to must outlive it.
  AttendEntry(TrainTeam<T>& team, const Batch& batch, Rows rows, const AttendParams& params,
              AttendNumbers<T> numbers)
      : RowsEntry<T>(team), batch_(batch), rows_(rows), params_(params), numbers_(numbers) {}
  void run(bool keeps) override;
  void backward() override;
  void forget() override { kept_q_.drop(); }
  void use(MemoryUse<T>& use) const override;

 private:
  // Some rows of one head of one sequence, and all keys that any of them sees.
  struct Tile {
    const BatchSequence* sequence;
    int64_t head;
    Range rows, keys;

    int64_t n_rows() const { return rows.end - rows.begin; }
    int64_t n_keys() const { return keys.end - keys.begin; }
  };
  // What a thread needs: rows of as many numbers as a tile has keys.
  struct Scratch {
    typename KeptMemory<T>::Block block;
    T *shares, *slopes, *turned;  // turned: the transpose of one of them
    T* row;                       // of shares, with room for exponentials
    std::vector<double> sink_shares;
  };

  // Makes room in the threads' scratch, so that they allocate nothing, and gives it back.
  void prepare();
  void tidy();
  // f(tile) for the tiles of a head, in the order of their rows.
  template <class F>
  void each_tile(const BatchSequence& sequence, int64_t head, F&& f);
  // Rows of the tile's head, of queries or results.
  Factor<T> head_rows(const Adjoined<T>& x, const T* numbers, const Tile& tile, int64_t dim) const;
  // Rows of keys or values that the head reads, and where their numbers or adjoints begin.
  Factor<T> key_rows(const Adjoined<T>& x, const Tile& tile, int64_t dim) const;
  T* of_keys(const Adjoined<T>& x, T* numbers, const Tile& tile, int64_t dim) const;
  // Shares of the tile's rows by the queries `q`; `slopes`: and how scores grow with q · k.
  void score(int thread, const Tile& tile, const T* q, Scratch& s, bool slopes);
  // One row's products to capped scores with what is added, and their slopes.
  void bend_scores(const Tile& tile, int64_t row, T* scores, T* slopes) const;
  // Softmax of one row's scores, in place.
  void soften(const Tile& tile, int64_t row, T* scores, Scratch& s) const;
  // What a score has added besides q · k.
  double added(const Tile& tile, int64_t row, int64_t key) const;
  // The results of a tile; and its adjoints, of queries, keys, values and what is added.
  void attend(int thread, const Tile& tile, Scratch& s);
  void attend_back(int thread, const Tile& tile, Scratch& s);
  // The tile's score slopes, once they are those of q · k + what was added.
  void add_to_numbers(const Tile& tile, int64_t row, const T* slopes) const;
  // Where a head has the numbers of a distance.
  int64_t column_of(const Tile& tile, int64_t row, int64_t key) const;
  // The transpose of a tile's numbers, to s.turned.
  void turn(const Tile& tile, const T* from, Scratch& s) const;

  const Batch& batch_;
  Rows rows_;
  AttendParams params_;
  AttendNumbers<T> numbers_;
  KeptNumbers<T> kept_q_;
  std::vector<Scratch> scratch_;
};

}  // namespace ruv

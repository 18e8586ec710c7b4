// TrainOps: the operations of a decoder in T, each as an entry of the device's tape. Arguments are
// resolved when an operation is called: views to numbers and adjoints, weights to matrices of the
// device, spans to copies, since an entry may run again long after the call.
//
// What has no
// derivative yet is refused by name, in TrainDevice::failure(). A step has whole sequences: keys,
// values and states of earlier steps are neither read nor kept.
#pragma once

#include <unordered_map>

#include "train/attend_entry.h"
#include "train/train_device.h"

namespace ruv {

template <class T>
class TrainOps final : public Ops {
 public:
  // All must outlive it.
  TrainOps(TrainDevice<T>& device, WorkerPool& pool, const Kernels& kernels,
           FactorPrecision precision);

  void begin(const Batch& batch, std::span<const RopePlan> plans) override;
  void embed(View out, const Weight& table, std::span<const int32_t> tokens, float scale) override;
  void add_embedding(View x, const Weight& table, std::span<const Position> positions) override;
  void add_rows(View x, const Weight& table, std::span<const int32_t> rows) override;
  void copy(View out, View x) override;
  void norm(View out, View x, const Vector& weight, const Vector& bias, NormParams params) override;
  void matmul(View out, View x, const Weight& weight, const Vector& bias) override;
  void matmul_each(std::span<const Product> products, View x) override;
  void rope(View x, int64_t head_dim, const RopePlan& plan) override;
  void scale_by_position(View x, const PositionScale& scale) override;
  void matmul_heads(View out, View x, std::span<const Weight> heads) override;
  void join(View out, View a, View b) override;
  void store_kv(int64_t layer, View k, View v, const Vector& key_centre) override;
  void choose_keys(View chosen, View q, View weights, const ChooseParams& params) override;
  void attend(View out, View q, const AttendParams& params) override;
  void short_conv(View out, View bcx, const ShortConvParams& params) override;
  void convolve(View x, const ConvolveParams& params) override;
  void delta_rule(View out, const DeltaInputs& in, const DeltaRuleParams& params) override;
  void token_shift(View out, View x, const TokenShiftParams& params) override;
  void lerp(View out, View x, View y, View share) override;
  void multiply(View x, View y) override;
  void average(View out, View k, View v, const AverageParams& params) override;
  void time_mix(View out, const TimeMixInputs& in, const TimeMixParams& params) override;
  void gated_recurrence(View x, View input_gate, View decay_gate,
                        const GatedRecurrenceParams& params) override;
  void matrix_memory(View out, const MatrixMemoryInputs& in,
                     const MatrixMemoryParams& params) override;
  void scan_columns(View out, const ColumnScanInputs& in, const ColumnScanParams& params) override;
  void scan_heads(View out, const HeadScanInputs& in, const HeadScanParams& params) override;
  void route(View routes, View logits, const Vector& choice_bias,
             const RouteParams& params) override;
  void experts(View out, View x, View routes, const ExpertsParams& params) override;
  void gate(View gate, View up, Act act) override;
  void activate(View x, Act act) override;
  void xielu(View x, const Xielu& numbers) override;
  void clamp(View x, float limit) override;
  void scale(View x, float factor) override;
  void scale_rows(View x, View factors) override;
  void scale_columns(View x, const Vector& factors, const Vector& shifts) override;
  void add(View x, View y) override;
  void add_vector(View x, const Vector& y, float factor) override;
  void add_scaled(View x, View y, const RowFactors& factors) override;
  void cut_below(View x, float deviations) override;
  void match_size(View x, View like, float least) override;
  void gather(View out, View x, std::span<const int32_t> rows) override;
  void softcap(View x, float cap) override;

 private:
  // Runs an entry of this class, with what all entries need before `args`.
  template <class Entry, class... Args>
  void run(Args&&... args);
  void refuse(std::string_view operation);
  // Whether the step has been refused already, or memory for adjoints ran out.
  bool is_over() const { return !device_.failure().ok(); }
  Adjoined<T> numbers(View view);
  // A vector's, or empty.
  Adjoined<T> numbers(const Vector* vector) const;
  TrainMatrix<T>& matrix(const Weight& weight) { return device_.matrices().of(weight); }

  TrainDevice<T>& device_;
  WorkerPool& pool_;
  MatrixProducts<T> products_;
  TrainTeam<T> team_;
  const Batch* batch_ = nullptr;  // of this step; entries point to it
  // Tables of the step's plans, which entries share.
  std::unordered_map<const RopePlan*, std::shared_ptr<const RopeTurns>> turns_;
  // What store_kv kept of each layer: the memory of the longest step.
  // Blocks are replaced by longer ones only between steps, while no entry points into them.
  struct LayerRows {
    DeviceMemory k, v;
  };
  std::unordered_map<int64_t, LayerRows> kv_;
  // Layers that share keys read those of another layer, which has stored them in this step.
  std::unordered_map<int64_t, KvRows<T>> kv_rows_;
};

}  // namespace ruv

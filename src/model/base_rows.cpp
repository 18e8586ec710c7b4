#include "model/base_rows.h"

#include "model/bind_weights.h"

namespace ruv {

Result<BaseRows> BaseRows::create(const Model& model, WorkerPool& pool) {
  auto plain = std::make_unique<Model>();
  plain->family = model.family;
  plain->h = model.h;
  plain->rope = model.rope;
  plain->plans = model.plans;
  plain->device = model.device;
  plain->file = model.file;
  WeightSource source(*plain->file, *plain->device, pool, {.plain = true});
  TRY(bind_weights(*plain, source));
  return BaseRows(std::move(plain));
}

void BaseRows::decode(const Weight& matrix, int64_t row, float* to) const {
  const Format& format = format_of(matrix.dtype);
  std::vector<std::byte> bytes(static_cast<size_t>(format.bytes_of(matrix.n_in)));
  plain_->device->download(matrix.plain.rows[static_cast<size_t>(row)], bytes);
  format.decode(bytes.data(), to, matrix.n_in);
}

}  // namespace ruv

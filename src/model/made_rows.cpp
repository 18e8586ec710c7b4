#include "model/made_rows.h"

#include "format/file_contents.h"

namespace ruv {

Result<std::shared_ptr<MadeRows>> MadeRows::create(const TensorInfo& tensor, Range rows) {
  const int64_t row_bytes = format_of(tensor.dtype).bytes_of(tensor.shape.back());
  Buffer memory = TRY(Buffer::allocate((rows.end - rows.begin) * row_bytes));
  return std::shared_ptr<MadeRows>(new MadeRows(tensor, rows, row_bytes, std::move(memory)));
}

MadeRows::MadeRows(const TensorInfo& tensor, Range rows, int64_t row_bytes, Buffer memory)
    : tensor_(tensor),
      rows_(rows),
      row_bytes_(row_bytes),
      memory_(std::move(memory)),
      is_made_(static_cast<size_t>(rows.end - rows.begin)) {}

bool MadeRows::has(const std::byte* row) const {
  return lies_within(row, {memory_.get(), static_cast<size_t>(memory_.n_bytes())});
}

int64_t MadeRows::index_of(const std::byte* row) const {
  return rows_.begin + (row - memory_.get()) / row_bytes_;
}

Status MadeRows::make(std::span<const std::byte* const> rows, WorkerPool& pool) {
  std::vector<int64_t> wanted;
  for (const std::byte* const row : rows) {
    if (!has(row)) continue;
    const int64_t index = index_of(row);
    uint8_t& is_made = is_made_[static_cast<size_t>(index - rows_.begin)];
    if (is_made == 0) wanted.push_back(index);
    is_made = 1;
  }
  if (wanted.empty()) return {};
  pool.run([&](int thread) {
    const Range part = part_of(std::ssize(wanted), thread, pool.n_threads());
    for (int64_t i = part.begin; i < part.end; ++i) {
      const int64_t row = wanted[static_cast<size_t>(i)];
      tensor_.copy_row(row, memory_.get() + (row - rows_.begin) * row_bytes_);
    }
  });
  return tensor_.maker == nullptr ? Status() : tensor_.maker->status();
}

void MadeRows::add_tensor(KeyText& key) const {
  key.text(tensor_.name);
  key.number(static_cast<uint64_t>(tensor_.dtype));
}

}  // namespace ruv

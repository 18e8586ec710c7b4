#include "train/train_memory.h"

#include "base/check.h"

namespace ruv {
namespace {

constexpr int64_t kNumber = sizeof(float);  // by which addresses count

}  // namespace

// Blocks do not meet, so that no range of addresses lies in two.
template <class T>
Result<DeviceMemory> TrainMemory<T>::allocate(int64_t n_numbers) {
  Block block;
  block.n = n_numbers;
  block.values = TRY(Buffer::allocate(n_numbers * int64_t{sizeof(T)}));
  const Lock lock(table_->mutex);
  const uint64_t start = table_->next;
  table_->next += static_cast<uint64_t>((n_numbers * kNumber + 127) / 64 * 64);
  table_->blocks.emplace(start, std::move(block));
  const auto forget = [table = table_, start](const void*) {
    const Lock held(table->mutex);
    table->blocks.erase(start);
  };
  return DeviceMemory{Address(start), n_numbers * kNumber,
                      std::shared_ptr<const void>(table_.get(), forget)};
}

template <class T>
typename TrainMemory<T>::Block* TrainMemory<T>::find(Table& table, Address at, int64_t n,
                                                     int64_t& offset) {
  if (n == 0) return nullptr;
  auto found = table.blocks.upper_bound(at.bits());
  CHECK(found != table.blocks.begin());
  --found;
  offset = static_cast<int64_t>(at.bits() - found->first) / kNumber;
  CHECK(offset + n <= found->second.n);
  return &found->second;
}

template <class T>
T* TrainMemory<T>::values(Address at, int64_t n) const {
  const Lock lock(table_->mutex);
  int64_t offset = 0;
  const Block* const block = find(*table_, at, n, offset);
  return block == nullptr ? nullptr : block->values.template as<T>() + offset;
}

// Most blocks of a step have them, those of a model only where it is trained.
template <class T>
T* TrainMemory<T>::adjoints(Address at, int64_t n) const {
  const Lock lock(table_->mutex);
  int64_t offset = 0;
  Block* const block = find(*table_, at, n, offset);
  if (block == nullptr) return nullptr;
  if (block->adjoints.get() == nullptr) {
    Result<Buffer> made = Buffer::allocate(block->n * int64_t{sizeof(T)});
    if (!made) return nullptr;
    block->adjoints = std::move(*made);
  }
  return block->adjoints.template as<T>() + offset;
}

template <class T>
Adjoined<T> TrainMemory<T>::numbers(View view, bool with_adjoints) const {
  const int64_t n = view.n_rows * view.n_cols;
  return {values(view.start, n), with_adjoints ? adjoints(view.start, n) : nullptr, view.n_rows,
          view.n_cols};
}

// Never makes adjoints: those of a vector say that it is trained.
template <class T>
Adjoined<T> TrainMemory<T>::numbers(const Vector& vector) const {
  const Lock lock(table_->mutex);
  int64_t offset = 0;
  const Block* const block = find(*table_, vector.memory.start, vector.size(), offset);
  if (block == nullptr) return {};
  T* const adjoints = block->adjoints.template as<T>();
  return {block->values.template as<T>() + offset,
          adjoints == nullptr ? nullptr : adjoints + offset, 1, vector.size()};
}

template <class T>
int64_t TrainMemory<T>::n_bytes() const {
  const Lock lock(table_->mutex);
  int64_t sum = 0;
  for (const auto& [start, block] : table_->blocks) {
    sum += block.values.n_bytes() + block.adjoints.n_bytes();
  }
  return sum;
}

template class TrainMemory<float>;
template class TrainMemory<double>;

}  // namespace ruv

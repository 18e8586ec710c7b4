#include "train/stored_moment.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace ruv {

// A scale of 0 makes all bytes 0.
template <class T>
Result<StoredMoment<T>> StoredMoment<T>::create(int64_t n, MomentForm form) {
  StoredMoment moment;
  moment.form_ = form;
  moment.n_ = n;
  const bool is_plain = form == MomentForm::plain;
  moment.memory_ = TRY(Buffer::allocate(is_plain ? n * int64_t{sizeof(T)}
                                                 : moment.n_blocks() * int64_t{sizeof(float)} + n));
  return moment;
}

// Bytes have no numbers that could be pointed at.
template <class T>
std::span<T> StoredMoment<T>::numbers() const {
  CHECK(form_ == MomentForm::plain);
  return {memory_.as<T>(), static_cast<size_t>(n_)};
}

template <class T>
std::span<std::byte> StoredMoment<T>::memory() const {
  return {memory_.get(), static_cast<size_t>(memory_.n_bytes())};
}

// A product in T: float32 gives the same bits on every machine.
template <class T>
void StoredMoment<T>::read(int64_t first, std::span<T> numbers) const {
  const auto factor = static_cast<T>(*scale(first));
  const uint8_t* const from = codes(first);
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = factor * static_cast<T>(code().value(from[i]));
  }
}

// The greatest number's byte is that of 1 or of the code's lower end. A number that float32 cannot
// hold is the greatest one that it can.
template <class T>
void StoredMoment<T>::write(int64_t first, std::span<const T> numbers) {
  T most = 0;
  for (const T number : numbers) most = std::max(most, std::abs(number));
  const auto factor = static_cast<float>(std::min(most, T{std::numeric_limits<float>::max()}));
  *scale(first) = factor;
  uint8_t* const to = codes(first);
  if (factor == 0) {
    std::fill_n(to, numbers.size(), uint8_t{0});
    return;
  }
  const ByteCode& rounding = code();
  for (size_t i = 0; i < numbers.size(); ++i) {
    to[i] = rounding.nearest(static_cast<float>(numbers[i]) / factor);
  }
}

template class StoredMoment<float>;
template class StoredMoment<double>;

}  // namespace ruv

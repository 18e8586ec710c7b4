// The version of the bytes that encoders write.
#pragma once

#include <cstdint>

namespace ruv {

// Grows by one with each change after which an encoder (Format::encode) gives other bytes for some
// input. A file that an earlier version began is not continued by a later one: its rows would come
// from two encoders. A new format is no such change. src/tensor/encoder_version_test.cpp has the
// bytes of this version.
constexpr uint32_t kEncoderVersion = 2;

}  // namespace ruv

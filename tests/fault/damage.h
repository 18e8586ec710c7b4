// Damaged files for the tests of readers: every file cut short, every byte changed, in memory; and
// bits flipped on disk, as a failing disk would.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace ruv {

// Calls check(text) with the first n bytes of `whole` for all n below its size.
template <class Check>
void for_each_cut(std::string_view whole, const Check& check) {
  for (size_t n = 0; n < whole.size(); ++n) {
    SCOPED_TRACE("cut at byte " + std::to_string(n));
    check(std::string(whole.substr(0, n)));
  }
}

// Calls check(text) for each byte of `whole` and each new value of it. `values_of` gives the values
// for the byte as it was; the one it has already is left out.
template <class ValuesOf, class Check>
void for_each_changed_byte(std::string_view whole, const ValuesOf& values_of, const Check& check) {
  std::string changed(whole);
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const int value : values_of(static_cast<unsigned char>(whole[i]))) {
      if (static_cast<char>(value) == whole[i]) continue;
      SCOPED_TRACE("byte " + std::to_string(i) + " = " + std::to_string(value & 0xFF));
      changed[i] = static_cast<char>(value);
      check(changed);
    }
    changed[i] = whole[i];
  }
}

// Calls check(text) for each byte of `whole` with each of the masks' bits flipped.
template <class Check>
void for_each_flip(std::string_view whole, std::initializer_list<int> masks, const Check& check) {
  const auto values_of = [&](int byte) {
    std::vector<int> values;
    for (const int mask : masks) values.push_back(byte ^ mask);
    return values;
  };
  for_each_changed_byte(whole, values_of, check);
}

// Flips the mask's bits of one byte of a file, in place.
inline void flip_bits(const std::string& path, uint64_t at, int mask) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(at));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(byte ^ mask));
}

}  // namespace ruv

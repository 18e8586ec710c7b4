// Normalisation form C of Unicode, in linear time but for a sort of each run of marks, so that
// hostile text with a million marks costs no more than its size times a logarithm.
#pragma once

#include <string>
#include <string_view>

namespace ruv {

// True when nfc(text) is surely `text`: every character is below U+0300. Cheap.
bool is_surely_nfc(std::string_view text);
// `text` in NFC. Invalid bytes stay as they are and separate what stands around them.
std::string nfc(std::string_view text);

}  // namespace ruv

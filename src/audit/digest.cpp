#include "audit/digest.h"

#include <sodium.h>

namespace ruv {
namespace {

const unsigned char* data_of(Bytes bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* data_of(std::span<std::byte> bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

// libsodium's state is 384 bytes, aligned to 64, and lives on the stack of each call.

// The purpose with its length before it, so that no purpose is the beginning of another's input.
void begin(crypto_generichash_state& state, Bytes key, std::string_view purpose) {
  crypto_generichash_init(&state, key.empty() ? nullptr : data_of(key), key.size(),
                          std::tuple_size_v<Digest>);
  const auto length = number_bytes(purpose.size());
  crypto_generichash_update(&state, data_of(Bytes(length)), length.size());
  crypto_generichash_update(&state, data_of(as_bytes(purpose)), purpose.size());
}

Digest end(crypto_generichash_state& state) {
  Digest digest;
  crypto_generichash_final(&state, data_of(std::span<std::byte>(digest)), digest.size());
  return digest;
}

// Upper-case digits are refused: one digest has one text, so that texts can be compared.
int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

Digest digest_of(std::string_view purpose, std::initializer_list<Bytes> parts) {
  return keyed_digest_of({}, purpose, parts);
}

Digest keyed_digest_of(Bytes key, std::string_view purpose, std::initializer_list<Bytes> parts) {
  crypto_generichash_state state;
  begin(state, key, purpose);
  for (const Bytes part : parts) crypto_generichash_update(&state, data_of(part), part.size());
  return end(state);
}

struct Blake2Stream::State {
  crypto_generichash_state state;
};

Blake2Stream::Blake2Stream(std::string_view purpose) : state_(std::make_unique<State>()) {
  begin(state_->state, {}, purpose);
}
Blake2Stream::Blake2Stream(Blake2Stream&&) noexcept = default;
Blake2Stream::~Blake2Stream() = default;

void Blake2Stream::add(Bytes bytes) {
  crypto_generichash_update(&state_->state, data_of(bytes), bytes.size());
}

Digest Blake2Stream::finish() { return end(state_->state); }

std::string hex_of(Bytes bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::byte byte : bytes) {
    text += kDigits[static_cast<size_t>(byte) >> 4];
    text += kDigits[static_cast<size_t>(byte) & 15];
  }
  return text;
}

Status bytes_from_hex(std::string_view text, std::span<std::byte> bytes, std::string_view what) {
  if (text.size() != bytes.size() * 2) {
    return fail(Code::invalid, "{} has {} characters, not {} hexadecimal digits", what, text.size(),
                bytes.size() * 2);
  }
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int high = digit_of(text[2 * i]);
    const int low = digit_of(text[2 * i + 1]);
    if (high < 0 || low < 0) {
      return fail(Code::invalid, "{}: character {} is not a lower-case hexadecimal digit", what,
                  2 * i + (high < 0 ? 0 : 1));
    }
    bytes[i] = static_cast<std::byte>(high * 16 + low);
  }
  return {};
}

Result<Digest> digest_from_hex(std::string_view text, std::string_view what) {
  Digest digest;
  TRY(bytes_from_hex(text, digest, what));
  return digest;
}

std::array<std::byte, 8> number_bytes(uint64_t number) {
  std::array<std::byte, 8> bytes;
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(number & 0xFF);
    number >>= 8;
  }
  return bytes;
}

}  // namespace ruv

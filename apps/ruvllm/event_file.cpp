#include "event_file.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <chrono>

#include "base/clock.h"
#include "base/entropy.h"
#include "base/folder.h"

namespace ruv {
namespace {

// CRC-32C (Castagnoli), reflected.
constexpr auto kCrcTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t x = i;
    for (int bit = 0; bit < 8; ++bit) x = (x & 1) != 0 ? (x >> 1) ^ 0x82F63B78U : x >> 1;
    table[i] = x;
  }
  return table;
}();

// As TFRecords have it, so that records within records do not look like their own sums.
uint32_t masked_crc(std::string_view bytes) {
  uint32_t crc = 0xFFFFFFFFU;
  for (const char c : bytes) crc = (crc >> 8) ^ kCrcTable[(crc ^ static_cast<uint8_t>(c)) & 0xFF];
  return std::rotr(~crc, 15) + 0xA282EAD8U;
}

template <class Number>
void put(std::string& out, Number number) {
  const auto bytes = std::bit_cast<std::array<char, sizeof(Number)>>(number);
  out.append(bytes.data(), bytes.size());
}

void put_varint(std::string& out, uint64_t n) {
  for (; n >= 0x80; n >>= 7) out += static_cast<char>(n | 0x80);
  out += static_cast<char>(n);
}

// Protobuf's forms of a field.
enum class Wire : uint8_t { varint = 0, bits64 = 1, bytes = 2, bits32 = 5 };

void put_key(std::string& out, uint64_t field, Wire wire) {
  put_varint(out, field << 3 | static_cast<uint64_t>(wire));
}

void put_bytes(std::string& out, uint64_t field, std::string_view bytes) {
  put_key(out, field, Wire::bytes);
  put_varint(out, bytes.size());
  out += bytes;
}

// Event.wall_time and Event.step.
std::string begin_event(int64_t step) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::string event;
  put_key(event, 1, Wire::bits64);
  put(event, std::chrono::duration<double>(now).count());
  put_key(event, 2, Wire::varint);
  put_varint(event, static_cast<uint64_t>(step));
  return event;
}

}  // namespace

// A name that no other run takes: time and random number.
Result<EventFile> EventFile::create(const std::string& folder, int64_t first_step) {
  TRY(make_folder(folder));
  const std::string path = fmt::format("{}/events.out.tfevents.{}.ruvllm.{:016x}", folder,
                                       unix_seconds(), draw_entropy());
  EventFile file(TRY(AppendFile::create(path)));
  std::string version = begin_event(0);
  put_bytes(version, 3, "brain.Event:2");
  TRY(file.append(version));
  std::string start = begin_event(first_step);
  put_bytes(start, 7, std::string_view("\x08\x01", 2));  // SessionLog.status = START
  TRY(file.append(start));
  return file;
}

Status EventFile::append(std::string_view event) {
  std::string head;
  put(head, static_cast<uint64_t>(event.size()));
  put(head, masked_crc(head));
  std::string tail;
  put(tail, masked_crc(event));
  return file_.append({as_bytes(head), as_bytes(event), as_bytes(tail)});
}

// Summary.value with tag and simple_value.
Status EventFile::add(int64_t step, std::span<const EventNumber> numbers) {
  std::string summary;
  for (const EventNumber& number : numbers) {
    std::string value;
    put_bytes(value, 1, number.tag);
    put_key(value, 2, Wire::bits32);
    put(value, static_cast<float>(number.value));
    put_bytes(summary, 1, value);
  }
  std::string event = begin_event(step);
  put_bytes(event, 5, summary);
  return append(event);
}

}  // namespace ruv

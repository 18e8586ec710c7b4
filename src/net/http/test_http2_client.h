// For tests: an HTTP/2 client that sends exactly the frames it is told to, and reads what comes.
#pragma once

#include <nghttp2/nghttp2.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/http/test_client.h"

namespace ruv {

using Http2Fields = std::vector<std::pair<std::string, std::string>>;

// What has come of one answer.
struct Http2Answer {
  std::map<std::string, std::string> head;
  std::string body;
  bool is_whole = false;
  std::optional<uint32_t> reset_code;
  int status() const { return head.contains(":status") ? std::stoi(head.at(":status")) : 0; }
};

inline std::string big_endian(uint32_t value, int n_bytes) {
  std::string out;
  for (int i = n_bytes - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i) & 0xFF);
  return out;
}

inline std::string http2_frame(uint8_t type, uint8_t flags, int32_t id, std::string_view payload) {
  std::string out = big_endian(static_cast<uint32_t>(payload.size()), 3);
  out += static_cast<char>(type);
  out += static_cast<char>(flags);
  return (out += big_endian(static_cast<uint32_t>(id), 4)) += payload;
}

// HPACK without compression: each text has its length in 7 bits and more.
inline std::string hpack_text(std::string_view text) {
  std::string out;
  if (text.size() < 127) {
    out += static_cast<char>(text.size());
  } else {
    out += '\x7F';
    size_t rest = text.size() - 127;
    for (; rest >= 128; rest >>= 7) out += static_cast<char>(rest % 128 + 128);
    out += static_cast<char>(rest);
  }
  return out += text;
}
inline std::string hpack(const Http2Fields& fields) {
  std::string out;
  for (const auto& [name, value] : fields) {
    out += '\0';
    out += hpack_text(name) + hpack_text(value);
  }
  return out;
}

inline Http2Fields http2_head(std::string method, std::string path, const Http2Fields& more = {}) {
  Http2Fields head{{":method", std::move(method)},
                   {":scheme", "http"},
                   {":authority", "localhost"},
                   {":path", std::move(path)}};
  head.insert(head.end(), more.begin(), more.end());
  return head;
}

class Http2TestClient {
 public:
  static constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

  // `settings`: the payload of the first SETTINGS.
  explicit Http2TestClient(uint16_t port, std::string_view settings = {}) : client_(port) {
    nghttp2_hd_inflate_new(&inflater_);
    send(std::string(kPreface) + http2_frame(NGHTTP2_SETTINGS, 0, 0, settings));
  }
  ~Http2TestClient() { nghttp2_hd_inflate_del(inflater_); }
  Http2TestClient(const Http2TestClient&) = delete;
  Http2TestClient& operator=(const Http2TestClient&) = delete;

  bool acknowledges = true;  // SETTINGS, as clients must

  bool send(std::string_view bytes) { return client_.send(bytes); }
  void close() { client_.close(); }
  void send_head(int32_t id, const Http2Fields& fields, bool is_end = true) {
    send(http2_frame(NGHTTP2_HEADERS, is_end ? 5 : 4, id, hpack(fields)));
  }
  void send_body(int32_t id, std::string_view bytes, bool is_end = true) {
    for (; bytes.size() > 16384; bytes.remove_prefix(16384)) {
      send(http2_frame(NGHTTP2_DATA, 0, id, bytes.substr(0, 16384)));
    }
    send(http2_frame(NGHTTP2_DATA, is_end ? 1 : 0, id, bytes));
  }
  void send_reset(int32_t id) { send(http2_frame(NGHTTP2_RST_STREAM, 0, id, big_endian(8, 4))); }
  void open_window(int32_t id, uint32_t n) {
    send(http2_frame(NGHTTP2_WINDOW_UPDATE, 0, id, big_endian(n, 4)));
  }

  // Reads frames until `is_done`. False: the connection ended before.
  template <class Done>
  bool read_until(const Done& is_done) {
    while (!is_done()) {
      if (!read_frame()) return is_done();
    }
    return true;
  }
  // The answer when it has ended, in whatever way.
  const Http2Answer& read(int32_t id) {
    read_until([&] { return answers_[id].is_whole || answers_[id].reset_code; });
    return answers_[id];
  }
  const Http2Answer& ask(int32_t id, const Http2Fields& fields) {
    send_head(id, fields);
    return read(id);
  }
  // The code of the GOAWAY that ends the connection, or -1.
  int64_t read_end() {
    read_until([&] { return goaway_ >= 0; });
    return goaway_;
  }
  Http2Answer& answer(int32_t id) { return answers_[id]; }
  bool has_settings() const { return has_settings_; }

 private:
  bool read_frame() {
    const std::string& in = client_.received();
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(in[at_ + i]); };
    while (in.size() < at_ + 9) {
      if (!client_.read_more()) return false;
    }
    const size_t n =
        static_cast<size_t>(byte(0)) << 16 | static_cast<size_t>(byte(1)) << 8 | byte(2);
    while (in.size() < at_ + 9 + n) {
      if (!client_.read_more()) return false;
    }
    const auto number = [&](size_t i) {
      return static_cast<uint32_t>(byte(i)) << 24 | static_cast<uint32_t>(byte(i + 1)) << 16 |
             static_cast<uint32_t>(byte(i + 2)) << 8 | byte(i + 3);
    };
    const auto id = static_cast<int32_t>(number(5));
    take(byte(3), byte(4), id, in.substr(at_ + 9, n), n >= 4 ? number(9) : 0,
         n >= 8 ? number(13) : 0);
    at_ += 9 + n;
    return true;
  }
  void take(uint8_t type, uint8_t flags, int32_t id, const std::string& payload, uint32_t first,
            uint32_t second) {
    if (type == NGHTTP2_SETTINGS && (flags & 1) == 0) {
      has_settings_ = true;
      if (acknowledges) send(http2_frame(NGHTTP2_SETTINGS, 1, 0, {}));
    }
    if (type == NGHTTP2_GOAWAY) goaway_ = second;
    if (type == NGHTTP2_RST_STREAM) answers_[id].reset_code = first;
    if (type == NGHTTP2_DATA) answers_[id].body += payload;
    if (type == NGHTTP2_HEADERS) inflate(id, payload);
    const bool can_end = type == NGHTTP2_DATA || type == NGHTTP2_HEADERS;
    if (can_end && (flags & NGHTTP2_FLAG_END_STREAM) != 0) answers_[id].is_whole = true;
  }
  void inflate(int32_t id, const std::string& block) {
    const auto* at = reinterpret_cast<const uint8_t*>(block.data());
    size_t left = block.size();
    for (int flags = 0; (flags & NGHTTP2_HD_INFLATE_FINAL) == 0;) {
      nghttp2_nv field;
      flags = 0;
      const auto n = nghttp2_hd_inflate_hd2(inflater_, &field, &flags, at, left, 1);
      if (n < 0) return;
      at += n;
      left -= static_cast<size_t>(n);
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) == 0) continue;
      answers_[id].head[std::string(reinterpret_cast<char*>(field.name), field.namelen)] =
          std::string(reinterpret_cast<char*>(field.value), field.valuelen);
    }
    nghttp2_hd_inflate_end_headers(inflater_);
  }

  TestClient client_;
  nghttp2_hd_inflater* inflater_ = nullptr;
  size_t at_ = 0;
  std::map<int32_t, Http2Answer> answers_;
  int64_t goaway_ = -1;
  bool has_settings_ = false;
};

}  // namespace ruv

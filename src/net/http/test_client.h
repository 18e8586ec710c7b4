// For tests: a client that sends exactly the bytes it is told to, and reads HTTP answers.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <string_view>

namespace ruv {

struct TestResponse {
  int status = 0;  // 0: the connection ended before a whole answer
  std::string headers;
  std::string body;  // chunks joined
};

class TestClient {
 public:
  explicit TestClient(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{20, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~TestClient() { close(); }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  bool connected() const { return connected_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }
  // False at the end of the connection.
  bool read_more() {
    char bytes[16384];
    const ssize_t n = ::recv(fd_, bytes, sizeof bytes, 0);
    if (n <= 0) return false;
    received_.append(bytes, static_cast<size_t>(n));
    return true;
  }
  bool read_until(std::string_view text) {
    while (received_.find(text) == std::string::npos) {
      if (!read_more()) return false;
    }
    return true;
  }
  const std::string& received() const { return received_; }
  // Whether the server has answered or ended the connection; does not wait.
  bool has_ended() const {
    char byte = 0;
    return ::recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
  }

  TestResponse read_response() {
    TestResponse response;
    if (!read_until("\r\n\r\n")) return response;
    const size_t end = received_.find("\r\n\r\n") + 4;
    response.headers = received_.substr(0, end);
    received_.erase(0, end);
    bool whole = true;
    if (const size_t at = response.headers.find("Content-Length: "); at != std::string::npos) {
      whole = take(std::stoul(response.headers.substr(at + 16)), response.body);
    } else if (response.headers.find("chunked") != std::string::npos) {
      whole = take_chunks(response.body);
    } else {
      while (read_more()) {
      }
      response.body.swap(received_);
    }
    if (whole) response.status = std::stoi(response.headers.substr(9, 3));
    return response;
  }
  TestResponse ask(std::string_view bytes) {
    send(bytes);
    return read_response();
  }

 private:
  bool take(size_t n, std::string& out) {
    while (received_.size() < n) {
      if (!read_more()) return false;
    }
    out += received_.substr(0, n);
    received_.erase(0, n);
    return true;
  }
  bool take_chunks(std::string& out) {
    for (;;) {
      if (!read_until("\r\n")) return false;
      const size_t end = received_.find("\r\n");
      const size_t n = std::stoul(received_.substr(0, end), nullptr, 16);
      received_.erase(0, end + 2);
      std::string line_end;
      if (!take(n, out) || !take(2, line_end) || line_end != "\r\n") return false;
      if (n == 0) return true;
    }
  }

  int fd_;
  bool connected_ = false;
  std::string received_;
};

inline std::string post_bytes(std::string_view path, std::string_view body,
                              std::string_view headers = "Content-Type: application/json\r\n") {
  std::string bytes = "POST " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n";
  bytes += headers;
  bytes += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  bytes += body;
  return bytes;
}

}  // namespace ruv

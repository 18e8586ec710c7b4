// Listener: the socket on which a server accepts connections, of TCP or of the file system.
#pragma once

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace ruv {

class Listener {
 public:
  using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol>;

  explicit Listener(boost::asio::io_context& io) : acceptor_(io) {}
  // Removes the socket's file.
  ~Listener();

  // `host`: an IPv4 or IPv6 address. Port 0: any that is free. Fails: invalid, unavailable.
  Status listen_on(const std::string& host, uint16_t port);
  // A socket file that only this user may open. One that no process listens on is replaced; any
  // other file is left alone. Fails: invalid (too long), unavailable.
  Status listen_on_file(const std::string& path);
  // 0 for a file.
  uint16_t port() const { return port_; }
  Acceptor& acceptor() { return acceptor_; }

 private:
  Acceptor acceptor_;
  uint16_t port_ = 0;
  std::string path_;  // of the socket's file; empty: none was made
};

}  // namespace ruv

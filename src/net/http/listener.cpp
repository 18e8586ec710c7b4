#include "net/http/listener.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <cstring>
#include <filesystem>

namespace ruv {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using asio::ip::tcp;
using Local = asio::local::stream_protocol;
using boost::system::error_code;

// As sockaddr_un has it, with a NUL at its end.
constexpr size_t kMaxPathBytes = 107;

// Whether the file is a socket that no process listens on: what a server that was killed leaves.
bool is_left_over(asio::io_context& io, const std::string& path) {
  std::error_code ignored;
  if (fs::symlink_status(path, ignored).type() != fs::file_type::socket) return false;
  Local::socket probe(io);
  error_code error;
  probe.connect(Local::endpoint(path), error);
  return error == asio::error::connection_refused;
}

}  // namespace

Listener::~Listener() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove(path_, ignored);
}

Status Listener::listen_on(const std::string& host, uint16_t port) {
  error_code error;
  const auto address = asio::ip::make_address(host, error);
  if (error) {
    return fail(Code::invalid, "host '{}' is not an IP address such as 127.0.0.1 or ::1", host);
  }
  const tcp::endpoint endpoint(address, port);
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return fail(Code::unavailable, "cannot listen on {}:{}: {}", host, port, error.message());
  }
  const auto bound = acceptor_.local_endpoint();
  tcp::endpoint known = endpoint;
  std::memcpy(known.data(), bound.data(), std::min(bound.size(), known.capacity()));
  port_ = known.port();
  return {};
}

// Its mode is set before anybody can connect, which is from listen() on.
Status Listener::listen_on_file(const std::string& path) {
  if (path.empty() || path.size() > kMaxPathBytes || path.find('\0') != path.npos) {
    return fail(Code::invalid, "socket file '{}': its path has {} bytes; it must have 1 to {}",
                path, path.size(), kMaxPathBytes);
  }
  auto& io = static_cast<asio::io_context&>(acceptor_.get_executor().context());
  std::error_code mode_error;
  if (is_left_over(io, path)) fs::remove(path, mode_error);
  const Local::endpoint endpoint(path);
  error_code error;
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) path_ = path;
  if (!error) fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write, mode_error);
  if (!error) error = mode_error;
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (!error) return {};
  return fail(Code::unavailable, "cannot listen on socket file '{}': {}", path, error.message());
}

}  // namespace ruv

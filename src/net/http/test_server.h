// For tests: a server with small routes of its own, running on a thread.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "net/http/server.h"
#include "net/http/test_client.h"

namespace ruv {

using std::chrono::milliseconds;

class ServerTest : public ::testing::Test {
 protected:
  void start(ServerOptions options) {
    options.port = 0;
    std::vector<Route> routes;
    routes.push_back(simple_route("POST", "/echo", [](const HttpRequest& request) {
      return HttpResponse{.content_type = "text/plain", .body = request.body};
    }));
    routes.push_back(simple_route("GET", "/tail/{rest}/end", [](const HttpRequest& request) {
      return HttpResponse{.body = "end of " + request.path_tail};
    }));
    routes.push_back(simple_route("GET", "/tail/{rest}", [](const HttpRequest& request) {
      return HttpResponse{.body = request.path_tail};
    }));
    Route quick = simple_route("GET", "/quick",
                               [](const HttpRequest&) { return HttpResponse{.body = "quick"}; });
    quick.thread = RouteThread::network;
    routes.push_back(std::move(quick));
    Route watch = simple_route("GET", "/watch", [](const HttpRequest&) { return HttpResponse{}; });
    watch.scope = KeyScope::observe;
    routes.push_back(std::move(watch));
    routes.push_back(
        simple_route("GET", "/v1/in-v1", [](const HttpRequest&) { return HttpResponse{}; }));
    // Holds a worker until release_ is set.
    routes.push_back(simple_route("POST", "/hold", [this](const HttpRequest& request) {
      ++n_held_;
      while (!release_ && !(heeds_stop_ && request.stop.stop_requested())) {
        std::this_thread::sleep_for(milliseconds(1));
      }
      return HttpResponse{.body = "held"};
    }));
    // An answer of as many bytes as the tail says.
    routes.push_back(simple_route("GET", "/bytes/{n}", [](const HttpRequest& request) {
      return HttpResponse{.body = std::string(std::stoul(request.path_tail), 'b')};
    }));
    routes.push_back(simple_route("GET", "/throw", [](const HttpRequest&) -> HttpResponse {
      throw std::runtime_error("broken route");
    }));
    Route open = simple_route("GET", "/open", [](const HttpRequest&) { return HttpResponse{}; });
    open.needs_key = false;
    routes.push_back(std::move(open));
    routes.push_back({"GET", "/wait", [this](const HttpRequest&, const auto& reply) {
                        waiting_ = reply;
                        reply->post([this, reply] {
                          reply->on_disconnect([this] { ++n_disconnects_; });
                          ++n_waiting_;
                        });
                      }});
    routes.push_back({"GET", "/flood", [this](const HttpRequest&, const auto& reply) {
                        reply->post([this, reply] { flood(reply); });
                      }});
    auto server = HttpServer::create(options, std::move(routes));
    ASSERT_TRUE(server) << server.error().message();
    server_ = std::move(*server);
    thread_ = std::thread([this] { ended_ = server_->run(); });
  }
  void TearDown() override {
    release_ = true;
    if (!server_) return;
    server_->stop();
    if (thread_.joinable()) thread_.join();
    waiting_.reset();
  }
  // Writes until the queue is full.
  void flood(const std::shared_ptr<Reply>& reply) {
    reply->begin_stream();
    const std::string piece(1 << 16, 'x');
    while (reply->write(piece)) flooded_bytes_ += piece.size();
    reply->write_last("given up");
  }
  uint16_t port() const { return server_->port(); }
  template <class F>
  static bool eventually(F condition) {
    for (int i = 0; i < 2000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(milliseconds(5));
    }
    return false;
  }

  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
  std::shared_ptr<Reply> waiting_;
  std::atomic<int> n_waiting_{0};
  std::atomic<int> n_disconnects_{0};
  std::atomic<size_t> flooded_bytes_{0};
  std::atomic<int> n_held_{0};
  std::atomic<bool> release_{false};
  std::atomic<bool> heeds_stop_{false};
  std::atomic<bool> ended_{false};  // what run() returned
};

inline const std::string kGet = "GET /open HTTP/1.1\r\nHost: localhost\r\n\r\n";
inline const std::string kWait = "GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n";

}  // namespace ruv

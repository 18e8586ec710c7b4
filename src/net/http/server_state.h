// ServerState: what a server and its connections share. Used on the network thread only, except for
// the router and the budget.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <list>
#include <optional>
#include <set>

#include "base/entropy.h"
#include "base/rng.h"
#include "net/http/access.h"
#include "net/http/budget.h"
#include "net/http/bulk_turns.h"
#include "net/http/memory_return.h"
#include "net/http/server.h"
#include "net/http/workers.h"

namespace ruv {

class Connection;
class RequestWork;

struct ServerState {
  ServerState(ServerOptions server_options, std::vector<Route> routes)
      : options(std::move(server_options)),
        router(std::move(routes)),
        access(options.host, !options.api_keys.empty(), options.allowed_hosts,
               options.cors_origins),
        ids(draw_entropy()),
        budget(options.budget),
        workers(options.n_workers),
        handshakes(options.tls ? 1 : 0),
        memory(io, workers),
        bulk(io),
        drain(io) {}

  // A request or its work is over: its key pays for what it used, however it ended, and the
  // options' on_request gets its record.
  void report(RequestRecord& record, const std::optional<ApiKey>& key,
              std::chrono::steady_clock::time_point begun);
  // A connection or a request's work has ended: ends the wait of a server that stops if it was the
  // last one.
  void note_left();

  ServerOptions options;
  Router router;
  HostAccess access;
  KeyLimits limits;
  Rng ids;  // of requests that bring none
  ServerBudget budget;
  std::set<Connection*> connections;
  // Those of them that wait for a request or its head, in the order in which they began to.
  std::list<Connection*> waiting;
  std::set<RequestWork*> works;
  int64_t n_streams = 0;  // of all HTTP/2 connections
  bool stopping = false;
  // Last, because handlers that still wait in these refer to the members above.
  boost::asio::io_context io{1};
  Workers workers;
  Workers handshakes;
  MemoryReturn memory;
  BulkTurns bulk;
  boost::asio::steady_timer drain;  // runs while the server stops
};

}  // namespace ruv

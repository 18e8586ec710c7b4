// LocalService: a loaded model that answers the API's requests in the same process, with the same
// checks as the server and without a socket; and servers of that model.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/http/router.h"
#include "net/local/fixed_model.h"
#include "net/local/local_reply.h"
#include "net/local/local_source.h"

namespace ruv {

class LocalService {
 public:
  // Bytes of a request's body.
  static constexpr size_t kMaxBodyBytes = size_t{64} << 20;

  // What it has must outlive all answers.
  explicit LocalService(const LocalSource& source);
  LocalService(const LocalService&) = delete;
  LocalService& operator=(const LocalService&) = delete;

  // Any thread. Reads and checks the request on it; LocalReply::wait does the rest. `target`: a
  // path with perhaps a query. Not found: an answer with status 404. POST /v1/embeddings ends in
  // LocalReply::vectors() if `as_vectors`.
  std::shared_ptr<LocalReply> begin(std::string method, std::string_view target, std::string body,
                                    bool as_vectors = false);

  const OpenAiService& service() const { return service_; }

 private:
  OpenAiService service_;
  FixedModel models_{service_};
  Router router_;
  Router vector_router_;
  NetworkTurn turn_;
};

}  // namespace ruv

// Model, Call and Server: the handles of ruvllm.h with their lifetimes. A JavaScript object and the
// work that runs share one; the last of them frees the handle.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "environment.h"
#include "outcome.h"

namespace ruv_node {

class Model final : public Resource {
 public:
  Model(std::shared_ptr<Environment> environment, ruvllm_model* made);
  ~Model() override;

  void free() noexcept override;
  // Null at the end of the environment only.
  ruvllm_model* handle() const { return handle_; }

 private:
  ruvllm_model* handle_;
};

class Server final : public Resource {
 public:
  Server(std::shared_ptr<Environment> environment, ruvllm_server* made);
  ~Server() override;

  // Waits for answers that are being generated, up to five seconds.
  void free() noexcept override;
  uint16_t port() const { return ruvllm_server_port(handle_); }

 private:
  ruvllm_server* handle_;
};

// A request that runs.
class Call final : public Resource {
 public:
  struct Request {
    std::string method = {};
    std::string path = {};
    std::optional<std::string> body = {};
    bool as_vectors = false;  // ruvllm_embed_begin; method and path are not used
  };
  // All that had arrived.
  struct Parts {
    std::vector<std::string> texts = {};
    bool is_end = false;
  };

  Call(std::shared_ptr<Environment> environment, std::shared_ptr<Model> model, Request request);
  ~Call() override;

  // These wait, one thread at a time.

  // Lets the library read the request, which the other two do where it has not been done.
  void begin();
  // Waits for a part of the answer. After a failure or the end the call is over.
  Outcome<Parts> next();
  // The vectors of a call that gives them.
  Outcome<VectorsHandle> vectors();

  void cancel() noexcept override;
  void free() noexcept override;

 private:
  // A batch is not made longer than this, so that a text of many parts is not held twice.
  static constexpr size_t kMaxBatchBytes = size_t{1} << 20;

  // With turn_. Empty: it runs.
  std::optional<Failure> begin_once();
  // With turn_: frees the handle; what is asked later fails in the same way.
  Failure fail(Failure failure);
  Outcome<Parts> over(Parts parts);

  std::mutex turn_;  // guards what a thread that waits uses
  std::shared_ptr<Model> model_;
  Request request_;
  std::optional<Failure> failure_;
  bool is_over_ = false;

  std::mutex mutex_;  // guards what follows; taken for short times, perhaps with turn_
  ruvllm_call* handle_ = nullptr;
  bool is_cancelled_ = false;
};

}  // namespace ruv_node

#include "resources.h"

#include <utility>

namespace ruv_node {

Model::Model(std::shared_ptr<Environment> environment, ruvllm_model* made)
    : Resource(std::move(environment)), handle_(made) {}

Model::~Model() {
  leave();
  Model::free();
}

void Model::free() noexcept { ruvllm_model_free(std::exchange(handle_, nullptr)); }

Server::Server(std::shared_ptr<Environment> environment, ruvllm_server* made)
    : Resource(std::move(environment)), handle_(made) {}

Server::~Server() {
  leave();
  Server::free();
}

void Server::free() noexcept { ruvllm_server_stop(std::exchange(handle_, nullptr)); }

Call::Call(std::shared_ptr<Environment> environment, std::shared_ptr<Model> model, Request request)
    : Resource(std::move(environment)), model_(std::move(model)), request_(std::move(request)) {}

Call::~Call() {
  leave();
  Call::free();
}

void Call::free() noexcept {
  ruvllm_call* handle = nullptr;
  {
    const std::lock_guard lock(mutex_);
    handle = std::exchange(handle_, nullptr);
  }
  ruvllm_call_free(handle);
}

void Call::cancel() noexcept {
  const std::lock_guard lock(mutex_);
  is_cancelled_ = true;
  ruvllm_call_cancel(handle_);
}

void Call::begin() {
  const std::lock_guard turn(turn_);
  begin_once();
}

Failure Call::fail(Failure failure) {
  failure_ = failure;
  free();
  return failure;
}

Outcome<Call::Parts> Call::over(Parts parts) {
  is_over_ = true;
  free();
  return parts;
}

// The call keeps the engine, so that the model is not needed afterwards.
std::optional<Failure> Call::begin_once() {
  if (failure_) return failure_;
  const std::shared_ptr<Model> model = std::exchange(model_, nullptr);
  if (model == nullptr) return std::nullopt;
  const Request request = std::exchange(request_, {});
  bool is_late = false;
  {
    const std::lock_guard lock(mutex_);
    is_late = is_cancelled_;
  }
  if (is_late) return fail(cancelled("the call was cancelled"));
  ruvllm_call* made = nullptr;
  ruvllm_error* error = nullptr;
  const char* const body = request.body ? request.body->c_str() : nullptr;
  const ruvllm_status status = request.as_vectors
                                   ? ruvllm_embed_begin(model->handle(), body, &made, &error)
                                   : ruvllm_call_begin(model->handle(), request.method.c_str(),
                                                       request.path.c_str(), body, &made, &error);
  if (status != RUVLLM_OK) return fail(take_failure(error));
  const std::lock_guard lock(mutex_);
  handle_ = made;
  if (is_cancelled_) ruvllm_call_cancel(handle_);
  return std::nullopt;
}

// handle_ is read without mutex_: only a thread with turn_ changes it.
Outcome<Call::Parts> Call::next() {
  const std::lock_guard turn(turn_);
  if (is_over_) return Parts{.is_end = true};
  if (const std::optional<Failure> failed = begin_once()) return *failed;
  Parts parts;
  size_t n_bytes = 0;
  while (n_bytes < kMaxBatchBytes) {
    const char* data = nullptr;
    size_t size = 0;
    ruvllm_error* error = nullptr;
    const int64_t wait = parts.texts.empty() ? -1 : 0;
    switch (ruvllm_call_next(handle_, wait, &data, &size, &error)) {
      case RUVLLM_OK:
        parts.texts.emplace_back(data, size);
        n_bytes += size;
        break;
      case RUVLLM_PENDING:
        return parts;
      case RUVLLM_END:
        parts.is_end = true;
        return over(std::move(parts));
      default: {
        Failure failure = fail(take_failure(error));
        if (parts.texts.empty()) return failure;
        return parts;  // the failure comes next
      }
    }
  }
  return parts;
}

Outcome<VectorsHandle> Call::vectors() {
  const std::lock_guard turn(turn_);
  if (const std::optional<Failure> failed = begin_once()) return *failed;
  const char* data = nullptr;
  size_t size = 0;
  ruvllm_vectors* made = nullptr;
  ruvllm_error* error = nullptr;
  if (ruvllm_call_next(handle_, -1, &data, &size, &error) != RUVLLM_END ||
      ruvllm_call_take_vectors(handle_, &made, &error) != RUVLLM_OK) {
    return fail(take_failure(error));
  }
  is_over_ = true;
  free();
  return VectorsHandle(made);
}

}  // namespace ruv_node

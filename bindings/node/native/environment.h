// Environment: what the addon has in one JavaScript thread. Several may be in a process (worker
// threads), and nothing is shared between them, so that the addon has no state of its own.
//
// Work runs in the pool; its results come back as messages through one thread-safe function, which
// keeps the event loop alive as long as promises are open.
//
// The end: a thread of the pool may be in the library, whose handles must be freed before the
// process exits or the thread's environment is gone. close() ends all of it. The package calls it
// when the process exits; a hook of the environment does where that did not happen (a worker that
// is terminated).
#pragma once

#include <node_api.h>

#include <functional>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "pool.h"

namespace ruv_node {

class Environment;

// Something that ends with its environment. The destructor of each class that derives from it
// begins with leave().
class Resource {
 public:
  explicit Resource(std::shared_ptr<Environment> environment);
  Resource(const Resource&) = delete;
  Resource& operator=(const Resource&) = delete;
  virtual ~Resource() = default;

  // Any thread: ends what waits for it.
  virtual void cancel() noexcept {}
  // Frees the handle, on the last thread that uses it.
  virtual void free() noexcept = 0;

 protected:
  void leave() noexcept;

 private:
  std::shared_ptr<Environment> environment_;
};

class Environment : public std::enable_shared_from_this<Environment> {
 public:
  // Runs on the JavaScript thread.
  using Message = std::function<void(napi_env)>;

  // Null: a JavaScript error is pending.
  static Environment* create(napi_env env);
  static Environment* of(napi_env env);

  Pool& pool() { return pool_; }
  // Any thread. Dropped where the JavaScript thread takes no more.
  void post(std::unique_ptr<Message> message) noexcept;

  // The rest is for the JavaScript thread.

  // The event loop lives as long as there are more calls of hold() than of let_go().
  void hold();
  void let_go();
  // Cancels all calls, waits for all threads, frees all handles.
  void close();
  bool is_closed() const { return closed_; }
  // (status, message, code, field) => Error
  void set_error_maker(napi_value maker);
  // Null: none was set.
  napi_value error_maker() const;

 private:
  friend class Resource;

  explicit Environment(napi_env env) : env_(env) {}
  napi_status open();
  static void take_message(napi_env env, napi_value, void*, void* message);

  napi_env env_;
  Pool pool_;
  napi_ref error_maker_ = nullptr;
  size_t n_held_ = 0;
  bool closed_ = false;

  std::mutex mailbox_mutex_;  // guards mailbox_
  napi_threadsafe_function mailbox_ = nullptr;

  std::mutex resources_mutex_;  // guards resources_
  std::unordered_set<Resource*> resources_;
};

}  // namespace ruv_node

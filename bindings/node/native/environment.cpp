#include "environment.h"

#include <utility>

namespace ruv_node {

Resource::Resource(std::shared_ptr<Environment> environment)
    : environment_(std::move(environment)) {
  const std::lock_guard lock(environment_->resources_mutex_);
  environment_->resources_.insert(this);
}

void Resource::leave() noexcept {
  const std::lock_guard lock(environment_->resources_mutex_);
  environment_->resources_.erase(this);
}

Environment* Environment::create(napi_env env) {
  const std::shared_ptr<Environment> made(new Environment(env));
  if (made->open() != napi_ok) {
    napi_throw_error(env, nullptr, "the addon of ruvllm could not be set up");
    return nullptr;
  }
  return made.get();
}

// What calls back later keeps an owner each: in which order they come at the end is not ours.
napi_status Environment::open() {
  using Owner = std::shared_ptr<Environment>;
  auto owner = std::make_unique<Owner>(shared_from_this());
  napi_status status = napi_set_instance_data(
      env_, owner.get(), [](napi_env, void* data, void*) { delete static_cast<Owner*>(data); },
      nullptr);
  if (status != napi_ok) return status;
  owner.release();

  owner = std::make_unique<Owner>(shared_from_this());
  const auto at_end = [](void* data) {
    const std::unique_ptr<Owner> last(static_cast<Owner*>(data));
    (*last)->close();
  };
  status = napi_add_env_cleanup_hook(env_, at_end, owner.get());
  if (status != napi_ok) return status;
  owner.release();

  napi_value name = nullptr;
  status = napi_create_string_utf8(env_, "ruvllm", NAPI_AUTO_LENGTH, &name);
  if (status != napi_ok) return status;
  // Threads must not use the function once it is finalized, whatever they hold of it.
  const auto finalize = [](napi_env, void* data, void*) {
    const std::unique_ptr<Owner> last(static_cast<Owner*>(data));
    const std::lock_guard lock((*last)->mailbox_mutex_);
    (*last)->mailbox_ = nullptr;
  };
  owner = std::make_unique<Owner>(shared_from_this());
  status = napi_create_threadsafe_function(env_, nullptr, nullptr, name, 0, 1, owner.get(),
                                           finalize, nullptr, take_message, &mailbox_);
  if (status != napi_ok) return status;
  owner.release();
  return napi_unref_threadsafe_function(env_, mailbox_);
}

Environment* Environment::of(napi_env env) {
  void* data = nullptr;
  if (napi_get_instance_data(env, &data) != napi_ok || data == nullptr) return nullptr;
  return static_cast<std::shared_ptr<Environment>*>(data)->get();
}

// Without an environment the message is only destroyed: it comes to an end.
void Environment::take_message(napi_env env, napi_value, void*, void* message) {
  const std::unique_ptr<Message> held(static_cast<Message*>(message));
  if (env != nullptr) (*held)(env);
}

void Environment::post(std::unique_ptr<Message> message) noexcept {
  const std::lock_guard lock(mailbox_mutex_);
  if (mailbox_ == nullptr) return;
  if (napi_call_threadsafe_function(mailbox_, message.get(), napi_tsfn_nonblocking) == napi_ok) {
    message.release();
  }
}

void Environment::hold() {
  if (n_held_++ == 0 && mailbox_ != nullptr) napi_ref_threadsafe_function(env_, mailbox_);
}

void Environment::let_go() {
  if (--n_held_ == 0 && mailbox_ != nullptr) napi_unref_threadsafe_function(env_, mailbox_);
}

// After the threads have ended only this one uses what is left.
void Environment::close() {
  if (std::exchange(closed_, true)) return;
  {
    const std::lock_guard lock(resources_mutex_);
    for (Resource* const one : resources_) one->cancel();
  }
  pool_.stop();
  for (Resource* const one : resources_) one->free();
}

void Environment::set_error_maker(napi_value maker) {
  if (error_maker_ != nullptr) napi_delete_reference(env_, error_maker_);
  error_maker_ = nullptr;
  napi_create_reference(env_, maker, 1, &error_maker_);
}

napi_value Environment::error_maker() const {
  napi_value maker = nullptr;
  if (error_maker_ != nullptr) napi_get_reference_value(env_, error_maker_, &maker);
  return maker;
}

}  // namespace ruv_node

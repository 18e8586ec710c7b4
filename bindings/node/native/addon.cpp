// The addon: what src/native.ts declares, over ruvllm.h and Node-API. Functions that may wait give
// promises and run in the pool.
#include <node_api.h>
#include <ruvllm.h>

#include <array>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "resources.h"
#include "values.h"

namespace ruv_node {
namespace {

template <size_t n>
using Arguments = std::array<napi_value, n>;

// A function of the addon with n arguments; missing ones are undefined.
template <size_t n, napi_value (*function)(napi_env, const Arguments<n>&)>
napi_value entry(napi_env env, napi_callback_info info) noexcept {
  try {
    Arguments<n> arguments = {};
    size_t count = n;
    check(env, napi_get_cb_info(env, info, &count, arguments.data(), nullptr, nullptr));
    return function(env, arguments);
  } catch (const Thrown&) {
  } catch (const std::bad_alloc&) {
    napi_throw_range_error(env, nullptr, "no memory is left for the call");
  } catch (const std::exception& error) {
    napi_throw_error(env, nullptr, error.what());
  }
  return nullptr;
}

// A promise on the JavaScript thread, which keeps the event loop alive until it is settled.
class Promise {
 public:
  explicit Promise(napi_env env) : env_(env) {
    check(env, napi_create_promise(env, &deferred_, &value_));
    Environment::of(env)->hold();
  }

  napi_value value() const { return value_; }
  // `make` gives the value; what it throws, or a failure, rejects the promise.
  template <class Make>
  void settle(Make make) noexcept {
    Environment::of(env_)->let_go();
    try {
      napi_resolve_deferred(env_, deferred_, make());
      return;
    } catch (const Thrown&) {
    } catch (const std::exception&) {
      napi_throw_range_error(env_, nullptr, "no memory is left for the answer");
    }
    napi_value error = nullptr;
    if (napi_get_and_clear_last_exception(env_, &error) == napi_ok) {
      napi_reject_deferred(env_, deferred_, error);
    }
  }

 private:
  napi_env env_;
  napi_deferred deferred_ = nullptr;
  napi_value value_ = nullptr;  // valid in the call that has made it
};

// Work that ends, whatever is thrown in it.
template <class Result, class Work>
Outcome<Result> outcome_of(const Work& work) noexcept {
  try {
    return work();
  } catch (const std::exception&) {
    return out_of_memory();
  }
}

// What is done in the pool, with all memory that it needs after its work.
template <class Result, class Work>
struct Job {
  std::optional<Work> work;
  Outcome<Result> outcome = {};
  std::unique_ptr<Environment::Message> message = nullptr;
};

// A promise of what `give`, on the JavaScript thread, makes of the result of `work`, in the pool.
// What `work` holds is let go of in the pool, too.
template <class Result, class Work, class Give>
napi_value in_pool(napi_env env, Work work, Give give) {
  Environment& environment = *Environment::of(env);
  const auto job = std::make_shared<Job<Result, Work>>();
  job->work.emplace(std::move(work));
  Promise promise(env);
  job->message = std::make_unique<Environment::Message>([promise, job, give](napi_env at) mutable {
    promise.settle([&] {
      const Failure* const failure = std::get_if<Failure>(&job->outcome);
      if (failure != nullptr) throw_failure(at, *failure);
      return give(at, std::get<Result>(std::move(job->outcome)));
    });
  });
  try {
    environment.pool().run([job, &environment]() {
      job->outcome = outcome_of<Result>(*job->work);
      job->work.reset();
      environment.post(std::move(job->message));
    });
  } catch (const std::system_error&) {
    job->outcome =
        Failure{RUVLLM_UNAVAILABLE, "no thread can be started for the call", "unavailable"};
    (*std::exchange(job->message, nullptr))(env);
  }
  return promise.value();
}

void refuse_after_close(napi_env env) {
  if (Environment::of(env)->is_closed()) throw_failure(env, cancelled("the process exits"));
}

std::shared_ptr<Model> model_of(napi_env env, napi_value value) {
  return std::static_pointer_cast<Model>(unwrapped(env, Kind::model, value));
}
std::shared_ptr<Call> call_of(napi_env env, napi_value value) {
  return std::static_pointer_cast<Call>(unwrapped(env, Kind::call, value));
}

// (maker): see Environment.
napi_value set_error_maker(napi_env env, const Arguments<1>& arguments) {
  Environment::of(env)->set_error_maker(arguments[0]);
  return undefined(env);
}

// (path or null, options): a promise of a model
napi_value load(napi_env env, const Arguments<2>& arguments) {
  refuse_after_close(env);
  Environment& environment = *Environment::of(env);
  const auto work = [path = optional_text(env, arguments[0]), options = c_text(env, arguments[1]),
                     &environment]() -> Outcome<std::shared_ptr<Model>> {
    ruvllm_model* made = nullptr;
    ruvllm_error* error = nullptr;
    const ruvllm_status status = ruvllm_model_load(path ? path->c_str() : nullptr, options.c_str(),
                                                   nullptr, nullptr, &made, &error);
    if (status != RUVLLM_OK) return take_failure(error);
    return std::make_shared<Model>(environment.shared_from_this(), made);
  };
  return in_pool<std::shared_ptr<Model>>(env, work, [](napi_env at, std::shared_ptr<Model> model) {
    return wrapped(at, Kind::model, std::move(model));
  });
}

// (model): JSON
napi_value info(napi_env env, const Arguments<1>& arguments) {
  ruvllm_text* made = nullptr;
  ruvllm_error* error = nullptr;
  if (ruvllm_model_info(model_of(env, arguments[0])->handle(), &made, &error) != RUVLLM_OK) {
    throw_failure(env, take_failure(error));
  }
  const TextHandle text(made);
  return to_js(env, std::string_view(ruvllm_text_data(made), ruvllm_text_size(made)));
}

// (model, Uint8Array, flags): a promise of a list of ids
napi_value tokenize(napi_env env, const Arguments<3>& arguments) {
  using Result = std::shared_ptr<ruvllm_tokens>;
  const auto work = [model = model_of(env, arguments[0]), text = bytes_of(env, arguments[1]),
                     flags = to_flags(env, arguments[2])]() -> Outcome<Result> {
    ruvllm_tokens* made = nullptr;
    ruvllm_error* error = nullptr;
    if (ruvllm_tokenize(model->handle(), text.data(), text.size(), flags, &made, &error) !=
        RUVLLM_OK) {
      return take_failure(error);
    }
    return Result(made, ruvllm_tokens_free);
  };
  return in_pool<Result>(env, work, [](napi_env at, const Result& tokens) {
    const size_t n = ruvllm_tokens_size(tokens.get());
    const int32_t* const ids = ruvllm_tokens_data(tokens.get());
    napi_value list = nullptr;
    check(at, napi_create_array_with_length(at, n, &list));
    for (size_t i = 0; i < n; ++i) {
      check(at, napi_set_element(at, list, static_cast<uint32_t>(i),
                                 to_js(at, static_cast<double>(ids[i]))));
    }
    return list;
  });
}

// (model, Int32Array, flags): a promise of a text
napi_value detokenize(napi_env env, const Arguments<3>& arguments) {
  using Result = std::shared_ptr<ruvllm_text>;
  const auto work = [model = model_of(env, arguments[0]), ids = ids_of(env, arguments[1]),
                     flags = to_flags(env, arguments[2])]() -> Outcome<Result> {
    ruvllm_text* made = nullptr;
    ruvllm_error* error = nullptr;
    if (ruvllm_detokenize(model->handle(), ids.data(), ids.size(), flags, &made, &error) !=
        RUVLLM_OK) {
      return take_failure(error);
    }
    return Result(made, ruvllm_text_free);
  };
  return in_pool<Result>(env, work, [](napi_env at, const Result& text) {
    return to_js(at, std::string_view(ruvllm_text_data(text.get()), ruvllm_text_size(text.get())));
  });
}

// (model, method, path, body or null): a call
napi_value call(napi_env env, const Arguments<4>& arguments) {
  std::shared_ptr<Model> model = model_of(env, arguments[0]);
  Call::Request request{.method = c_text(env, arguments[1]),
                        .path = c_text(env, arguments[2]),
                        .body = optional_text(env, arguments[3])};
  return wrapped(env, Kind::call,
                 std::make_shared<Call>(Environment::of(env)->shared_from_this(), std::move(model),
                                        std::move(request)));
}

// (model, body): a call for vectors
napi_value embed_call(napi_env env, const Arguments<2>& arguments) {
  std::shared_ptr<Model> model = model_of(env, arguments[0]);
  Call::Request request{.body = c_text(env, arguments[1]), .as_vectors = true};
  return wrapped(env, Kind::call,
                 std::make_shared<Call>(Environment::of(env)->shared_from_this(), std::move(model),
                                        std::move(request)));
}

// (call): begins it, though nothing is taken from it yet
napi_value begin(napi_env env, const Arguments<1>& arguments) {
  const std::shared_ptr<Call> call = call_of(env, arguments[0]);
  try {
    Environment::of(env)->pool().run([call] { call->begin(); });
  } catch (const std::system_error&) {
    throw_failure(env,
                  {RUVLLM_UNAVAILABLE, "no thread can be started for the call", "unavailable"});
  }
  return undefined(env);
}

// (call): a promise of {parts, isEnd}
napi_value next(napi_env env, const Arguments<1>& arguments) {
  const auto work = [call = call_of(env, arguments[0])] { return call->next(); };
  return in_pool<Call::Parts>(env, work, [](napi_env at, const Call::Parts& parts) {
    napi_value list = nullptr;
    check(at, napi_create_array_with_length(at, parts.texts.size(), &list));
    for (size_t i = 0; i < parts.texts.size(); ++i) {
      check(at, napi_set_element(at, list, static_cast<uint32_t>(i), to_js(at, parts.texts[i])));
    }
    const napi_value made = object(at);
    set(at, made, "parts", list);
    set(at, made, "isEnd", to_js(at, parts.is_end));
    return made;
  });
}

// The memory of the library as an ArrayBuffer; a copy where the runtime allows no such buffers.
napi_value buffer_of(napi_env env, std::shared_ptr<ruvllm_vectors> vectors) {
  const size_t n_bytes =
      ruvllm_vectors_rows(vectors.get()) * ruvllm_vectors_columns(vectors.get()) * sizeof(float);
  void* const data = const_cast<float*>(ruvllm_vectors_data(vectors.get()));
  napi_value buffer = nullptr;
  if (n_bytes > 0) {
    using Owner = std::shared_ptr<ruvllm_vectors>;
    auto owner = std::make_unique<Owner>(vectors);
    const napi_status status = napi_create_external_arraybuffer(
        env, data, n_bytes, [](napi_env, void*, void* last) { delete static_cast<Owner*>(last); },
        owner.get(), &buffer);
    if (status == napi_ok) {
      owner.release();
      return buffer;
    }
    if (status != napi_no_external_buffers_allowed) check(env, status);
  }
  void* copy = nullptr;
  check(env, napi_create_arraybuffer(env, n_bytes, &copy, &buffer));
  if (n_bytes > 0) std::memcpy(copy, data, n_bytes);
  return buffer;
}

// (call): a promise of {buffer, rows, columns}
napi_value vectors(napi_env env, const Arguments<1>& arguments) {
  using Result = std::shared_ptr<ruvllm_vectors>;
  const auto work = [call = call_of(env, arguments[0])]() -> Outcome<Result> {
    Outcome<VectorsHandle> made = call->vectors();
    if (const Failure* const failure = std::get_if<Failure>(&made)) return *failure;
    return Result(std::get<VectorsHandle>(std::move(made)));
  };
  return in_pool<Result>(env, work, [](napi_env at, const Result& made) {
    const napi_value result = object(at);
    set(at, result, "buffer", buffer_of(at, made));
    set(at, result, "rows", to_js(at, static_cast<double>(ruvllm_vectors_rows(made.get()))));
    set(at, result, "columns", to_js(at, static_cast<double>(ruvllm_vectors_columns(made.get()))));
    return result;
  });
}

// (call)
napi_value cancel(napi_env env, const Arguments<1>& arguments) {
  call_of(env, arguments[0])->cancel();
  return undefined(env);
}

// (model, options): a promise of {server, port}
napi_value serve(napi_env env, const Arguments<2>& arguments) {
  using Result = std::shared_ptr<Server>;
  Environment& environment = *Environment::of(env);
  const auto work = [model = model_of(env, arguments[0]), options = c_text(env, arguments[1]),
                     &environment]() -> Outcome<Result> {
    ruvllm_server* made = nullptr;
    ruvllm_error* error = nullptr;
    if (ruvllm_server_start(model->handle(), options.c_str(), &made, &error) != RUVLLM_OK) {
      return take_failure(error);
    }
    return std::make_shared<Server>(environment.shared_from_this(), made);
  };
  return in_pool<Result>(env, work, [](napi_env at, Result made) {
    const napi_value result = object(at);
    set(at, result, "port", to_js(at, static_cast<double>(made->port())));
    set(at, result, "server", wrapped(at, Kind::server, std::move(made)));
    return result;
  });
}

// (model, call or server): a promise that is settled when this use of it has ended
napi_value close(napi_env env, const Arguments<1>& arguments) {
  std::shared_ptr<Resource> resource = taken(env, arguments[0]);
  if (resource != nullptr) resource->cancel();
  return in_pool<bool>(
      env, [last = std::move(resource)]() -> Outcome<bool> { return true; },
      [](napi_env at, bool) { return undefined(at); });
}

napi_value hold(napi_env env, const Arguments<1>&) {
  Environment::of(env)->hold();
  return undefined(env);
}
napi_value let_go(napi_env env, const Arguments<1>&) {
  Environment::of(env)->let_go();
  return undefined(env);
}
// The process or the thread exits.
napi_value shut_down(napi_env env, const Arguments<1>&) {
  Environment::of(env)->close();
  return undefined(env);
}

void add_function(napi_env env, napi_value exports, const char* name, napi_callback function) {
  napi_value made = nullptr;
  check(env, napi_create_function(env, name, NAPI_AUTO_LENGTH, function, nullptr, &made));
  set(env, exports, name, made);
}

void add_functions(napi_env env, napi_value exports) {
  add_function(env, exports, "setErrorMaker", entry<1, set_error_maker>);
  add_function(env, exports, "load", entry<2, load>);
  add_function(env, exports, "info", entry<1, info>);
  add_function(env, exports, "tokenize", entry<3, tokenize>);
  add_function(env, exports, "detokenize", entry<3, detokenize>);
  add_function(env, exports, "call", entry<4, call>);
  add_function(env, exports, "embedCall", entry<2, embed_call>);
  add_function(env, exports, "begin", entry<1, begin>);
  add_function(env, exports, "next", entry<1, next>);
  add_function(env, exports, "vectors", entry<1, vectors>);
  add_function(env, exports, "cancel", entry<1, cancel>);
  add_function(env, exports, "serve", entry<2, serve>);
  add_function(env, exports, "close", entry<1, close>);
  add_function(env, exports, "hold", entry<1, hold>);
  add_function(env, exports, "letGo", entry<1, let_go>);
  add_function(env, exports, "shutDown", entry<1, shut_down>);
  set(env, exports, "version", to_js(env, std::string_view(ruvllm_version())));
}

}  // namespace
}  // namespace ruv_node

NAPI_MODULE_INIT() {
  if (ruvllm_abi_version() != RUVLLM_ABI_VERSION) {
    napi_throw_error(env, nullptr, "libruvllm has another version than the addon was made for");
    return nullptr;
  }
  if (ruv_node::Environment::create(env) == nullptr) return nullptr;
  try {
    ruv_node::add_functions(env, exports);
  } catch (const ruv_node::Thrown&) {
    return nullptr;
  }
  return exports;
}

#include "values.h"

#include <array>
#include <cstring>
#include <system_error>
#include <utility>

namespace ruv_node {
namespace {

// What an object wraps. The environment outlives it in this way.
struct Held {
  Kind kind;
  std::shared_ptr<Environment> environment;
  std::shared_ptr<Resource> resource;
};

// Says that an object is one of ours: drawn once.
constexpr napi_type_tag kTag = {0x7c0d5e9a41b84f26, 0x9b3f6a2de8157cd4};

// A thread of the pool drops it; where there is none, this one.
void drop(Environment& environment, std::shared_ptr<Resource> resource) noexcept {
  if (resource == nullptr) return;
  resource->cancel();
  auto shared = std::make_shared<std::shared_ptr<Resource>>(std::move(resource));
  try {
    environment.pool().run([shared] { shared->reset(); });
  } catch (const std::system_error&) {
    shared->reset();
  }
}

Held* held_in(napi_env env, napi_value value) {
  bool is_ours = false;
  void* data = nullptr;
  if (napi_check_object_type_tag(env, value, &kTag, &is_ours) != napi_ok || !is_ours ||
      napi_unwrap(env, value, &data) != napi_ok) {
    napi_throw_type_error(env, nullptr, "not a handle of ruvllm");
    throw Thrown();
  }
  return static_cast<Held*>(data);
}

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::model:
      return "model";
    case Kind::call:
      return "answer";
    case Kind::server:
      return "server";
  }
  return "";
}

}  // namespace

// A wrong type, mostly: an error of Node's own is made where none is pending.
void check(napi_env env, napi_status status) {
  if (status == napi_ok) return;
  bool is_pending = false;
  napi_is_exception_pending(env, &is_pending);
  const napi_extended_error_info* info = nullptr;
  if (!is_pending && napi_get_last_error_info(env, &info) == napi_ok) {
    const char* const message = info->error_message;
    napi_throw_type_error(env, nullptr, message != nullptr ? message : "a call of Node-API failed");
  }
  throw Thrown();
}

napi_value to_js(napi_env env, std::string_view text) {
  napi_value value = nullptr;
  check(env, napi_create_string_utf8(env, text.data(), text.size(), &value));
  return value;
}

napi_value to_js(napi_env env, double number) {
  napi_value value = nullptr;
  check(env, napi_create_double(env, number, &value));
  return value;
}

napi_value to_js(napi_env env, bool value) {
  napi_value made = nullptr;
  check(env, napi_get_boolean(env, value, &made));
  return made;
}

napi_value undefined(napi_env env) {
  napi_value value = nullptr;
  check(env, napi_get_undefined(env, &value));
  return value;
}

napi_value object(napi_env env) {
  napi_value value = nullptr;
  check(env, napi_create_object(env, &value));
  return value;
}

void set(napi_env env, napi_value object, const char* name, napi_value value) {
  check(env, napi_set_named_property(env, object, name, value));
}

std::string c_text(napi_env env, napi_value value) {
  size_t size = 0;
  check(env, napi_get_value_string_utf8(env, value, nullptr, 0, &size));
  std::string text(size + 1, '\0');
  check(env, napi_get_value_string_utf8(env, value, text.data(), text.size(), &size));
  text.resize(size);
  if (text.find('\0') != text.npos) {
    throw_failure(env, {RUVLLM_INVALID, "a path or a request has a NUL in it", "invalid_value"});
  }
  return text;
}

std::optional<std::string> optional_text(napi_env env, napi_value value) {
  napi_valuetype type = napi_undefined;
  check(env, napi_typeof(env, value, &type));
  if (type == napi_undefined || type == napi_null) return std::nullopt;
  return c_text(env, value);
}

uint32_t to_flags(napi_env env, napi_value value) {
  uint32_t flags = 0;
  check(env, napi_get_value_uint32(env, value, &flags));
  return flags;
}

std::string bytes_of(napi_env env, napi_value value) {
  napi_typedarray_type type = napi_int8_array;
  size_t n = 0;
  void* data = nullptr;
  check(env, napi_get_typedarray_info(env, value, &type, &n, &data, nullptr, nullptr));
  check(env, type == napi_uint8_array ? napi_ok : napi_invalid_arg);
  return n == 0 ? std::string() : std::string(static_cast<const char*>(data), n);
}

std::vector<int32_t> ids_of(napi_env env, napi_value value) {
  napi_typedarray_type type = napi_int8_array;
  size_t n = 0;
  void* data = nullptr;
  check(env, napi_get_typedarray_info(env, value, &type, &n, &data, nullptr, nullptr));
  check(env, type == napi_int32_array ? napi_ok : napi_invalid_arg);
  std::vector<int32_t> ids(n);
  if (n > 0) std::memcpy(ids.data(), data, n * sizeof(int32_t));
  return ids;
}

napi_value to_error(napi_env env, const Failure& failure) {
  const std::array<napi_value, 4> arguments = {to_js(env, static_cast<double>(failure.status)),
                                               to_js(env, failure.message),
                                               to_js(env, failure.code), to_js(env, failure.field)};
  napi_value error = nullptr;
  check(env, napi_call_function(env, undefined(env), Environment::of(env)->error_maker(),
                                arguments.size(), arguments.data(), &error));
  return error;
}

void throw_failure(napi_env env, const Failure& failure) {
  check(env, napi_throw(env, to_error(env, failure)));
  throw Thrown();
}

napi_value wrapped(napi_env env, Kind kind, std::shared_ptr<Resource> resource) {
  const napi_value made = object(env);
  check(env, napi_type_tag_object(env, made, &kTag));
  auto held = std::make_unique<Held>(
      Held{kind, Environment::of(env)->shared_from_this(), std::move(resource)});
  const auto finalize = [](napi_env, void* data, void*) {
    const std::unique_ptr<Held> last(static_cast<Held*>(data));
    drop(*last->environment, std::move(last->resource));
  };
  check(env, napi_wrap(env, made, held.get(), finalize, nullptr, nullptr));
  held.release();
  return made;
}

std::shared_ptr<Resource> unwrapped(napi_env env, Kind kind, napi_value value) {
  const Held* const held = held_in(env, value);
  check(env, held->kind == kind ? napi_ok : napi_invalid_arg);
  if (held->resource == nullptr || held->environment->is_closed()) {
    throw_failure(env, cancelled("the " + std::string(name_of(kind)) + " is closed"));
  }
  return held->resource;
}

std::shared_ptr<Resource> taken(napi_env env, napi_value value) {
  return std::exchange(held_in(env, value)->resource, nullptr);
}

}  // namespace ruv_node

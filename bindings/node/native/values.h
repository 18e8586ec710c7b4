// Between values of JavaScript and of C++. A function that fails throws Thrown: a JavaScript error
// is pending then, or Node takes no more calls.
#pragma once

#include <node_api.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "environment.h"
#include "outcome.h"

namespace ruv_node {

struct Thrown {};

// Throws Thrown unless the status is napi_ok.
void check(napi_env env, napi_status status);

napi_value to_js(napi_env env, std::string_view text);
napi_value to_js(napi_env env, double number);
napi_value to_js(napi_env env, bool value);
napi_value undefined(napi_env env);
napi_value object(napi_env env);
void set(napi_env env, napi_value object, const char* name, napi_value value);

// A text that C gets: without NUL.
std::string c_text(napi_env env, napi_value value);
// The same; null and undefined are nothing.
std::optional<std::string> optional_text(napi_env env, napi_value value);
uint32_t to_flags(napi_env env, napi_value value);
// A copy of an array's bytes, of an Int32Array's numbers.
std::string bytes_of(napi_env env, napi_value value);
std::vector<int32_t> ids_of(napi_env env, napi_value value);

// An instance of the package's error classes.
napi_value to_error(napi_env env, const Failure& failure);
[[noreturn]] void throw_failure(napi_env env, const Failure& failure);

// An object that holds a resource: the last use of it is let go of in the pool, as it may wait.
enum class Kind { model, call, server };
napi_value wrapped(napi_env env, Kind kind, std::shared_ptr<Resource> resource);
// Throws at other objects, and where the resource was taken.
std::shared_ptr<Resource> unwrapped(napi_env env, Kind kind, napi_value value);
// Whatever kind it is; null: it was taken before.
std::shared_ptr<Resource> taken(napi_env env, napi_value value);

}  // namespace ruv_node

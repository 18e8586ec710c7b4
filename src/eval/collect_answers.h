// Many requests through the engine, some at a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "eval/likelihood.h"

namespace ruv {

// The texts that answer the requests 0 … n - 1, in their order. `request_of` is called once for
// each, in order. Fails: as it, with the number of the sample; as Engine::stream; cancelled.
Result<std::vector<std::string>> collect_answers(
    Engine& engine, size_t n, const std::function<Result<Request>(size_t)>& request_of,
    const EvalLimits& limits);

}  // namespace ruv

// Where the built-in model is: the small model that comes with the program.
#pragma once

#include <string>

namespace ruv {

// The path of ruvltra-nano-q8_0.gguf: ../share/ruvllm/ or models/ beside the program, else models/
// of the source tree if the program is in its build/release/apps/ruvllm. Empty when it is at none.
std::string default_model_path();

}  // namespace ruv

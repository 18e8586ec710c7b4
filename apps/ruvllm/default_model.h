// Where the built-in model is: the small model that comes with the program.
#pragma once

#include <string>

namespace ruv {

// The path of ruvltra-nano-q8_0.gguf: ../share/ruvllm/ or models/ beside the program, else the
// folder models/ of the source tree it was built from. Empty when it is at none of them.
std::string default_model_path();

}  // namespace ruv

// What `ruvllm mcp` offers: the model as tools.
#pragma once

#include <memory>
#include <vector>

#include "ruv/engine.h"
#include "tools/tool.h"

namespace ruv {

// "generate", "embed" and "tokenize". The engine must live longer. Embedding costs as much as
// reading a prompt; tokenizing does not use the engine.
std::vector<std::shared_ptr<Tool>> model_tools(Engine& engine);

}  // namespace ruv

// StarCoder2: layer norm, a plain feed-forward, biases everywhere or nowhere, RoPE and a window.
#include "model/arch/archs.h"

namespace ruv::arch {
constinit const ArchSpec starcoder2{
    .name = "starcoder2",
    .block = {.norm = Norm::layer, .gated = false, .act = Act::gelu_tanh, .window = Window::all}};
}

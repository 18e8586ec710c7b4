// Phi-3 and 3.5: Llama with fused projections (seen from the file) and LongRoPE.
#include "model/arch/archs.h"

namespace ruv::arch {
constinit const ArchSpec phi3{.name = "phi3", .block = {.window = Window::all}};
}

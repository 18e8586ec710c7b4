// Llama 2 and 3, Mistral (whose files name a window).
#include "model/arch/archs.h"

namespace ruv::arch {
constinit const ArchSpec llama{.name = "llama", .block = {.window = Window::all}};
}

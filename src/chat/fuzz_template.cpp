// Any bytes as a template: parsing and rendering must end, within small limits, without a fault.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "chat/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const ruv::Json kContext = ruv::parse_json(R"({
    "messages": [{"role": "user", "content": " a <b> é\n"}, {"role": "assistant", "content": null}],
    "tools": [{"name": "f", "parameters": {"x": [1, 2.5, true, null, "s"]}}],
    "n": 3, "s": "text", "l": [3, 1, 2], "d": {"k": "v"}, "add_generation_prompt": true})",
                                                    "context")
                                        .value();
  const std::string_view source(reinterpret_cast<const char*>(bytes), size);
  const auto parsed = ruv::ChatTemplate::parse(source);
  if (!parsed) return 0;
  ruv::RenderOptions options;
  options.max_steps = 20'000;
  options.max_output_bytes = 1 << 16;
  (void)(*parsed)->render(kContext, options).has_value();
  return 0;
}

// Reads hostile response templates; by one that can be read a call is written and parsed, and the
// dialect of a chat template is found.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "chat/chat_template.h"
#include "chat/tools/response_template.h"
#include "chat/tools/tool_parser.h"
#include "chat/tools/write_calls.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace ruv;
  const std::string_view json(reinterpret_cast<const char*>(bytes), size);
  auto declared = read_response_template(json);
  if (!declared) return 0;
  if (declared->calls) {
    const std::vector<ToolCall> calls = {{"f", "id1", R"({"a": "b", "n": [1, true]})"}};
    const auto answer = write_calls(*declared->calls, calls);
    ToolParser parser(*declared->calls, {});
    std::vector<ToolDelta> deltas;
    parser.feed(answer ? std::string_view(*answer) : json, deltas);
    parser.finish(deltas);
  }
  const auto chat = ChatTemplate::parse(
      "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}", std::move(*declared));
  (void)(*chat)->dialect();
  return 0;
}

// The marks that models think between.
#include <vector>

#include "chat/tools/tool_dialect.h"

namespace ruv {

std::span<const ReasoningMarks> reasoning_marks() {
  // Marks that are control tokens everywhere may be anywhere.
  static const std::vector<ReasoningMarks> kMarks = {
      {.begin = "<|channel>thought\n", .end = "\n<channel|>", .anywhere = true},
      {.begin = "<seed:think>", .end = "</seed:think>"},
      {.begin = "<mm:think>", .end = "</mm:think>"},
      {.begin = "<think:opensource>", .end = "</think:opensource>"},
      {.begin = "[THINK]", .end = "[/THINK]", .anywhere = true},
      {.begin = "<|START_THINKING|>", .end = "<|END_THINKING|>", .anywhere = true},
      {.begin = "<|inner_prefix|>", .end = "<|inner_suffix|>", .anywhere = true},
      {.begin = "Here are my reasoning steps:\n",
       .end = "\n[BEGIN FINAL RESPONSE]\n",
       .begin_is_text = true},
      {.begin = "Here is my thought process:", .end = "Here is my response:"},
      {.begin = "<think>\n", .end = "\n</think>\n\n", .ended_by_call = true},
      {.begin = "<thought>\n", .end = "\n</thought>\n\n"},
      {.begin = "<thinking>\n", .end = "\n</thinking>\n\n"},
      {.begin = "<reasoning>\n", .end = "\n</reasoning>\n\n"},
      {.begin = "<|think|>", .end = "<|end|>", .anywhere = true},
  };
  return kMarks;
}

}  // namespace ruv

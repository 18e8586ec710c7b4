#include "foreign_options.h"

#include <fmt/format.h>

#include <algorithm>

namespace ruv {
namespace {

struct ForeignOption {
  std::string_view names;  // separated by spaces
  std::string_view ours;   // empty: there is none
  std::string_view why = {};
};

constexpr ForeignOption kForeign[] = {
    {"-n --n-predict --predict --num-predict", "--max-tokens"},
    {"--temp", "--temperature"},
    {"--ctx-size --num-ctx --context-length", "--ctx"},
    {"--repeat-penalty", "--repetition-penalty"},
    {"--repeat-last-n", "--repetition-window"},
    {"--typical", "--typical-p"},
    {"-ctk --cache-type-k -ctv --cache-type-v", "--kv"},
    {"-np --n-parallel", "--parallel"},
    {"-md --model-draft", "--draft-model"},
    {"-sys --system-prompt", "--system"},
    {"-j --json-schema --format", "--schema"},
    {"--grammar-file", "--grammar"},
    {"--keepalive", "--keep-alive"},
    {"--prompt-cache --slot-save-path", "--cache-dir"},
    {"--context-shift", "--context-shift"},
    {"--ssl-cert-file", "--tls-cert"},
    {"--ssl-key-file", "--tls-key"},
    {"--lora-scaled --control-vector --control-vector-scaled", "--lora", "with PATH or PATH=SCALE"},
    {"--control-vector-layer-range", "", "all directions of a control vector are added"},
    {"--log-disable", "--log", "with the value off"},
    {"-f --file", "", "a prompt in a file comes through stdin: cat FILE | ruvllm run"},
    {"-cnv --conversation -i --interactive", "", "a conversation is held by `ruvllm chat`"},
    {"-hf --hf-repo -hff --hf-file -mu --model-url", "", "here it is --model hf:owner/repo"},
    {"-ngl --gpu-layers --n-gpu-layers --num-gpu -ts --tensor-split -sm --split-mode -mg "
     "--main-gpu",
     "", "all layers run on the processor"},
    {"-fa --flash-attn", "", "attention is always computed block by block"},
    {"--mlock --no-mmap", "", "how weights are kept in memory is not an option"},
    {"-b --batch-size -ub --ubatch-size -cb --cont-batching", "",
     "the engine chooses the size of its steps and always joins requests"},
    {"--jinja --no-jinja --chat-template", "", "the model's own template is used"},
    {"--color --simple-io", "", "colours show on a terminal; NO_COLOR switches them off"},
    {"-e --escape", "", "line breaks in a prompt are written as such"},
};

bool has_name(const ForeignOption& row, std::string_view name) {
  std::string_view names = row.names;
  while (true) {
    const size_t space = names.find(' ');
    if (names.substr(0, space) == name) return true;
    if (space == names.npos) return false;
    names.remove_prefix(space + 1);
  }
}

}  // namespace

std::string advice_on(std::string_view option, const CommandHelp& command) {
  std::string name(option);
  std::ranges::replace(name, '_', '-');
  if (name != option && command.find(name) != nullptr)
    return fmt::format("here it is {}", name);  // --top_k
  for (const ForeignOption& row : kForeign) {
    if (!has_name(row, name)) continue;
    if (row.ours.empty()) return std::string(row.why);
    if (command.find(row.ours) == nullptr) return {};
    return fmt::format("here it is {}{}{}", row.ours, row.why.empty() ? "" : " ", row.why);
  }
  return {};
}

}  // namespace ruv

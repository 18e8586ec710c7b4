#include "command_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "command_line.h"
#include "commands.h"
#include "help_text.h"
#include "ruv/version.h"

namespace ruv {
namespace {

constexpr const char* kUse = "Use a model";
constexpr const char* kModels = "Models and what is kept";
constexpr const char* kInside = "Look inside";
constexpr const char* kProgram = "The program";

constexpr Subcommand kSubcommands[] = {
    {"run", run_command, "Answer one prompt", kUse},
    {"chat", chat_command, "Hold a conversation", kUse},
    {"serve", serve_command, "Answer over HTTP, as the OpenAI API does", kUse},
    {"mcp", mcp_command, "Offer the model to other programs as an MCP server", kUse},
    {"embed", embed_command, "Vectors of texts", kUse},
    {"rerank", rerank_command, "Sort texts by how well they answer a query", kUse},
    {"pull", pull_command, "Fetch a model from a hub by its name", kModels},
    {"push", push_command, "Send model files to a hub", kModels},
    {"list", list_command, "The models that are here, and short names of others", kModels},
    {"ls", list_command, "", ""},
    {"tag", tag_command, "Give a model a name with a tag; every version stays", kModels},
    {"rm", rm_command, "Remove pulled models, and names", kModels},
    {"info", info_command, "What a model file holds, what it needs, whether it can run", kModels},
    {"quantize", quantize_command, "Write a model file in a smaller format", kModels},
    {"convert", convert_command, "A folder for transformers as a GGUF file, or the other way round",
     kModels},
    {"imatrix", imatrix_command, "Measure which columns matter, for quantising", kModels},
    {"train", train_command, "Train a model or an adapter on texts or answers", kModels},
    {"learn", learn_command, "Learn from feedback, step by step, and take it back", kModels},
    {"lora", lora_command, "What adapters hold, and making one of several", kModels},
    {"memory", memory_command, "Keep documents, and find what fits a question", kModels},
    {"audit", audit_command, "Check a server's audit log, and run its answers again", kModels},
    {"sessions", sessions_command, "List, show and delete kept conversations", kModels},
    {"cache", cache_command, "What is kept on disk, and removing what can be made again", kModels},
    {"tokenize", tokenize_command, "Text to token ids and back", kInside},
    {"template", template_command, "Render conversations with a chat template", kInside},
    {"eval", eval_command, "Score a model on a task", kInside},
    {"perplexity", perplexity_command, "How well a model predicts a text", kInside},
    {"logits", logits_command, "Raw logits after given ids, to compare engines", kInside},
    {"kv-gate", kv_gate_command, "Whether a model tolerates keys and values in 4 or 2 bits",
     kInside},
    {"bench", bench_command, "Speed, memory, and the share of this machine's limits", kInside},
    {"config", config_command, "Which settings hold, and where each comes from", kProgram},
    {"completion", completion_command, "Completion of commands and options for a shell", kProgram},
    {"man", man_command, "Manual pages", kProgram},
    {"reference", reference_command, "The reference page docs/cli.md", ""},
};

struct ForeignCommand {
  std::string_view name;
  std::string_view advice;
};
constexpr ForeignCommand kForeignCommands[] = {
    {"ps", "a server lists its models at GET /v1/models"},
    {"stop", "a server ends with Ctrl-C or SIGTERM"},
    {"show", "here it is `ruvllm info`"},
    {"create", "here there are no Modelfiles: options are given to `ruvllm run` and `serve`"},
    {"cli", "here it is `ruvllm run` or `ruvllm chat`"},
    {"server", "here it is `ruvllm serve`"},
    {"embedding", "here it is `ruvllm embed`"},
};

}  // namespace

std::span<const Subcommand> subcommands() { return kSubcommands; }

const Subcommand* find_subcommand(std::string_view name) {
  const Subcommand* found = std::ranges::find_if(
      kSubcommands, [name](const Subcommand& command) { return name == command.name; });
  return found == std::end(kSubcommands) ? nullptr : found;
}

std::string command_advice(std::string_view name) {
  for (const ForeignCommand& command : kForeignCommands) {
    if (command.name == name) return std::string(command.advice);
  }
  return {};
}

CommandHelp command_help(const Subcommand& command) {
  CommandHelp help;
  const DescribeScope scope(help);
  std::string name = command.name;
  std::array<char*, 2> call = {name.data(), nullptr};
  command.function(1, call.data());
  return help;
}

std::vector<CommandHelp> all_command_help() {
  std::vector<CommandHelp> all;
  for (const Subcommand& command : kSubcommands) {
    if (*command.group != '\0') all.push_back(command_help(command));
  }
  return all;
}

std::string program_help(size_t width) {
  std::string out = fmt::format(
      "ruvllm {}: local language models\n\nUsage: ruvllm COMMAND [OPTIONS]\n", RUV_VERSION);
  for (const char* const group : {kUse, kModels, kInside, kProgram}) {
    out += fmt::format("\n{}:\n", group);
    for (const Subcommand& command : kSubcommands) {
      if (command.group != group) continue;
      constexpr size_t kIndent = 14;
      out += fmt::format("  {:<12}{}\n", command.name, wrapped(command.help, width, kIndent));
    }
    if (group == kProgram) {
      out +=
          "  help        The options of a command: ruvllm help run\n"
          "  version     Which version this is\n";
    }
  }
  return out + '\n' +
         wrapped(
             "Options may also come from the environment (RUVLLM_MODEL, RUVLLM_CTX, ...) and "
             "from a configuration file. Exit codes: 0 done, 1 the job failed, 2 the call was "
             "wrong, 130 ended by Ctrl-C.",
             width, 0) +
         '\n';
}

}  // namespace ruv

// ruvllm lora: what adapters hold, and making one of several.
#include <algorithm>
#include <cmath>

#include "adapt/merge_adapters.h"
#include "base/json.h"
#include "command_line.h"
#include "commands.h"
#include "format/tensor_names.h"
#include "output_file.h"
#include "shown_text.h"
#include "terminal.h"
#include "train/merge_into.h"

namespace ruv {
namespace {

struct LoraCall {
  std::string action;
  std::vector<std::string> paths;
  std::string out, strategy = "linear", weights, rank = "sum", type = "f32", base;
  std::string into;
  std::string t = "0.5", density = "0.5";
  int64_t seed = 0;
  bool force = false, json = false;
  int n_threads = 0;
};

Result<double> number_of(const std::string& text, const char* flag) {
  size_t used = 0;
  double number = NAN;
  try {
    number = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != text.size() || !std::isfinite(number)) {
    return fail(Code::invalid, "{} '{}': not a number", flag, quoted_name(text));
  }
  return number;
}

Result<std::vector<double>> weights_of(const std::string& text) {
  std::vector<double> weights;
  for (size_t at = 0; !text.empty() && at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    weights.push_back(TRY(number_of(text.substr(at, end - at), "--weights")));
    at = end + 1;
  }
  return weights;
}

int64_t bytes_of(const TensorInfo& matrix) {
  return format_of(matrix.dtype).bytes_of(matrix.n_elements());
}

// What a control vector has in the place of modules.
void print_directions(const AdapterFile& file, bool json) {
  std::vector<double> lengths;
  int64_t n_params = 0, n_bytes = 0;
  for (const AdapterDirection& direction : file.directions) {
    std::vector<float> numbers(static_cast<size_t>(direction.numbers.n_elements()));
    if (!numbers.empty()) direction.numbers.decode_row(0, numbers.data());
    double squares = 0;
    for (const float number : numbers) squares += double{number} * double{number};
    lengths.push_back(std::sqrt(squares));
    n_params += direction.numbers.n_elements();
    n_bytes += bytes_of(direction.numbers);
  }
  Json rows = Json::array();
  std::string text;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const AdapterDirection& direction = file.directions[i];
    const int64_t n = direction.numbers.n_elements();
    rows.push_back(Json{{"layer", direction.layer}, {"n_embd", n}, {"length", lengths[i]}});
    text += fmt::format("{:>5} {:>9} {:>9.5g}\n", direction.layer, n, lengths[i]);
  }
  if (json) {
    print_json_line({{"path", file.path},
                     {"container", container_name(file.container)},
                     {"base", file.base},
                     {"n_params", n_params},
                     {"n_bytes", n_bytes},
                     {"directions", std::move(rows)}});
    return;
  }
  fmt::print("{}: control vector, {}, {} directions, {} parameters, {}\nmodel: {}\n", file.path,
             container_name(file.container), lengths.size(), readable_count(n_params),
             readable_bytes(n_bytes),
             file.base.empty() ? "the file does not say" : shown_text(file.base, kWholeText));
  fmt::print("{:>5} {:>9} {:>9}\n{}", "layer", "numbers", "length", text);
}

struct InfoRow {
  const std::string& tensor;
  int64_t rank;
  float scale;
  std::string shape;
  const TensorInfo& a;
  const TensorInfo& b;
};
void print_row(const InfoRow& row) {
  fmt::print("{:>5} {:>9.5g} {:>15} {:>5} {:>9}  {}\n", row.rank, row.scale, row.shape,
             format_of(row.a.dtype).name, readable_bytes(bytes_of(row.a) + bytes_of(row.b)),
             shown_text(row.tensor, kWholeText));
}

Status print_info(const LoraCall& call) {
  const AdapterFile file = TRY(open_adapter(call.paths.front()));
  Json modules = Json::array();
  int64_t n_bytes = 0, n_params = 0;
  for (const AdapterModule& module : file.modules) {
    const int64_t bytes = bytes_of(module.a) + bytes_of(module.b);
    n_bytes += bytes;
    n_params += module.a.n_elements() + module.b.n_elements();
    if (!call.json) continue;
    modules.push_back(Json{{"tensor", module.tensor},
                           {"rank", module.rank()},
                           {"scale", module.scale},
                           {"n_in", module.a.shape[1]},
                           {"n_out", module.b.shape[0]},
                           {"type", format_of(module.a.dtype).name},
                           {"n_bytes", bytes}});
  }
  for (const AdapterStack& stack : file.stacks) {
    const int64_t bytes = bytes_of(stack.a) + bytes_of(stack.b);
    n_bytes += bytes;
    n_params += stack.a.n_elements() + stack.b.n_elements();
    if (!call.json) continue;
    modules.push_back(Json{{"tensor", stack.tensor},
                           {"n_experts", stack.n_experts()},
                           {"rank", stack.rank()},
                           {"scale", stack.scale},
                           {"n_in", stack.a.shape[2]},
                           {"n_out", stack.b.shape[1]},
                           {"type", format_of(stack.a.dtype).name},
                           {"n_bytes", bytes}});
  }
  if (!file.directions.empty()) {
    print_directions(file, call.json);
    return {};
  }
  if (call.json) {
    print_json_line({{"path", file.path},
                     {"container", container_name(file.container)},
                     {"base", file.base},
                     {"n_params", n_params},
                     {"n_bytes", n_bytes},
                     {"modules", std::move(modules)}});
    return {};
  }
  fmt::print("{}: {}, {} modules, {} parameters, {}\nbase: {}\n", file.path,
             container_name(file.container), file.modules.size() + file.stacks.size(),
             readable_count(n_params), readable_bytes(n_bytes),
             file.base.empty() ? "the file does not say" : shown_text(file.base, kWholeText));
  fmt::print("{:>5} {:>9} {:>15} {:>5} {:>9}  tensor\n", "rank", "scale", "out by in", "type",
             "bytes");
  for (const AdapterModule& module : file.modules) {
    print_row({module.tensor, module.rank(), module.scale,
               fmt::format("{} by {}", module.b.shape[0], module.a.shape[1]), module.a, module.b});
  }
  for (const AdapterStack& stack : file.stacks) {
    print_row({stack.tensor, stack.rank(), stack.scale,
               fmt::format("{} x {} by {}", stack.n_experts(), stack.b.shape[1], stack.a.shape[2]),
               stack.a, stack.b});
  }
  return {};
}

Result<MergeRecipe> recipe_of(const LoraCall& call) {
  MergeRecipe recipe;
  recipe.strategy = TRY(find_merge_strategy(call.strategy));
  recipe.weights = TRY(weights_of(call.weights));
  recipe.t = TRY(number_of(call.t, "--t"));
  recipe.density = TRY(number_of(call.density, "--density"));
  recipe.seed = static_cast<uint64_t>(call.seed);
  return recipe;
}

// A number that the strategy does not look at is a mistake.
Status check_flags(const CommandLine& line, const MergeRecipe& recipe) {
  const MergeStrategyRow& row = strategy_row(recipe.strategy);
  for (const auto& [flag, is_taken] :
       {std::pair("--weights", row.takes_weights), std::pair("--t", row.takes_t),
        std::pair("--density", row.takes_density), std::pair("--seed", row.takes_seed)}) {
    if (line.given(flag) && !is_taken) {
      return fail(Code::invalid, "{} has no effect with strategy {}", flag, row.name);
    }
  }
  return {};
}

Result<MergeOptions> options_of(const LoraCall& call) {
  MergeOptions options{.base = call.base, .replace = call.force, .n_threads = call.n_threads};
  if (call.rank == "largest") {
    options.rank_of = MergedRank::largest;
  } else if (call.rank != "sum") {
    const std::optional<int64_t> rank = parse_decimal(call.rank);
    if (!rank || *rank <= 0) {
      return fail(Code::invalid, "--rank '{}' is not sum, largest or a number above 0",
                  quoted_name(call.rank));
    }
    options.rank_of = MergedRank::given;
    options.rank = *rank;
  }
  const Format* const format = find_format(call.type);
  if (format == nullptr || (format->dtype != DType::f32 && format->dtype != DType::f16 &&
                            format->dtype != DType::bf16)) {
    return fail(Code::invalid, "--type '{}' is not f32, f16 or bf16", quoted_name(call.type));
  }
  options.dtype = format->dtype;
  return options;
}

void print_summary(const LoraCall& call, const MergeSummary& summary, Json modules) {
  if (call.json) {
    print_json_line({{"out", call.out},
                     {"strategy", call.strategy},
                     {"n_modules", summary.n_modules},
                     {"n_params", summary.n_params},
                     {"n_bytes", summary.n_bytes},
                     {"relative_error", summary.relative_error},
                     {"worst_error", summary.worst_error},
                     {"worst", summary.worst},
                     {"modules", std::move(modules)}});
    return;
  }
  fmt::print("{}: {} modules, {} parameters, {}\nrelative error {:.2e}, at most {:.2e} in {}\n",
             call.out, summary.n_modules, readable_count(summary.n_params),
             readable_bytes(summary.n_bytes), summary.relative_error, summary.worst_error,
             shown_text(summary.worst, kWholeText));
}

Status merge(const CommandLine& line, const LoraCall& call) {
  const MergeRecipe recipe = TRY(recipe_of(call));
  TRY(check_flags(line, recipe));
  MergeOptions options = TRY(options_of(call));
  std::vector<AdapterFile> files;
  for (const std::string& path : call.paths) files.push_back(TRY(open_adapter(path)));
  const AdapterSet set = TRY(AdapterSet::join(files, recipe));
  const InterruptScope ctrl_c;
  Json modules = Json::array();
  std::string rows;
  std::optional<ProgressBar> bar(std::in_place, "merging");
  options.on_module = [&](const MergeStep& step) {
    bar->update(static_cast<double>(step.index + 1) / static_cast<double>(step.n_modules));
    if (call.json) {
      modules.push_back(Json{
          {"tensor", step.tensor}, {"rank", step.rank}, {"relative_error", step.relative_error}});
    } else {
      rows += fmt::format("{:>5} {:>9.2e}  {}\n", step.rank, step.relative_error,
                          shown_text(step.tensor, kWholeText));
    }
    return !ctrl_c.interrupted();
  };
  const MergeSummary summary = TRY(merge_adapters(set, call.out, options));
  bar.reset();
  if (!call.json && !is_quiet()) fmt::print("{:>5} {:>9}  tensor\n{}", "rank", "error", rows);
  print_summary(call, summary, std::move(modules));
  return {};
}

Result<std::vector<AdapterToMerge>> adapters_of(const LoraCall& call) {
  const std::vector<double> weights = TRY(weights_of(call.weights));
  if (!weights.empty() && weights.size() != call.paths.size()) {
    return fail(Code::invalid, "--weights: {} for {} adapters", weights.size(), call.paths.size());
  }
  std::vector<AdapterToMerge> adapters;
  for (size_t i = 0; i < call.paths.size(); ++i) {
    AdapterToMerge& adapter = adapters.emplace_back();
    adapter.file = TRY(open_adapter(call.paths[i]));
    if (!weights.empty()) adapter.scale = static_cast<float>(weights[i]);
  }
  return adapters;
}

// Writes a model.
Status merge_into(const CommandLine& line, const LoraCall& call) {
  MergeIntoOptions options{.replace = call.force};
  if (line.given("--type")) options.dtype = TRY(options_of(call)).dtype;
  const InterruptScope ctrl_c;
  std::optional<ProgressBar> bar(std::in_place, "merging");
  options.go_on = [&](double share) {
    bar->update(share);
    return !ctrl_c.interrupted();
  };
  const std::vector<AdapterToMerge> adapters = TRY(adapters_of(call));
  const MergeIntoSummary summary = TRY(merge_into_model(call.into, adapters, call.out, options));
  bar.reset();
  if (call.json) {
    print_json_line(
        {{"out", call.out}, {"n_matrices", summary.n_matrices}, {"n_rows", summary.n_rows}});
    return {};
  }
  fmt::print("{}: {} matrices changed, {} rows\n", call.out, summary.n_matrices, summary.n_rows);
  return {};
}

std::string strategy_help() {
  std::string help = "How the changes B·A of a module become one.";
  for (const MergeStrategyRow& row : merge_strategies())
    help += fmt::format(" {}: {}.", row.name, row.help);
  return help;
}

void declare(CommandLine& line, LoraCall& call, const std::string& strategies) {
  line.example("ruvllm lora info my-adapter", "Its modules, ranks and scales");
  line.example("ruvllm lora merge --out both --weights 1,0.5 tone facts",
               "The sum of two, the second at half its strength");
  line.example("ruvllm lora merge --out one --strategy ties --density 0.3 --rank 32 a b c",
               "The third of each that is largest, where their signs agree");
  line.example("ruvllm lora merge --into model.gguf --out merged.gguf my-adapter",
               "A model with the adapter in its weights");
  line.text("action", call.action, "info or merge");
  line.choices({"info", "merge"});
  line.words("adapters", call.paths,
             "Folders of PEFT or MLX, or GGUF files: one to look at, or those to merge");
  line.text("--out,-o", call.out,
            "The folder of PEFT to write; of GGUF files a file with a name in .gguf");
  line.text("--into", call.into,
            "A model: what is written is a GGUF file of it with the sum of the adapters in its "
            "weights");
  line.text("--strategy", call.strategy, strategies.c_str());
  std::vector<std::string> names;
  for (const MergeStrategyRow& row : merge_strategies()) names.emplace_back(row.name);
  line.choices(std::move(names));
  line.text("--weights", call.weights, "One for each adapter, with commas; 1 for all when absent");
  line.text("--t", call.t, "For interpolate and slerp: 0 is the first adapter, 1 the second");
  line.text("--density", call.density,
            "For prune, ties and dare: the share of numbers that is kept");
  line.integer("--seed", call.seed, 0, INT64_MAX, "For dare: decides which numbers are kept");
  line.text("--rank", call.rank, "The rank of each module of the result: sum, largest or a number");
  line.text("--type", call.type,
            "Numbers of the result: f32, f16 or bf16; with --into as the model has them when "
            "absent, or f16 where they are quantised");
  line.choices({"f32", "f16", "bf16"});
  line.text("--base", call.base,
            "The model that the result is for; as the adapters say when absent");
  line.flag("--force", call.force, kForceHelp);
  line.flag("--json", call.json, "Print one JSON object");
  line.threads(call.n_threads);
}

// What is wrong with a call, or an empty text.
std::string wrong_lora_call(const CommandLine& line, const LoraCall& call) {
  for (const char* flag : {"--strategy", "--t", "--density", "--seed", "--rank", "--base"}) {
    if (!call.into.empty() && line.given(flag)) return fmt::format("--into takes no {}", flag);
  }
  if (call.action == "merge") {
    if (call.paths.empty() || call.out.empty()) return "give adapters, and --out: what to write";
    return "";
  }
  if (call.action != "info") return "say what to do: info PATH or merge --out PATH ADAPTERS";
  if (call.paths.size() != 1) return "info takes one adapter";
  for (const char* flag : {"--out", "--into", "--strategy", "--weights", "--t", "--density",
                           "--seed", "--rank", "--type", "--base", "--force"}) {
    if (line.given(flag)) return fmt::format("info takes no {}", flag);
  }
  return "";
}

}  // namespace

int lora_command(int argc, char** argv) {
  LoraCall call;
  const std::string strategies = strategy_help();
  CommandLine line("lora", "Shows what an adapter (LoRA) holds, and makes one of several.");
  declare(line, call, strategies);
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (const std::string wrong = wrong_lora_call(line, call); !wrong.empty())
    return line.wrong_call(wrong);
  const Status status = call.action == "info" ? print_info(call)
                        : call.into.empty()   ? merge(line, call)
                                              : merge_into(line, call);
  return status.ok() ? kDone : line.failed(status);
}

}  // namespace ruv

// ruvllm quantize: writes a model as a GGUF file with weights of another type, tensor by tensor.
// After Ctrl-C or a crash the same command continues where it was.
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "base/json.h"
#include "command_line.h"
#include "commands.h"
#include "format/quant_mix.h"
#include "format/quantize.h"
#include "open_model.h"
#include "output_file.h"
#include "terminal.h"

namespace ruv {
namespace {

struct QuantizeCall {
  std::string model;
  std::string type;
  std::string out;
  std::vector<std::string> ignored_keys;
  bool requantize = false;
  bool force = false;
  bool even_if_unsupported = false;
  bool json = false;
  bool dry_run = false;
  int n_threads = 0;
};

std::vector<std::string> type_names() {
  std::vector<std::string> names;
  for (const QuantType& type : quant_types()) names.emplace_back(type.name);
  return names;
}

std::string known_types() { return fmt::format("{}", fmt::join(type_names(), ", ")); }

// A file that this program cannot load would be found out too late.
Status check_loadable(const ModelFile& file, const std::vector<std::string>& ignored_keys) {
  LoadOptions options;
  options.ignored_keys = ignored_keys;
  const Status status = check_model(file.path(), options);
  if (status.ok()) return {};
  return fail(
      status.code(),
      "{}; the result could not be loaded here (--even-if-unsupported writes it all the same)",
      status.message());
}

Result<QuantizeSizes> write_quantized(const QuantizeCall& call) {
  const std::unique_ptr<ModelFile> file = TRY(open_model_file(call.model, call.ignored_keys));
  if (!call.even_if_unsupported) TRY(check_loadable(*file, call.ignored_keys));
  if (call.dry_run) return quantized_sizes(*file, call.type, call.requantize);
  const InterruptScope ctrl_c;
  ProgressBar bar("quantising", ProgressBar::Piped::lines);
  QuantizeSizes sizes;
  QuantizeOptions options;
  options.n_threads = call.n_threads;
  options.requantize = call.requantize;
  options.replace = call.force;
  options.resumable = true;
  options.on_tensor = [&](const QuantizeStep& step) {
    bar.update(static_cast<double>(step.index) / static_cast<double>(step.n_tensors));
    sizes.bytes_in += step.bytes_in;
    sizes.bytes_out += step.bytes_out;
    sizes.n_tensors += 1;
    return !ctrl_c.interrupted();
  };
  const Status status = quantize_model(*file, call.type, call.out, options);
  if (status.code() == Code::cancelled) {
    return fail(Code::cancelled, "{}; the same command continues from there, or remove {}.partial",
                status.message(), call.out);
  }
  TRY(Status(status));
  return sizes;
}

void print_sizes(const QuantizeCall& call, const QuantizeSizes& sizes) {
  if (call.json) {
    print_json_line({{"out", call.out},
                     {"type", call.type},
                     {"n_tensors", sizes.n_tensors},
                     {"bytes_in", sizes.bytes_in},
                     {"bytes_out", sizes.bytes_out},
                     {"written", !call.dry_run}});
    return;
  }
  fmt::print("{}: {} tensors, {} in, {} out\n", call.dry_run ? "nothing was written" : call.out,
             sizes.n_tensors, readable_bytes(static_cast<int64_t>(sizes.bytes_in)),
             readable_bytes(static_cast<int64_t>(sizes.bytes_out)));
}

}  // namespace

int quantize_command(int argc, char** argv) {
  QuantizeCall call;
  const std::string type_help =
      "One of " + known_types() + "; q8_0 loses next to nothing, q4_k_m is the usual small one";
  CommandLine line("quantize", "Writes a model as a GGUF file with smaller weights.");
  line.example("ruvllm quantize model-f16.gguf model-q4.gguf Q4_K_M",
               "As llama-quantize is called");
  line.example("ruvllm quantize --dry-run -m hf-folder --type q8_0", "How large it would be");
  line.text("--model,-m,in", call.model, kModelHelp);
  line.text("--out,-o,out", call.out, "The GGUF file to write");
  line.text("--type,type", call.type, type_help.c_str());
  line.choices(type_names());
  line.flag("--dry-run", call.dry_run, "Only say how large the file would be; needs no --out");
  line.flag("--requantize", call.requantize,
            "Accept weights that are quantised already, which adds the errors of both");
  line.flag("--force", call.force, kForceHelp);
  line.flag("--even-if-unsupported", call.even_if_unsupported,
            "Write it even if this program cannot load the result");
  add_ignore_flag(line, call.ignored_keys);
  line.flag("--json", call.json, "Print one JSON object");
  line.threads(call.n_threads);
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (call.type.empty() || (call.out.empty() && !call.dry_run))
    return line.wrong_call("give a type and a file to write: quantize IN OUT TYPE");
  const std::string given = call.type;
  // Download pages write Q4_K_M.
  std::ranges::transform(call.type, call.type.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (find_quant_type(call.type) == nullptr)
    return line.wrong_call(fmt::format("--type '{}' is not one of {}", given, known_types()));
  const Result<QuantizeSizes> sizes = write_quantized(call);
  if (sizes) {
    print_sizes(call, *sizes);
    return kDone;
  }
  return line.failed(sizes.error());
}

}  // namespace ruv

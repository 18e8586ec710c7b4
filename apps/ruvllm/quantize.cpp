// ruvllm quantize: writes a model as a GGUF file with weights of another type, tensor by tensor.
// After Ctrl-C or a crash the same command continues where it was.
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "base/folder.h"
#include "base/json.h"
#include "command_line.h"
#include "commands.h"
#include "format/quant_mix.h"
#include "format/quantize.h"
#include "open_model.h"
#include "output_file.h"
#include "size_text.h"
#include "terminal.h"

namespace ruv {
namespace {

struct QuantizeCall {
  std::string model;
  std::string type;
  std::string out;
  std::string imatrix;
  std::string target_bpw, target_size;
  std::vector<std::string> rules;
  bool losses = false;
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

// What was written, and what the tensors lost.
struct Written {
  QuantizeSizes sizes;
  std::vector<std::pair<std::string, QuantizeLoss>> losses;  // by name; the loss's is gone
};

// Bytes of a result beside its tensors, or a little more: what the input has beside them.
uint64_t other_bytes(const ModelFile& file) {
  uint64_t n_bytes = 64 * file.tensors().size();  // padding
  uint64_t n_tensor_bytes = 0;
  for (const TensorInfo& tensor : file.tensors()) n_tensor_bytes += tensor.bytes.size();
  for (const MappedFile& part : file.files()) n_bytes += part.bytes().size();
  n_bytes = n_bytes > n_tensor_bytes ? n_bytes - n_tensor_bytes : 0;
  if (!is_directory(file.path())) return n_bytes;
  // A folder's tables are in files beside the weights.
  for (const FolderEntry& entry : files_in(file.path())) {
    if (!entry.path.ends_with(".json") && !entry.path.ends_with(".model")) continue;
    if (const auto table = MappedFile::open(entry.path)) n_bytes += table->bytes().size();
  }
  return n_bytes;
}

// The type that the file is named after: the largest of at most these bits a weight.
const char* type_of_bits(double bits) {
  struct Row {
    double bits;
    const char* type;
  };
  constexpr Row kRows[] = {{8.5, "q8_0"},   {6.5, "q6_k"},   {5.5, "q5_k_m"},
                           {4.5, "q4_k_m"}, {3.4, "q3_k_m"}, {0, "q2_k"}};
  for (const Row& row : kRows) {
    if (bits >= row.bits) return row.type;
  }
  return "q2_k";
}

// Sets the bytes that tensors may take, and the type.
Status set_target(const QuantizeCall& call, const ModelFile& file, std::string& type,
                  QuantizeOptions& options) {
  double n_weights = 0;
  for (const TensorInfo& tensor : file.tensors()) {
    n_weights += static_cast<double>(tensor.n_elements());
  }
  double n_bytes = 0;
  if (!call.target_bpw.empty()) {
    n_bytes = TRY(positive_number("--target-bpw", call.target_bpw)) * n_weights / 8;
  } else {
    const double whole = TRY(size_in_bytes("--target-size", call.target_size));
    n_bytes = whole - static_cast<double>(other_bytes(file));
    if (n_bytes < 1) {
      return fail(Code::invalid, "--target-size {}: the tables of the model alone take {}",
                  call.target_size, readable_bytes(static_cast<int64_t>(other_bytes(file))));
    }
  }
  options.tensor_bytes = static_cast<uint64_t>(std::min(n_bytes, 9e18));
  type = type_of_bits(n_bytes * 8 / std::max(n_weights, 1.0));
  return {};
}

Status set_importance(const QuantizeCall& call, std::optional<Importance>& importance,
                      QuantizeOptions& options) {
  if (call.imatrix.empty()) return {};
  importance = TRY(read_importance(call.imatrix));
  options.importance = &*importance;
  options.importance_path = call.imatrix;
  options.on_missing = [&call](std::string_view name) {
    fmt::print(stderr, "ruvllm quantize: {} says nothing of {}\n", call.imatrix, name);
  };
  return {};
}

Result<Written> write_quantized(const QuantizeCall& call) {
  const std::unique_ptr<ModelFile> file = TRY(open_model_file(call.model, call.ignored_keys));
  if (!call.even_if_unsupported) TRY(check_loadable(*file, call.ignored_keys));
  QuantizeOptions options;
  options.n_threads = call.n_threads;
  options.requantize = call.requantize;
  options.replace = call.force;
  options.resumable = true;
  options.on_begun_anew = [&call] {
    fmt::print(
        stderr,
        "ruvllm quantize: {}.partial is of another model, type, importance or version of the "
        "encoders, and is begun anew\n",
        call.out);
  };
  for (const std::string& rule : call.rules) options.rules.push_back(TRY(parse_tensor_rule(rule)));
  std::optional<Importance> importance;
  TRY(set_importance(call, importance, options));
  std::string type = call.type;
  if (type.empty()) TRY(set_target(call, *file, type, options));
  Written written;
  QuantizeSizes& sizes = written.sizes;
  if (call.dry_run) {
    sizes = TRY(quantized_sizes(*file, type, options));
    return written;
  }
  const InterruptScope ctrl_c;
  ProgressBar bar("quantising", ProgressBar::Piped::lines);
  options.on_tensor = [&](const QuantizeStep& step) {
    bar.update(static_cast<double>(step.index) / static_cast<double>(step.n_tensors));
    sizes.bytes_in += step.bytes_in;
    sizes.bytes_out += step.bytes_out;
    sizes.n_tensors += 1;
    return !ctrl_c.interrupted();
  };
  if (call.losses || call.json) {
    options.on_loss = [&](const QuantizeLoss& loss) {
      written.losses.emplace_back(loss.tensor, loss);
    };
  }
  const Status status = quantize_model(*file, type, call.out, options);
  if (status.code() == Code::cancelled) {
    return fail(Code::cancelled, "{}; the same command continues from there, or remove {}.partial",
                status.message(), call.out);
  }
  TRY(Status(status));
  return written;
}

Json losses_json(const Written& written) {
  Json rows = Json::array();
  for (const auto& [name, loss] : written.losses) {
    rows.push_back({{"tensor", name},
                    {"type", format_of(loss.to).name},
                    {"error", loss.relative},
                    {"weighted_error", loss.weighted}});
  }
  return rows;
}

void print_written(const QuantizeCall& call, const Written& written) {
  const QuantizeSizes& sizes = written.sizes;
  if (call.json) {
    print_json_line({{"out", call.out},
                     {"type", call.type.empty() ? "mixed" : call.type},
                     {"tensors", losses_json(written)},
                     {"n_tensors", sizes.n_tensors},
                     {"bytes_in", sizes.bytes_in},
                     {"bytes_out", sizes.bytes_out},
                     {"written", !call.dry_run}});
    return;
  }
  if (call.losses) {
    fmt::print("{:<40} {:<8} {:>9} {:>9}\n", "tensor", "type", "error", "weighted");
    for (const auto& [name, loss] : written.losses) {
      fmt::print("{:<40} {:<8} {:>9.5f} {:>9.5f}\n", name, format_of(loss.to).name, loss.relative,
                 loss.weighted);
    }
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
  line.example("ruvllm quantize model-f16.gguf model.gguf --target-bpw 4 --imatrix m.imatrix.gguf",
               "Formats chosen by what each tensor loses");
  line.example("ruvllm quantize --dry-run -m hf-folder --type q8_0", "How large it would be");
  line.text("--model,-m,in", call.model, kModelHelp);
  line.text("--out,-o,out", call.out, "The GGUF file to write");
  line.text("--type,type", call.type, type_help.c_str());
  line.choices(type_names());
  line.text("--imatrix", call.imatrix,
            "A file of `ruvllm imatrix` or of llama.cpp: errors at columns that matter count more");
  line.text(
      "--target-bpw", call.target_bpw,
      "In place of a type: the bits that a weight takes on average; the format of each tensor "
      "is chosen by what it loses");
  line.text("--target-size", call.target_size,
            "In place of a type: the most that the file takes, as 4.5G (powers of ten) or 900M");
  line.texts("--tensor", call.rules,
             "PATTERN=FORMAT: what tensors of such names get, * stands for any characters; the "
             "first one that fits holds");
  line.flag("--losses", call.losses, "Print what each tensor lost, relative to its numbers");
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
  const bool has_target = !call.target_bpw.empty() || !call.target_size.empty();
  if (call.out.empty() && !call.dry_run)
    return line.wrong_call("give a type and a file to write: quantize IN OUT TYPE");
  if (call.type.empty() && !has_target)
    return line.wrong_call("give a type and a file to write: quantize IN OUT TYPE");
  if (!call.target_bpw.empty() + !call.target_size.empty() + !call.type.empty() > 1)
    return line.wrong_call("give one of --type, --target-bpw and --target-size");
  const std::string given = call.type;
  // Download pages write Q4_K_M.
  std::ranges::transform(call.type, call.type.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (!has_target && find_quant_type(call.type) == nullptr)
    return line.wrong_call(fmt::format("--type '{}' is not one of {}", given, known_types()));
  const Result<Written> written = write_quantized(call);
  if (!written) return line.failed(written.error());
  print_written(call, *written);
  return kDone;
}

}  // namespace ruv

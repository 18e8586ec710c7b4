// ruvllm convert: a folder with safetensors as a GGUF file, or a GGUF file as a folder.
#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/json.h"
#include "command_line.h"
#include "commands.h"
#include "convert/convert_to_folder.h"
#include "convert/stored_types.h"
#include "format/quantize.h"
#include "open_model.h"
#include "output_file.h"
#include "size_text.h"
#include "terminal.h"
#include "time_left.h"

namespace ruv {
namespace {

constexpr const char* kAsIs = "as-is";

struct ConvertCall {
  std::string model;
  std::string out;
  std::string type;
  std::string dequantized;
  std::string shard_size;
  std::vector<std::string> ignored_keys;
  bool force = false;
  bool json = false;
  int n_threads = 0;
};

// What was written, for both ways.
struct Converted {
  std::string kind;  // "GGUF file" or the class of a folder
  int64_t n_tensors = 0;
  uint64_t n_bytes = 0;  // of tensors
  int64_t n_files = 1;
  std::vector<std::string> left_out;
};

// Bytes that are written, of all.
class ConvertProgress {
 public:
  void operator()(uint64_t n_done, uint64_t n) {
    const auto done = static_cast<int64_t>(n_done), all = static_cast<int64_t>(n);
    bar_.set_note(left_.after(done, all));
    bar_.update(static_cast<double>(done) / static_cast<double>(std::max<int64_t>(all, 1)));
  }

 private:
  ProgressBar bar_{"converting", ProgressBar::Piped::lines};
  TimeLeft left_;
};

Result<Converted> to_gguf(const ConvertCall& call, const std::string& path) {
  const auto file = TRY(ModelFile::open(path, {call.ignored_keys}));
  LoadOptions load;
  load.ignored_keys = call.ignored_keys;
  TRY(check_model(path, load));
  QuantizeOptions options;
  options.n_threads = call.n_threads;
  options.replace = call.force;
  options.requantize = true;
  options.resumable = true;
  StoredTypes types{.type = call.type, .rules = {}};
  if (call.type.empty() || call.type == kAsIs) types = TRY(stored_types(*file));
  options.rules = types.rules;
  Converted done{.kind = "GGUF file", .left_out = {}};
  const QuantizeSizes sizes = TRY(quantized_sizes(*file, types.type, options));
  const InterruptScope ctrl_c;
  ConvertProgress show_progress;
  options.on_tensor = [&](const QuantizeStep& step) {
    show_progress(done.n_bytes, sizes.bytes_out);
    done.n_bytes += step.bytes_out;
    done.n_tensors += 1;
    return !ctrl_c.interrupted();
  };
  const Status status = quantize_model(*file, types.type, call.out, options);
  if (status.code() == Code::cancelled) {
    return fail(Code::cancelled, "{}; the same command continues from there, or remove {}.partial",
                status.message(), call.out);
  }
  TRY(Status(status));
  return done;
}

Result<Converted> to_folder(const ConvertCall& call, const std::string& path) {
  FolderOptions options;
  options.n_threads = call.n_threads;
  options.replace = call.force;
  if (!call.dequantized.empty()) options.dequantized = find_format(call.dequantized)->dtype;
  const std::string size = call.shard_size.empty() ? "5G" : call.shard_size;
  options.shard_bytes =
      static_cast<uint64_t>(std::min(TRY(size_in_bytes("--shard-size", size)), 9e18));
  const InterruptScope ctrl_c;
  ConvertProgress show_progress;
  options.on_tensor = [&](const FolderStep& step) {
    show_progress(step.bytes_done, step.n_bytes);
    return !ctrl_c.interrupted();
  };
  WrittenFolder written = TRY(convert_to_folder(path, call.out, options));
  return Converted{.kind = std::move(written.model_class),
                   .n_tensors = written.n_tensors,
                   .n_bytes = written.n_bytes,
                   .n_files = written.n_files,
                   .left_out = std::move(written.left_out)};
}

void print_converted(const ConvertCall& call, const Converted& done) {
  if (call.json) {
    print_json_line({{"out", call.out},
                     {"kind", done.kind},
                     {"n_tensors", done.n_tensors},
                     {"bytes", done.n_bytes},
                     {"n_files", done.n_files},
                     {"left_out", Json(done.left_out)}});
    return;
  }
  fmt::print("{}: {}, {} tensors, {}\n", call.out, done.kind, done.n_tensors,
             readable_bytes(static_cast<int64_t>(done.n_bytes)));
  if (done.left_out.empty() || is_quiet()) return;
  std::string names;
  for (const std::string& name : done.left_out) names += (names.empty() ? "" : ", ") + name;
  fmt::print(stderr, "ruvllm convert: a folder does not say: {}\n", names);
}

Result<Converted> convert(const CommandLine& line, const ConvertCall& call) {
  const std::string path = TRY(chosen_model(call.model)).path;
  const bool from_folder = is_directory(path);
  for (const auto& [flag, is_other] : {std::pair("--type", !from_folder),
                                       {"--dequantize", from_folder},
                                       {"--shard-size", from_folder}}) {
    if (!is_other || !line.given(flag)) continue;
    return fail(Code::invalid, "{}: {} is for the other way: {} becomes a {}", path, flag,
                from_folder ? "a folder" : "a GGUF file", from_folder ? "GGUF file" : "folder");
  }
  return from_folder ? to_gguf(call, path) : to_folder(call, path);
}

}  // namespace

int convert_command(int argc, char** argv) {
  ConvertCall call;
  CommandLine line("convert",
                   "Writes a folder for transformers as a GGUF file, or a GGUF file as a folder.");
  line.example("ruvllm convert hf-folder model.gguf", "The types of its numbers stay");
  line.example("ruvllm convert model.gguf hf-folder --dequantize bf16",
               "A folder that transformers loads");
  line.text("--model,-m,in", call.model, kModelHelp);
  line.text("--out,-o,out", call.out, "The GGUF file or the folder to write");
  line.text(
      "--type", call.type,
      "To a GGUF file: the type of matrices; as-is, also when absent, keeps those of the folder");
  line.choices({"f32", "f16", "bf16", kAsIs});
  line.text("--dequantize", call.dequantized,
            "To a folder: the type of numbers that the file has in blocks, which are refused "
            "without it");
  line.choices({"f32", "f16", "bf16"});
  line.text("--shard-size", call.shard_size,
            "To a folder: the most that a file of it takes, as 5G (when absent) or 900M");
  line.flag("--force", call.force,
            "Replace a file or folder of that name once the new one is complete; never what is "
            "read here");
  add_ignore_flag(line, call.ignored_keys);
  line.flag("--json", call.json, "Print one JSON object");
  line.threads(call.n_threads);
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (call.model.empty() || call.out.empty())
    return line.wrong_call("give a model and what to write: convert IN OUT");
  const bool known_type = call.type.empty() || call.type == "f32" || call.type == "f16" ||
                          call.type == "bf16" || call.type == kAsIs;
  if (!known_type)
    return line.wrong_call(
        fmt::format("--type '{}' is not one of f32, f16, bf16, as-is", call.type));
  const bool known = call.dequantized.empty() || call.dequantized == "f32" ||
                     call.dequantized == "f16" || call.dequantized == "bf16";
  if (!known)
    return line.wrong_call(
        fmt::format("--dequantize '{}' is not one of f32, f16, bf16", call.dequantized));
  const Result<Converted> done = convert(line, call);
  if (!done) return line.failed(done.error());
  print_converted(call, *done);
  return kDone;
}

}  // namespace ruv

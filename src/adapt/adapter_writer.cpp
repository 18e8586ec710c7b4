// The layouts are those that the readers in format/adapter_*.cpp describe; target_modules has whole
// names, since a shorter one could be the end of a module's name that has no adapter.
#include "adapt/adapter_writer.h"

#include <algorithm>
#include <map>

#include "base/folder.h"
#include "base/json_writer.h"
#include "base/range.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

// As PEFT names modules.
std::string_view module_name(const WrittenModule& module) {
  constexpr std::string_view kEnding = ".weight";
  const std::string_view name = module.tensor;
  return name.substr(0, name.size() - (name.ends_with(kEnding) ? kEnding.size() : 0));
}

// The rank that most modules have.
int64_t usual_rank(std::span<const WrittenModule> modules) {
  std::map<int64_t, int64_t> counts;
  for (const WrittenModule& module : modules) counts[module.rank]++;
  return std::ranges::max_element(counts, {}, [](const auto& row) { return row.second; })->first;
}

// A key of rank_pattern is read as a regular expression for the end of a name, after a dot.
Status check_pattern_key(const WrittenModule& odd, std::span<const WrittenModule> modules) {
  const std::string_view key = module_name(odd);
  if (key.find_first_of("\\^$*+?()[]{}|") != key.npos) {
    return fail(Code::unsupported,
                "'{}' has a rank of its own, and a name that rank_pattern cannot give",
                quoted_name(key));
  }
  for (const WrittenModule& other : modules) {
    const std::string_view name = module_name(other);
    const bool is_meant = name.size() > key.size() && name.ends_with(key) &&
                          name[name.size() - key.size() - 1] == '.';
    if (is_meant && other.rank != odd.rank) {
      return fail(Code::unsupported,
                  "'{}' and '{}' have different ranks, and names that rank_pattern cannot tell "
                  "apart; give one rank for all",
                  quoted_name(key), quoted_name(name));
    }
  }
  return {};
}

// Ranks of the modules with others than most; alphas are the same numbers, for a scale of 1.
void add_pattern(JsonWriter& out, std::string_view key, std::span<const WrittenModule* const> odd) {
  out.key(key);
  out.begin_object();
  for (const WrittenModule* module : odd) {
    out.key(module_name(*module));
    out.integer(module->rank);
  }
  out.end_object();
}

// A tensor's entry in the header of a safetensors file.
void add_tensor(JsonWriter& out, const std::string& name, std::string_view dtype,
                std::span<const int64_t> shape, Range bytes) {
  out.key(name);
  out.begin_object();
  out.key("dtype");
  out.text(dtype);
  out.key("shape");
  out.begin_array();
  for (const int64_t length : shape) out.integer(length);
  out.end_array();
  out.key("data_offsets");
  out.begin_array();
  out.integer(bytes.begin);
  out.integer(bytes.end);
  out.end_array();
  out.end_object();
}

// The start of adapter_model.safetensors, whose header is filled up to a multiple of eight bytes.
std::string weights_header(const WrittenAdapter& adapter) {
  const Format& format = format_of(adapter.dtype);
  const std::string_view dtype = adapter.dtype == DType::f32   ? "F32"
                                 : adapter.dtype == DType::f16 ? "F16"
                                                               : "BF16";
  std::string text;
  JsonWriter out(text);
  out.begin_object();
  out.key("__metadata__");
  out.begin_object();
  out.key("format");
  out.text("pt");
  out.end_object();
  int64_t offset = 0;
  for (const WrittenModule& module : adapter.modules) {
    for (const bool is_b : {false, true}) {
      const int64_t shape[] = {is_b ? module.n_out : module.rank, is_b ? module.rank : module.n_in};
      const int64_t end = offset + format.bytes_of(shape[0] * shape[1]);
      add_tensor(
          out,
          fmt::format("base_model.model.{}.lora_{}.weight", module_name(module), is_b ? 'B' : 'A'),
          dtype, shape, {offset, end});
      offset = end;
    }
  }
  out.end_object();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  std::string start(reinterpret_cast<const char*>(&length), sizeof(length));
  return start + text;
}

// An alpha of 0 is a scale of 1 at any rank; where all have one rank, alpha can be that.
void declare(const WrittenAdapter& adapter, GgufWriter& out) {
  const int64_t rank = adapter.modules.front().rank;
  const bool is_one = std::ranges::all_of(
      adapter.modules, [&](const WrittenModule& module) { return module.rank == rank; });
  out.add_text("general.architecture", adapter.architecture);
  out.add_text("general.type", "adapter");
  if (!adapter.base.empty()) out.add_text("general.base_model.0.name", adapter.base);
  out.add_text("adapter.type", "lora");
  out.add_f32("adapter.lora.alpha", is_one ? static_cast<float>(rank) : 0);
  for (const WrittenModule& module : adapter.modules) {
    const int64_t a[] = {module.rank, module.n_in}, b[] = {module.n_out, module.rank};
    out.declare_tensor(module.tensor + ".lora_a", adapter.dtype, a);
    out.declare_tensor(module.tensor + ".lora_b", adapter.dtype, b);
  }
}

}  // namespace

Result<std::string> peft_config_text(const WrittenAdapter& adapter) {
  const int64_t rank = usual_rank(adapter.modules);
  std::vector<const WrittenModule*> odd;
  for (const WrittenModule& module : adapter.modules) {
    if (module.rank == rank) continue;
    TRY(check_pattern_key(module, adapter.modules));
    odd.push_back(&module);
  }
  std::string text;
  JsonWriter out(text, 2);
  out.begin_object();
  add_pattern(out, "alpha_pattern", odd);
  out.key("base_model_name_or_path");
  out.text(adapter.base);
  out.key("bias");
  out.text("none");
  out.key("fan_in_fan_out");
  out.boolean(false);
  out.key("inference_mode");
  out.boolean(true);
  out.key("lora_alpha");
  out.integer(rank);
  out.key("lora_dropout");
  out.real(0);
  out.key("peft_type");
  out.text("LORA");
  out.key("r");
  out.integer(rank);
  add_pattern(out, "rank_pattern", odd);
  out.key("target_modules");
  out.begin_array();
  for (const WrittenModule& module : adapter.modules) out.text(module_name(module));
  out.end_array();
  out.end_object();
  return text + "\n";
}

Result<AdapterWriter> AdapterWriter::create(const std::string& path, const WrittenAdapter& adapter,
                                            const FileTarget& target) {
  AdapterWriter writer;
  if (adapter.container == AdapterContainer::gguf) {
    writer.gguf_.emplace(TRY(GgufWriter::create(path, target)));
    declare(adapter, *writer.gguf_);
    TRY(writer.gguf_->begin_tensors());
    return writer;
  }
  const std::string config = TRY(peft_config_text(adapter));
  TRY(make_folder(path));
  writer.config_path_ = path + "/adapter_config.json";
  writer.config_.emplace(TRY(FileWriter::create(writer.config_path_, target)));
  writer.weights_.emplace(TRY(FileWriter::create(path + "/adapter_model.safetensors", target)));
  TRY(writer.config_->write(as_bytes(config)));
  TRY(writer.weights_->write(as_bytes(weights_header(adapter))));
  return writer;
}

Status AdapterWriter::write(Bytes a, Bytes b) {
  for (const Bytes half : {a, b}) TRY(gguf_ ? gguf_->write(half) : weights_->write(half));
  return {};
}

Status AdapterWriter::commit() {
  if (gguf_) return gguf_->commit();
  // The config of an old adapter must not meet the new weights.
  if (file_exists(config_path_) && !remove_file(config_path_)) {
    return fail(Code::internal, "{}: it cannot be removed", config_path_);
  }
  TRY(weights_->commit());
  return config_->commit();
}

}  // namespace ruv

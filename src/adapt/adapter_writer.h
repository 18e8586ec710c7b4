// AdapterWriter: writes an adapter module by module, as a folder of PEFT or as a GGUF file. Scales
// are in the matrices: that of each module is 1.
#pragma once

#include "format/adapter_file.h"
#include "format/gguf_writer.h"

namespace ruv {

struct WrittenModule {
  std::string tensor;  // as AdapterModule has it
  int64_t n_out = 0, n_in = 0, rank = 0;
};

struct WrittenAdapter {
  AdapterContainer container = AdapterContainer::peft;  // or gguf
  DType dtype = DType::f32;                             // f32, f16 or bf16
  std::string base = {};                                // the model it is for; empty: not known
  std::string architecture = {};                        // of that model; GGUF only
  std::vector<WrittenModule> modules = {};
};

class AdapterWriter {
 public:
  // `path` is a folder, which is made where it is missing, or a file. Fails: unsupported (a module
  // whose rank PEFT's config cannot give), and as FileWriter::create.
  static Result<AdapterWriter> create(const std::string& path, const WrittenAdapter& adapter,
                                      const FileTarget& target);

  // The next module: A by rows, then B by rows, in the adapter's type.
  Status write(Bytes a, Bytes b);
  // Requires: all modules are written. A crash leaves the old adapter, the new one, or a folder
  // without adapter_config.json, which no program loads.
  Status commit();

 private:
  AdapterWriter() = default;
  std::string config_path_;
  std::optional<FileWriter> config_, weights_;  // of PEFT
  std::optional<GgufWriter> gguf_;
};

// adapter_config.json for these modules. Fails: unsupported.
Result<std::string> peft_config_text(const WrittenAdapter& adapter);

}  // namespace ruv

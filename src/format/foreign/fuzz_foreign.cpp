// Hostile settings and pieces of quantised matrices: refused with the name of the file, or rows
// that can be made. A file is the settings' JSON, a zero byte, and a safetensors file.
#include <cstdlib>
#include <string>
#include <vector>

#include "format/foreign/foreign.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const ruv::Bytes span(reinterpret_cast<const std::byte*>(bytes), size);
  const std::string_view text = ruv::as_text(span);
  const size_t end = std::min(text.find('\0'), text.size());
  const std::string source = "fuzz";
  const auto settings = ruv::parse_foreign_file(text.substr(0, end), source, "gptq");
  if (!settings || !ruv::is_foreign_method(*settings)) return 0;
  const auto config = ruv::parse_foreign_config(ruv::Members(*settings, source), "fuzz");
  if (!config) return 0;
  auto tensors = ruv::parse_safetensors(span.subspan(std::min(end + 1, size)), source);
  if (!tensors) return 0;
  ruv::StoredTensors stored;
  stored.emplace_back(source, std::move(*tensors));
  std::vector<std::string> remarks;
  const ruv::Status status = ruv::read_foreign_tensors(*config, stored, remarks);
  if (!status.ok()) {
    if (!status.message().starts_with("fuzz: ")) std::abort();
    return 0;
  }
  for (const ruv::SafetensorsTensor& tensor : stored[0].second) {
    if (tensor.maker == nullptr) continue;
    const ruv::Format& format = ruv::format_of(*tensor.dtype);
    const int64_t n_in = tensor.shape[1];
    // What a model would hold is a small multiple of the file.
    if (n_in > 32 * static_cast<int64_t>(size)) std::abort();
    std::vector<std::byte> row(static_cast<size_t>(format.bytes_of(n_in)));
    std::vector<float> numbers(static_cast<size_t>(n_in));
    for (const int64_t i : {int64_t{0}, tensor.shape[0] / 2, tensor.shape[0] - 1}) {
      tensor.maker->make_row(i, row.data());
      format.decode(row.data(), numbers.data(), n_in);
    }
  }
  return 0;
}

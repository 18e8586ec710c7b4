#include "train/float_tensors.h"

#include "base/file.h"
#include "base/json_writer.h"

namespace ruv {
namespace {

// The header of the file, filled up to a multiple of eight bytes.
std::string header_of(std::span<const FloatTensor> tensors) {
  std::string text;
  JsonWriter out(text);
  out.begin_object();
  uint64_t offset = 0;
  for (const FloatTensor& tensor : tensors) {
    const uint64_t n_bytes = tensor.numbers.size_bytes();
    out.key(tensor.name);
    out.begin_object();
    out.key("dtype");
    out.text("F32");
    out.key("shape");
    out.begin_array();
    for (const int64_t n : tensor.shape) out.integer(n);
    out.end_array();
    out.key("data_offsets");
    out.begin_array();
    out.integer(offset);
    out.integer(offset + n_bytes);
    out.end_array();
    out.end_object();
    offset += n_bytes;
  }
  out.end_object();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace

// Length of the header, header, numbers.
Status write_float_tensors(const std::string& path, std::span<const FloatTensor> tensors) {
  FileWriter out = TRY(FileWriter::create(path, {.replace = true}));
  const std::string header = header_of(tensors);
  const uint64_t length = header.size();
  TRY(out.write(std::as_bytes(std::span(&length, 1))));
  TRY(out.write(as_bytes(header)));
  for (const FloatTensor& tensor : tensors) TRY(out.write(std::as_bytes(tensor.numbers)));
  return out.commit();
}

}  // namespace ruv

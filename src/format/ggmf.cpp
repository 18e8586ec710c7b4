// Parsing a ggmf file. Lengths are compared with the bytes that remain before anything is made of
// them; a tensor is proved to lie inside the file.
#include "format/ggmf.h"

#include "format/tensor_names.h"

namespace ruv {
namespace {

constexpr std::string_view kMagic = "fmgg";
constexpr uint32_t kMaxNameBytes = 256;
constexpr uint32_t kMaxDimensions = 4;
constexpr uint32_t kMaxCount = 1U << 24;
// The version in which blocks have their scales in half floats.
constexpr uint32_t kHalfScales = 101;

// Types by number: those of ggml, but for one.
Result<DType> dtype_of(uint32_t type, uint32_t version, const ByteReader& reader) {
  constexpr std::pair<uint32_t, DType> kTypes[] = {
      {0, DType::f32},  {1, DType::f16},  {2, DType::q4_0}, {3, DType::q4_1},
      {7, DType::q5_0}, {8, DType::q5_1}, {9, DType::q8_0}};
  for (const auto& [number, dtype] : kTypes) {
    if (number != type) continue;
    if (number <= 1 || version >= kHalfScales) return dtype;
    return reader.error("type", "blocks of files before version 101 are not supported",
                        Code::unsupported);
  }
  return reader.error("type", fmt::format("{} is not one of this format", type), Code::unsupported);
}

Result<int64_t> read_size(ByteReader& reader, std::string_view field) {
  const uint32_t n = TRY(reader.read<uint32_t>(field));
  if (n < 1 || n > kMaxCount) return reader.error(field, fmt::format("{} is out of range", n));
  return n;
}

Result<TensorInfo> read_tensor(ByteReader& reader, uint32_t version) {
  const uint32_t n_dims = TRY(reader.read<uint32_t>("number of dimensions"));
  const uint32_t name_bytes = TRY(reader.read<uint32_t>("length of a name"));
  const uint32_t type = TRY(reader.read<uint32_t>("type"));
  if (n_dims < 1 || n_dims > kMaxDimensions) {
    return reader.error("number of dimensions", fmt::format("{} is not 1 to 4", n_dims));
  }
  if (name_bytes < 1 || name_bytes > kMaxNameBytes) {
    return reader.error("length of a name", fmt::format("{} is not 1 to 256", name_bytes));
  }
  TensorInfo tensor;
  tensor.dtype = TRY(dtype_of(type, version, reader));
  uint64_t n = 1;
  for (uint32_t i = 0; i < n_dims; ++i) {
    const int64_t length = TRY(read_size(reader, "dimension"));
    tensor.shape.insert(tensor.shape.begin(), length);
    const auto product = checked_multiply(n, static_cast<uint64_t>(length));
    if (!product) return reader.error("dimension", "the tensor has more than 2^64 numbers");
    n = *product;
  }
  const std::string_view name = as_text(TRY(reader.take(name_bytes, "name")));
  if (quoted_name(name) != name) return reader.error("name", "is not a short text");
  tensor.name = name;
  const Format& format = format_of(tensor.dtype);
  const auto block = static_cast<uint64_t>(format.block_size);
  if (static_cast<uint64_t>(tensor.shape.back()) % block != 0) {
    return reader.error(name, fmt::format("its rows are not whole blocks of {} numbers", block));
  }
  const auto n_bytes = checked_multiply(n / block, static_cast<uint64_t>(format.block_bytes));
  if (!n_bytes) return reader.error(name, "has more than 2^64 bytes");
  tensor.bytes = TRY(reader.take(*n_bytes, name));
  return tensor;
}

}  // namespace

bool looks_like_ggmf(Bytes bytes) {
  return bytes.size() >= kMagic.size() && as_text(bytes.first(kMagic.size())) == kMagic;
}

Result<GgmfContents> parse_ggmf(Bytes bytes, const std::string& source) {
  ByteReader reader(bytes, source);
  if (as_text(TRY(reader.take(kMagic.size(), "magic"))) != kMagic) {
    return fail(Code::corrupt, "{}: offset 0: magic: not a ggmf file", source);
  }
  GgmfContents contents;
  contents.version = TRY(reader.read<uint32_t>("version"));
  if (contents.version != 100 && contents.version != kHalfScales) {
    return reader.error("version", fmt::format("{}; 100 and 101 are supported", contents.version),
                        Code::unsupported);
  }
  contents.n_vocab = TRY(read_size(reader, "n_vocab"));
  contents.n_embd = TRY(read_size(reader, "n_embd"));
  contents.n_layers = TRY(read_size(reader, "n_layers"));
  TRY(dtype_of(TRY(reader.read<uint32_t>("type")), contents.version, reader));
  while (reader.remaining() > 0) {
    contents.tensors.push_back(TRY(read_tensor(reader, contents.version)));
  }
  return contents;
}

}  // namespace ruv

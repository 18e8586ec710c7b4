// GGUF parsing: every count and length is compared with the bytes that remain before anything is
// allocated, and every tensor is proved to lie inside the file, apart from all others.
#include "format/gguf.h"

#include <algorithm>
#include <numeric>

#include "format/tensor_names.h"

namespace ruv {
namespace {

constexpr uint64_t kDefaultAlignment = 32;
constexpr uint64_t kMaxAlignment = uint64_t{1} << 20;
constexpr uint64_t kMaxDims = 4;
// Smallest encodings: the key's length, type and one byte; the name's length, n_dims, one dim,
// type and offset.
constexpr uint64_t kMinEntryBytes = 13;
constexpr uint64_t kMinTensorBytes = 32;
// A vocabulary of a million tokens needs about five million; the bound keeps a huge hostile file
// from asking for eight times its size.
constexpr uint64_t kMaxArrayElements = uint64_t{1} << 24;

enum class GgufType : uint32_t {
  u8 = 0,
  i8 = 1,
  u16 = 2,
  i16 = 3,
  u32 = 4,
  i32 = 5,
  f32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  u64 = 10,
  i64 = 11,
  f64 = 12,
};

// Bytes of the smallest value of a type; 0 for unknown types.
uint64_t min_bytes_of(GgufType type) {
  constexpr std::array<uint64_t, 13> kBytes = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};
  const auto id = static_cast<size_t>(type);
  return id < kBytes.size() ? kBytes[id] : 0;
}

// Types that files may have and this program does not read: newer ones, and those that the
// format's standard has removed.
struct OtherType {
  uint32_t id;
  std::string_view name;
};
constexpr OtherType kOtherTypes[] = {
    {4, "q4_2, removed"},        {5, "q4_3, removed"},        {31, "q4_0_4_4, removed"},
    {32, "q4_0_4_8, removed"},   {33, "q4_0_8_8, removed"},   {36, "iq4_nl_4_4, removed"},
    {37, "iq4_nl_4_8, removed"}, {38, "iq4_nl_8_8, removed"}, {41, "q1_0"}};

// Types of ik_llama.cpp that have the numbers of several rows of another type by turns.
constexpr OtherType kInterleavedTypes[] = {
    {202, "q4_0_r8"},    {206, "q5_0_r4"},   {208, "q8_0_r8"},    {210, "q2_k_r4"},
    {211, "q3_k_r4"},    {212, "q4_k_r4"},   {213, "q5_k_r4"},    {214, "q6_k_r4"},
    {216, "iq2_xxs_r4"}, {217, "iq2_xs_r4"}, {218, "iq3_xxs_r4"}, {219, "iq1_s_r4"},
    {220, "iq4_nl_r4"},  {221, "iq3_s_r4"},  {222, "iq2_s_r4"},   {223, "iq4_xs_r8"},
    {229, "iq1_m_r4"},   {230, "bf16_r16"},  {233, "q6_0_r4"},    {335, "iq2_bn_r4"},
    {337, "iq2_k_r4"},   {338, "iq3_k_r4"},  {339, "iq4_k_r4"},   {340, "iq5_k_r4"},
    {344, "iq4_ks_r4"},  {352, "iq5_ks_r4"}, {353, "mxfp4_r8"},   {397, "q8_k_r16"},
    {398, "q8_kv_r8"},   {399, "q8_k_r8"}};

// "31 (q4_0_4_4, removed)", or the number alone.
std::string type_text(uint32_t id) {
  const auto* const known = std::ranges::find(kOtherTypes, id, &OtherType::id);
  return known == std::end(kOtherTypes) ? std::to_string(id)
                                        : fmt::format("{} ({})", id, known->name);
}

// The state of parsing one file.
class GgufParser {
 public:
  GgufParser(Bytes bytes, const std::string& source) : reader_(bytes, source), bytes_(bytes) {}

  Result<GgufContents> parse();

 private:
  struct Placement {
    uint64_t offset;  // of the tensor in the data
    uint64_t field;   // where the file says so
  };
  Status read_header();
  Status read_entry();
  Status set_alignment();
  Status read_tensor(std::vector<Placement>& placements);
  Result<uint64_t> read_dims(TensorInfo& tensor, const std::string& field);
  Status skip_tensor(const std::string& name, uint32_t type_id);
  Status place_tensors(const std::vector<Placement>& placements);
  Status refuse_overlap() const;
  // An error about the number of n_bytes just read: "<source>: offset <its start>: <field>: …".
  tl::unexpected<Status> bad(uint64_t n_bytes, std::string_view field, std::string_view what,
                             Code code = Code::corrupt) const {
    return fail(code, "{}: offset {}: {}: {}", reader_.source(), reader_.offset() - n_bytes, field,
                what);
  }
  Result<uint64_t> read_count(uint64_t min_item_bytes, std::string_view field);
  Result<std::string_view> read_string(std::string_view field);
  Result<GgufType> read_type(std::string_view field);
  Result<int64_t> read_integer(GgufType type, std::string_view field);
  Result<bool> read_bool(std::string_view field);
  Result<double> read_number(GgufType type, std::string_view field);
  Result<MetaValue> read_value(GgufType type, std::string_view field);
  Result<MetaValue> read_array(std::string_view field);
  template <class T>
  Result<int64_t> read_as(std::string_view field) {
    return static_cast<int64_t>(TRY(reader_.read<T>(field)));
  }

  ByteReader reader_;
  Bytes bytes_;
  GgufContents contents_;
  uint64_t n_tensors_ = 0;
  uint64_t n_entries_ = 0;
  uint64_t n_array_elements_ = 0;
};

Result<GgufContents> GgufParser::parse() {
  TRY(read_header());
  for (uint64_t i = 0; i < n_entries_; ++i) TRY(read_entry());
  TRY(set_alignment());
  if (n_tensors_ > reader_.remaining() / kMinTensorBytes) {
    return reader_.error("tensors", fmt::format("{} of them cannot fit in the {} bytes left",
                                                n_tensors_, reader_.remaining()));
  }
  std::vector<Placement> placements;
  placements.reserve(n_tensors_);
  contents_.tensors.reserve(n_tensors_);
  for (uint64_t i = 0; i < n_tensors_; ++i) TRY(read_tensor(placements));
  // A file without tensors may end before its data would start.
  if (n_tensors_ > 0) TRY(reader_.align(contents_.alignment, "padding before the tensor data"));
  TRY(place_tensors(placements));
  TRY(refuse_overlap());
  return std::move(contents_);
}

// Magic, version and counts; a swapped version means big-endian.
Status GgufParser::read_header() {
  if (as_text(TRY(reader_.take(4, "magic"))) != "GGUF") {
    return fail(Code::corrupt, "{}: offset 0: magic: not a GGUF file", reader_.source());
  }
  const uint32_t version = TRY(reader_.read<uint32_t>("version"));
  if (version != 0 && (version & 0xFFFF) == 0) {
    return bad(4, "version", "big-endian file; convert it to little-endian", Code::unsupported);
  }
  if (version != 2 && version != 3) {
    return bad(4, "version",
               fmt::format("GGUF version {} is not supported, versions 2 and 3 are; convert "
                           "the model again with a current converter",
                           version),
               Code::unsupported);
  }
  contents_.version = version;
  n_tensors_ = TRY(read_count(kMinTensorBytes, "tensor count"));
  n_entries_ = TRY(read_count(kMinEntryBytes, "metadata count"));
  return {};
}

// A u64 count of items that follow, each at least min_item_bytes long.
Result<uint64_t> GgufParser::read_count(uint64_t min_item_bytes, std::string_view field) {
  const uint64_t n = TRY(reader_.read<uint64_t>(field));
  if (n > reader_.remaining() / min_item_bytes) {
    return bad(8, field,
               fmt::format("{} items cannot fit in the {} bytes left", n, reader_.remaining()));
  }
  return n;
}

// Points into the file; nothing is copied.
Result<std::string_view> GgufParser::read_string(std::string_view field) {
  const uint64_t length = TRY(reader_.read<uint64_t>(field));
  return as_text(TRY(reader_.take(length, field)));
}

// Fails for types that the format does not define.
Result<GgufType> GgufParser::read_type(std::string_view field) {
  const auto type = static_cast<GgufType>(TRY(reader_.read<uint32_t>(field)));
  if (min_bytes_of(type) == 0) {
    return bad(4, field, fmt::format("unknown value type {}", static_cast<uint32_t>(type)));
  }
  return type;
}

// One key with its value; keys are unique.
Status GgufParser::read_entry() {
  const uint64_t start = reader_.offset();
  const std::string_view key = TRY(read_string("metadata key"));
  const std::string field = fmt::format("metadata '{}'", quoted_name(key));
  const GgufType type = TRY(read_type(field));
  MetaValue value = TRY(read_value(type, field));
  if (!contents_.metadata.emplace(key, std::move(value)).second) {
    return fail(Code::corrupt, "{}: offset {}: {}: the key appears twice", reader_.source(), start,
                field);
  }
  return {};
}

// Any integer type, widened to 64 bits.
Result<int64_t> GgufParser::read_integer(GgufType type, std::string_view field) {
  switch (type) {
    case GgufType::u8:
      return read_as<uint8_t>(field);
    case GgufType::i8:
      return read_as<int8_t>(field);
    case GgufType::u16:
      return read_as<uint16_t>(field);
    case GgufType::i16:
      return read_as<int16_t>(field);
    case GgufType::u32:
      return read_as<uint32_t>(field);
    case GgufType::i32:
      return read_as<int32_t>(field);
    case GgufType::i64:
      return read_as<int64_t>(field);
    default:
      break;
  }
  const uint64_t value = TRY(reader_.read<uint64_t>(field));
  if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return bad(8, field, fmt::format("{} is above 2^63 - 1", value));
  }
  return static_cast<int64_t>(value);
}

Result<bool> GgufParser::read_bool(std::string_view field) {
  const uint8_t value = TRY(reader_.read<uint8_t>(field));
  if (value > 1) return bad(1, field, fmt::format("truth value {}, expected 0 or 1", value));
  return value == 1;
}

Result<double> GgufParser::read_number(GgufType type, std::string_view field) {
  if (type == GgufType::f64) return reader_.read<double>(field);
  return static_cast<double>(TRY(reader_.read<float>(field)));
}

Result<MetaValue> GgufParser::read_value(GgufType type, std::string_view field) {
  switch (type) {
    case GgufType::boolean:
      return MetaValue(TRY(read_bool(field)));
    case GgufType::string:
      return MetaValue(std::string(TRY(read_string(field))));
    case GgufType::array:
      return read_array(field);
    case GgufType::f32:
    case GgufType::f64:
      return MetaValue(TRY(read_number(type, field)));
    default:
      return MetaValue(TRY(read_integer(type, field)));
  }
}

// Arrays of numbers, booleans or texts; nested ones are refused.
Result<MetaValue> GgufParser::read_array(std::string_view field) {
  const GgufType type = TRY(read_type(field));
  if (type == GgufType::array) {
    return bad(4, field, "arrays of arrays are not supported", Code::unsupported);
  }
  const uint64_t n = TRY(read_count(min_bytes_of(type), field));
  n_array_elements_ += n;
  if (n_array_elements_ > kMaxArrayElements) {
    return bad(8, field, fmt::format("more than {} array elements in one file", kMaxArrayElements));
  }
  auto array = std::make_shared<MetaArray>();
  if (type == GgufType::boolean) {
    array->bools.reserve(n);
    for (uint64_t i = 0; i < n; ++i) array->bools.push_back(TRY(read_bool(field)));
  } else if (type == GgufType::string) {
    array->strings.reserve(n);
    for (uint64_t i = 0; i < n; ++i) array->strings.emplace_back(TRY(read_string(field)));
  } else if (type == GgufType::f32 || type == GgufType::f64) {
    array->numbers.reserve(n);
    for (uint64_t i = 0; i < n; ++i) array->numbers.push_back(TRY(read_number(type, field)));
  } else {
    array->integers.reserve(n);
    for (uint64_t i = 0; i < n; ++i) array->integers.push_back(TRY(read_integer(type, field)));
  }
  return MetaValue(std::shared_ptr<const MetaArray>(std::move(array)));
}

// general.alignment, a multiple of 8.
Status GgufParser::set_alignment() {
  contents_.alignment = kDefaultAlignment;
  const auto found = contents_.metadata.find("general.alignment");
  if (found == contents_.metadata.end()) return {};
  const int64_t* value = std::get_if<int64_t>(&found->second);
  if (value == nullptr || *value <= 0 || *value % 8 != 0 ||
      static_cast<uint64_t>(*value) > kMaxAlignment) {
    return fail(Code::corrupt, "{}: metadata 'general.alignment': not a multiple of 8 up to {}",
                reader_.source(), kMaxAlignment);
  }
  contents_.alignment = static_cast<uint64_t>(*value);
  return {};
}

// Reads the dims into tensor.shape, rows first, and returns how many numbers they hold.
Result<uint64_t> GgufParser::read_dims(TensorInfo& tensor, const std::string& field) {
  const uint32_t n_dims = TRY(reader_.read<uint32_t>(field));
  if (n_dims == 0 || n_dims > kMaxDims) {
    return bad(4, field, fmt::format("{} dimensions, expected 1 to {}", n_dims, kMaxDims));
  }
  uint64_t n_elements = 1;
  for (uint32_t i = 0; i < n_dims; ++i) {
    const uint64_t length = TRY(reader_.read<uint64_t>(field));
    const auto product = checked_multiply(n_elements, length);
    if (length == 0 || !product ||
        *product > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return bad(8, field, fmt::format("dimension {} of {} is empty or too large", i, length));
    }
    n_elements = *product;
    tensor.shape.push_back(static_cast<int64_t>(length));
  }
  std::reverse(tensor.shape.begin(), tensor.shape.end());
  return n_elements;
}

// None where the number of bytes does not fit. Requires: rows of whole blocks.
std::optional<uint64_t> bytes_of_rows(const Format& format, uint64_t n_rows, uint64_t n_columns) {
  const auto blocks =
      checked_multiply(n_rows, n_columns / static_cast<uint64_t>(format.block_size));
  if (!blocks) return {};
  const auto in_blocks = checked_multiply(*blocks, static_cast<uint64_t>(format.block_bytes));
  const auto headers = checked_multiply(n_rows, static_cast<uint64_t>(format.header_bytes));
  if (!in_blocks || !headers || *headers > UINT64_MAX - *in_blocks) return {};
  return *in_blocks + *headers;
}

// Appends the tensor with a span of the right size whose place is set by place_tensors.
Status GgufParser::read_tensor(std::vector<Placement>& placements) {
  TensorInfo tensor;
  tensor.name = TRY(read_string("tensor name"));
  const std::string field = fmt::format("tensor '{}'", quoted_name(tensor.name));
  const uint64_t n_elements = TRY(read_dims(tensor, field));
  const uint32_t type_id = TRY(reader_.read<uint32_t>(field));
  const Format* format = find_format(type_id);
  if (format == nullptr) return skip_tensor(tensor.name, type_id);
  tensor.dtype = format->dtype;
  const auto block_size = static_cast<uint64_t>(format->block_size);
  if (static_cast<uint64_t>(tensor.shape.back()) % block_size != 0) {
    return bad(4, field,
               fmt::format("rows of {} numbers are not whole {} blocks of {}", tensor.shape.back(),
                           format->name, block_size));
  }
  const auto n_rows = n_elements / static_cast<uint64_t>(tensor.shape.back());
  const auto n_bytes = bytes_of_rows(*format, n_rows, static_cast<uint64_t>(tensor.shape.back()));
  if (!n_bytes || *n_bytes > bytes_.size()) {
    return bad(4, field,
               fmt::format("{} numbers of type {} do not fit in the file ({} bytes)", n_elements,
                           format->name, bytes_.size()));
  }
  tensor.bytes = bytes_.first(*n_bytes);
  const uint64_t offset = TRY(reader_.read<uint64_t>(field));
  if (offset % contents_.alignment != 0) {
    return bad(8, field,
               fmt::format("offset {} is not a multiple of the alignment {}", offset,
                           contents_.alignment));
  }
  placements.push_back({offset, reader_.offset() - 8});
  contents_.tensors.push_back(std::move(tensor));
  return {};
}

// A tensor of an unknown type has bytes of an unknown number: they are not looked at.
Status GgufParser::skip_tensor(const std::string& name, uint32_t type_id) {
  const std::string field = fmt::format("tensor '{}'", quoted_name(name));
  const auto* const interleaved = std::ranges::find(kInterleavedTypes, type_id, &OtherType::id);
  const std::string text =
      interleaved == std::end(kInterleavedTypes)
          ? fmt::format("tensor type {} is not supported; use the same model in another format",
                        type_text(type_id))
          : fmt::format(
                "tensor type {} ({}) has rows of ik_llama.cpp's type {} interleaved, which "
                "is not read; quantise the model with its llama-quantize to that type, "
                "without --repack",
                type_id, interleaved->name,
                interleaved->name.substr(0, interleaved->name.rfind("_r")));
  const Status why = bad(4, field, text, Code::unsupported);
  TRY(reader_.read<uint64_t>(field));
  contents_.unread.emplace(name, why);
  return {};
}

// Every tensor must lie inside the data section.
Status GgufParser::place_tensors(const std::vector<Placement>& placements) {
  const uint64_t data_start = reader_.offset();
  const uint64_t data_bytes = reader_.remaining();
  for (size_t i = 0; i < placements.size(); ++i) {
    TensorInfo& tensor = contents_.tensors[i];
    const auto [offset, field] = placements[i];
    if (offset > data_bytes || tensor.bytes.size() > data_bytes - offset) {
      return fail(Code::corrupt,
                  "{}: offset {}: tensor '{}': offset {} + {} bytes lies past the end (file has {} "
                  "bytes, its tensor data {}); if it was cut short, download it again",
                  reader_.source(), field, quoted_name(tensor.name), offset, tensor.bytes.size(),
                  bytes_.size(), data_bytes);
    }
    tensor.bytes = bytes_.subspan(data_start + offset, tensor.bytes.size());
  }
  return {};
}

// Sorted by offset, neighbours must not share bytes.
Status GgufParser::refuse_overlap() const {
  const std::vector<TensorInfo>& tensors = contents_.tensors;
  std::vector<uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return tensors[a].bytes.data() < tensors[b].bytes.data();
  });
  for (size_t i = 1; i < order.size(); ++i) {
    const TensorInfo& first = tensors[order[i - 1]];
    const TensorInfo& second = tensors[order[i]];
    if (first.bytes.data() + first.bytes.size() <= second.bytes.data()) continue;
    return fail(Code::corrupt, "{}: offset {}: tensor '{}' overlaps tensor '{}'", reader_.source(),
                second.bytes.data() - bytes_.data(), quoted_name(second.name),
                quoted_name(first.name));
  }
  return {};
}

}  // namespace

Result<GgufContents> parse_gguf(Bytes bytes, const std::string& source) {
  return GgufParser(bytes, source).parse();
}

}  // namespace ruv

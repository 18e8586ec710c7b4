// Safetensors parsing: the header is walked once by simdjson, every shape is multiplied with checks
// and compared with its bytes, and the bytes of all tensors must tile the data exactly.
#include "format/safetensors.h"

#include <simdjson.h>

#include <algorithm>

#include "format/tensor_names.h"

namespace ruv {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // as the reference implementation
constexpr size_t kMaxShapeDims = 8;

struct DTypeRow {
  std::string_view name;
  uint64_t n_bytes;
  std::optional<DType> dtype;
};
// The dtypes of the format; those without a DType are read but cannot be used.
constexpr std::array kDTypes = {
    DTypeRow{"F32", 4, DType::f32},       DTypeRow{"F16", 2, DType::f16},
    DTypeRow{"BF16", 2, DType::bf16},     DTypeRow{"F64", 8, DType::f64},
    DTypeRow{"I64", 8, DType::i64},       DTypeRow{"I32", 4, DType::i32},
    DTypeRow{"I16", 2, DType::i16},       DTypeRow{"I8", 1, DType::i8},
    DTypeRow{"BOOL", 1, std::nullopt},    DTypeRow{"U8", 1, std::nullopt},
    DTypeRow{"U16", 2, std::nullopt},     DTypeRow{"U32", 4, std::nullopt},
    DTypeRow{"U64", 8, std::nullopt},     DTypeRow{"F8_E4M3", 1, std::nullopt},
    DTypeRow{"F8_E5M2", 1, std::nullopt}, DTypeRow{"F8_E8M0", 1, std::nullopt},
    DTypeRow{"C64", 8, std::nullopt},
};

// The state of parsing one file.
class SafetensorsParser {
 public:
  SafetensorsParser(Bytes bytes, const std::string& source) : reader_(bytes, source) {}

  Result<std::vector<SafetensorsTensor>> parse();

 private:
  struct Entry {
    SafetensorsTensor tensor;
    uint64_t item_bytes = 0;
    uint64_t begin = 0;  // in the data
    uint64_t end = 0;
  };

  Status read_header(std::string_view header);
  Result<Entry> read_entry(ondemand::object object, std::string_view name);
  Status read_field(ondemand::value value, std::string_view key, Entry& entry) const;
  Status check_size(const Entry& entry) const;
  Status place(Bytes data);
  tl::unexpected<Status> bad(std::string_view name, std::string_view what,
                             Code code = Code::corrupt) const {
    return fail(code, "{}: header: tensor '{}': {}", reader_.source(), quoted_name(name), what);
  }

  ByteReader reader_;
  std::vector<Entry> entries_;
};

// Header length, header, then the places of the tensors.
Result<std::vector<SafetensorsTensor>> SafetensorsParser::parse() {
  const uint64_t length = TRY(reader_.read<uint64_t>("header length"));
  if (length > kMaxHeaderBytes) {
    return fail(Code::corrupt, "{}: offset 0: header length: {} bytes, at most {} are allowed",
                reader_.source(), length, kMaxHeaderBytes);
  }
  TRY(read_header(as_text(TRY(reader_.take(length, "header")))));
  TRY(place(TRY(reader_.take(reader_.remaining(), "data"))));
  std::vector<SafetensorsTensor> tensors;
  tensors.reserve(entries_.size());
  for (Entry& entry : entries_) tensors.push_back(std::move(entry.tensor));
  return tensors;
}

// The header must be one JSON object with unique members.
Status SafetensorsParser::read_header(std::string_view header) {
  const auto broken = [&](simdjson::error_code error) {
    return fail(Code::corrupt, "{}: header: not the JSON of a safetensors header: {}",
                reader_.source(), simdjson::error_message(error));
  };
  const simdjson::padded_string text(header);
  ondemand::parser parser;
  ondemand::document document;
  ondemand::object object;
  if (const auto error = parser.iterate(text).get(document)) return broken(error);
  if (const auto error = document.get_object().get(object)) return broken(error);
  for (auto member : object) {
    ondemand::field field;
    std::string_view key;
    if (const auto error = std::move(member).get(field)) return broken(error);
    if (const auto error = field.unescaped_key().get(key)) return broken(error);
    if (key == "__metadata__") continue;
    const std::string name(key);
    ondemand::object entry;
    if (const auto error = field.value().get_object().get(entry)) return broken(error);
    entries_.push_back(TRY(read_entry(entry, name)));
  }
  if (document.current_location().error() != simdjson::OUT_OF_BOUNDS)
    return broken(simdjson::TRAILING_CONTENT);
  return {};
}

// One member of the header: exactly dtype, shape and data_offsets.
Result<SafetensorsParser::Entry> SafetensorsParser::read_entry(ondemand::object object,
                                                               std::string_view name) {
  Entry entry;
  entry.tensor.name = name;
  unsigned seen = 0;
  for (auto member : object) {
    ondemand::field field;
    std::string_view key;
    if (std::move(member).get(field) || field.unescaped_key().get(key))
      return bad(name, "is not valid JSON");
    const unsigned bit = key == "dtype" ? 1U : key == "shape" ? 2U : key == "data_offsets" ? 4U : 0;
    if ((seen & bit) != 0) return bad(name, fmt::format("'{}' appears twice", key));
    seen |= bit;
    if (bit != 0) TRY(read_field(field.value(), key, entry));
  }
  if (seen != 7) return bad(name, "dtype, shape or data_offsets is missing");
  TRY(check_size(entry));
  return entry;
}

// Whole numbers of an array, at most `most` of them; nothing when it is not that.
std::optional<std::vector<uint64_t>> whole_numbers(ondemand::value value, size_t most) {
  std::vector<uint64_t> out;
  ondemand::array array;
  if (value.get_array().get(array)) return std::nullopt;
  for (auto element : array) {
    uint64_t number = 0;
    if (out.size() == most || element.get_uint64().get(number)) return std::nullopt;
    out.push_back(number);
  }
  return out;
}

Status SafetensorsParser::read_field(ondemand::value value, std::string_view key,
                                     Entry& entry) const {
  SafetensorsTensor& tensor = entry.tensor;
  if (key == "dtype") {
    std::string_view text;
    if (value.get_string().get(text)) return bad(tensor.name, "dtype is not text");
    const auto row = std::find_if(kDTypes.begin(), kDTypes.end(),
                                  [&](const DTypeRow& known) { return known.name == text; });
    if (row == kDTypes.end()) {
      return bad(tensor.name, fmt::format("unknown dtype '{}'", quoted_name(text)),
                 Code::unsupported);
    }
    tensor.dtype_name = row->name;
    tensor.dtype = row->dtype;
    entry.item_bytes = row->n_bytes;
    return {};
  }
  const bool is_shape = key == "shape";
  const auto numbers = whole_numbers(value, is_shape ? kMaxShapeDims : 2);
  if (!numbers || (!is_shape && numbers->size() != 2)) {
    return bad(tensor.name,
               is_shape ? fmt::format("shape is not at most {} whole numbers", kMaxShapeDims)
                        : std::string("data_offsets is not two whole numbers"));
  }
  if (!is_shape) {
    entry.begin = numbers->front();
    entry.end = numbers->back();
    return {};
  }
  for (const uint64_t length : *numbers) {
    if (length > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return bad(tensor.name, fmt::format("shape has the length {}", length));
    }
    tensor.shape.push_back(static_cast<int64_t>(length));
  }
  return {};
}

// The shape and the dtype must say as many bytes as the offsets.
Status SafetensorsParser::check_size(const Entry& entry) const {
  std::optional<uint64_t> n_bytes = entry.item_bytes;
  for (const int64_t length : entry.tensor.shape) {
    n_bytes = checked_multiply(*n_bytes, static_cast<uint64_t>(length));
    if (!n_bytes) return bad(entry.tensor.name, "the product of its shape is too large");
  }
  if (entry.begin > entry.end || entry.end - entry.begin != *n_bytes) {
    return bad(entry.tensor.name,
               fmt::format("data_offsets [{}, {}] do not span the {} bytes of its shape",
                           entry.begin, entry.end, *n_bytes));
  }
  return {};
}

// Sorts the entries by place and gives them their bytes.
// No gaps and no overlaps: together the tensors are the data.
Status SafetensorsParser::place(Bytes data) {
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end, a.tensor.name) < std::tie(b.begin, b.end, b.tensor.name);
  });
  uint64_t covered = 0;
  for (Entry& entry : entries_) {
    const std::string span = fmt::format("data_offsets [{}, {}]", entry.begin, entry.end);
    if (entry.end > data.size()) {
      return bad(entry.tensor.name, fmt::format("{} lie past the end (file has {} bytes of data); "
                                                "if it was cut short, download it again",
                                                span, data.size()));
    }
    if (entry.begin != covered) {
      return bad(entry.tensor.name, fmt::format("{} overlap other bytes or leave a hole, expected "
                                                "a start at {}",
                                                span, covered));
    }
    covered = entry.end;
    entry.tensor.bytes = data.subspan(entry.begin, entry.end - entry.begin);
  }
  if (covered != data.size()) {
    return fail(Code::corrupt, "{}: {} bytes of data, but the tensors cover {}", reader_.source(),
                data.size(), covered);
  }
  return {};
}

}  // namespace

Result<std::vector<SafetensorsTensor>> parse_safetensors(Bytes bytes, const std::string& source) {
  return SafetensorsParser(bytes, source).parse();
}

// Only weight_map is used.
Result<std::map<std::string, std::string>> parse_safetensors_index(std::string_view text,
                                                                   const std::string& source) {
  const auto broken = [&](std::string_view what) {
    return fail(Code::corrupt, "{}: not an index of safetensors files: {}", source, what);
  };
  if (text.size() > kMaxHeaderBytes) return broken("above 100 MB");
  const simdjson::padded_string padded(text);
  ondemand::parser parser;
  ondemand::document document;
  ondemand::object weights;
  if (const auto error = parser.iterate(padded).get(document)) {
    return broken(simdjson::error_message(error));
  }
  if (const auto error = document["weight_map"].get_object().get(weights)) {
    return broken(fmt::format("weight_map: {}", simdjson::error_message(error)));
  }
  std::map<std::string, std::string> out;
  for (auto member : weights) {
    ondemand::field field;
    std::string_view key;
    if (std::move(member).get(field) || field.unescaped_key().get(key)) return broken("weight_map");
    const std::string name(key);
    std::string_view file;
    if (field.value().get_string().get(file)) {
      return broken(fmt::format("weight_map: tensor '{}' has no text", quoted_name(name)));
    }
    if (!file.ends_with(".safetensors") ||
        file.find_first_of(std::string_view("/\\\0", 3)) != std::string_view::npos) {
      return broken(
          fmt::format("tensor '{}': '{}' is not the name of a safetensors file in the "
                      "same folder",
                      quoted_name(name), quoted_name(file)));
    }
    if (!out.emplace(name, file).second) {
      return broken(fmt::format("tensor '{}' appears twice", quoted_name(name)));
    }
  }
  return out;
}

}  // namespace ruv

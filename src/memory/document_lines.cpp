#include "memory/document_lines.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/json_fields.h"

namespace ruv {
namespace {

constexpr int64_t kLinesVersion = 1;
constexpr IntegerRange kAnyCount{0, std::numeric_limits<int64_t>::max()};

// Members of a line, each of which must be of its kind; where() says which one is not.
class LineReader {
 public:
  LineReader(const Json& object, std::string where) : object_(object), where_(std::move(where)) {}

  Status allow(std::span<const std::string_view> names) const {
    for (const auto& [name, value] : object_.items()) {
      if (std::ranges::find(names, std::string_view(name)) != names.end()) continue;
      return fail(Code::invalid, "unknown member '{}{}'", where_, name);
    }
    return {};
  }
  Result<const Json*> member(std::string_view name) const {
    const Json* const found = object_.find(name);
    if (found == nullptr) return fail(Code::invalid, "'{}{}' is missing", where_, name);
    return found;
  }
  Result<std::string> text(std::string_view name) const {
    const Json* const found = TRY(member(name));
    if (!found->is_string()) return wrong(name, "a text");
    return std::string(found->text());
  }
  Result<int64_t> count(std::string_view name) const {
    TRY(member(name));
    const auto number = read_integer(object_, name, -1, kAnyCount);
    if (!number || *number < 0) return wrong(name, "a whole number of 0 or more");
    return *number;
  }
  Result<const Json*> list(std::string_view name) const {
    const Json* const found = TRY(member(name));
    if (!found->is_array()) return wrong(name, "a list");
    return found;
  }
  // Adds n numbers; -1: any count of them.
  Status floats(std::string_view name, int64_t n, std::vector<float>& numbers) const {
    const Json* const found = TRY(list(name));
    if (n >= 0 && std::ssize(*found) != n) {
      return fail(Code::invalid, "'{}{}' has {} numbers, not {}", where_, name, found->size(), n);
    }
    for (const Json& one : *found) {
      const bool is_float =
          one.is_number() && std::fabs(one.get<double>()) <= std::numeric_limits<float>::max();
      if (!is_float) return wrong(name, "a list of numbers of float32");
      numbers.push_back(static_cast<float>(one.get<double>()));
    }
    return {};
  }
  tl::unexpected<Status> wrong(std::string_view name, std::string_view wanted) const {
    return fail(Code::invalid, "'{}{}' must be {}", where_, name, wanted);
  }

 private:
  const Json& object_;
  std::string where_;
};

Json numbers_json(std::span<const float> numbers) {
  Json list = Json::array();
  for (const float number : numbers) list.push_back(double{number});
  return list;
}

Status read_chunk_member(const Json& json, size_t number, int64_t n_dims, KeptDocument& document) {
  const std::string where = "chunks[" + std::to_string(number) + "]";
  if (!json.is_object()) return fail(Code::invalid, "'{}' must be an object", where);
  const LineReader reader(json, where + ".");
  constexpr std::array<std::string_view, 6> kNames{"first",    "end",  "page",
                                                   "headings", "text", "vector"};
  TRY(reader.allow(std::span(kNames).first(n_dims > 0 ? 6 : 5)));
  TextChunk chunk;
  chunk.first = TRY(reader.count("first"));
  chunk.end = TRY(reader.count("end"));
  chunk.headings = TRY(reader.text("headings"));
  if (json.find("page") != nullptr) chunk.page = TRY(reader.count("page"));
  document.texts.push_back(TRY(reader.text("text")));
  document.chunks.push_back(std::move(chunk));
  return n_dims > 0 ? reader.floats("vector", n_dims, document.vectors) : Status();
}

}  // namespace

Json head_line(const LinesHead& head) {
  return Json{{"ruvllm_memory", kLinesVersion},
              {"embedder", head.kind.embedder},
              {"n_dims", head.kind.n_dims},
              {"probe", numbers_json(head.kind.probe)},
              {"has_vectors", head.has_vectors}};
}

Result<LinesHead> read_head_line(const Json& line) {
  if (!line.is_object() || line.find("ruvllm_memory") == nullptr) {
    return fail(Code::invalid, "no file of `ruvllm memory export`: its first line says so");
  }
  const LineReader reader(line, "");
  const int64_t version = TRY(reader.count("ruvllm_memory"));
  if (version != kLinesVersion) {
    return fail(Code::unsupported, "version {} of exported documents; this program reads {}",
                version, kLinesVersion);
  }
  constexpr std::string_view kNames[] = {"ruvllm_memory", "embedder", "n_dims", "probe",
                                         "has_vectors"};
  TRY(reader.allow(kNames));
  LinesHead head;
  head.kind.embedder = TRY(reader.text("embedder"));
  head.kind.n_dims = TRY(reader.count("n_dims"));
  TRY(reader.floats("probe", -1, head.kind.probe));
  const Json* const has_vectors = TRY(reader.member("has_vectors"));
  if (!has_vectors->is_boolean()) return reader.wrong("has_vectors", "true or false");
  head.has_vectors = has_vectors->get<bool>();
  if (head.kind.n_dims > 0) return head;
  return reader.wrong("n_dims", "above 0");
}

Json document_line(const KeptDocument& document, int64_t n_dims) {
  Json chunks = Json::array();
  for (size_t i = 0; i < document.chunks.size(); ++i) {
    const TextChunk& chunk = document.chunks[i];
    Json one{{"first", chunk.first}, {"end", chunk.end}};
    if (chunk.page > 0) one["page"] = chunk.page;
    one["headings"] = chunk.headings;
    one["text"] = document.texts[i];
    if (!document.vectors.empty()) {
      const auto width = static_cast<size_t>(n_dims);
      one["vector"] = numbers_json(std::span(document.vectors).subspan(i * width, width));
    }
    chunks.push_back(std::move(one));
  }
  Json line{{"name", document.name},
            {"metadata", document.metadata},
            {"added", document.added_s},
            {"n_bytes", document.n_bytes}};
  line["chunks"] = std::move(chunks);
  return line;
}

Result<KeptDocument> read_document_line(const Json& line, int64_t n_dims) {
  if (!line.is_object()) return fail(Code::invalid, "not a JSON object");
  const LineReader reader(line, "");
  constexpr std::string_view kNames[] = {"name", "metadata", "added", "n_bytes", "chunks"};
  TRY(reader.allow(kNames));
  KeptDocument document;
  document.name = TRY(reader.text("name"));
  const Json* const metadata = TRY(reader.member("metadata"));
  if (!metadata->is_object()) return reader.wrong("metadata", "an object");
  document.metadata = *metadata;
  document.added_s = TRY(reader.count("added"));
  document.n_bytes = TRY(reader.count("n_bytes"));
  const Json* const chunks = TRY(reader.list("chunks"));
  for (size_t i = 0; i < chunks->size(); ++i) {
    TRY(read_chunk_member((*chunks)[i], i, n_dims, document));
  }
  return document;
}

}  // namespace ruv

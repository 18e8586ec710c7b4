#include "net/memory/memory_context.h"

#include "memory/document_forms.h"
#include "net/openai/generate_request.h"

namespace ruv {
namespace {

// "[1] notes.pdf, page 3, The ship > Crew", then the text.
std::string numbered_chunk(size_t number, const FoundChunk& chunk) {
  std::string block = fmt::format("[{}] {}", number, chunk.document);
  const std::string place = place_of(chunk.page, chunk.headings);
  if (!place.empty()) block += ", " + place;
  return block + "\n" + chunk.text;
}

}  // namespace

Json found_json(const FoundChunk& chunk) {
  Json found = {{"id", chunk.id},
                {"document", chunk.document},
                {"first", chunk.first},
                {"end", chunk.end},
                {"headings", chunk.headings},
                {"text", chunk.text},
                {"metadata", chunk.metadata},
                {"score", chunk.score},
                {"vector_rank", chunk.vector_rank},
                {"word_rank", chunk.word_rank}};
  if (chunk.page > 0) found["page"] = chunk.page;
  if (chunk.related > 0) found["related"] = chunk.related;
  if (chunk.vector_rank > 0) found["similarity"] = 1 - double{chunk.distance};
  return found;
}

ApiResult<ContextLimits> read_context_limits(const Json& body) {
  ContextLimits limits;
  constexpr IntegerRange kRange{1, 1 << 20};
  limits.max_bytes = TRY(read_integer(body, "max_bytes", limits.max_bytes, kRange));
  limits.max_tokens = TRY(read_integer(body, "max_tokens", 0, kRange));
  limits.model = TRY(read_model(body));
  if (limits.model.empty() || limits.max_tokens > 0) return limits;
  return tl::unexpected(
      bad_request("model", "'model' says whose tokens 'max_tokens' counts, and that is missing"));
}

ApiResult<HttpResponse> context_answer(const StoreFindings& findings, const ContextLimits& limits,
                                       const ModelText* text) {
  std::string block;
  int64_t n_tokens = 0, n_left_out = 0;
  Json sources = Json::array();
  // Tokens of a whole are not the sum of those of its parts, so the whole is counted each time.
  for (const FoundChunk& chunk : findings.chunks) {
    std::string longer = block + (block.empty() ? "" : "\n\n");
    longer += numbered_chunk(sources.size() + 1, chunk);
    bool fits = std::ssize(longer) <= limits.max_bytes;
    if (fits && text != nullptr) {
      const auto counted =
          text->encode(longer, {.add_special = false, .parse_special = false, .count_only = true});
      if (!counted) return tl::unexpected(api_error(counted.error()));
      fits = counted->n_tokens <= limits.max_tokens;
      if (fits) n_tokens = counted->n_tokens;
    }
    if (!fits) {
      ++n_left_out;
      continue;
    }
    block = std::move(longer);
    Json source = found_json(chunk);
    source.erase("text");
    source["number"] = sources.size() + 1;
    sources.push_back(std::move(source));
  }
  Json json = {{"object", "memory.context"}, {"text", block}, {"n_bytes", block.size()}};
  if (text != nullptr) json["n_tokens"] = n_tokens;
  json["n_left_out"] = n_left_out;
  json["sources"] = std::move(sources);
  if (findings.were_remembered) json["remembered"] = true;
  json["usage"] = {{"prompt_tokens", findings.n_tokens}, {"total_tokens", findings.n_tokens}};
  return HttpResponse{.body = json.dump()};
}

}  // namespace ruv

// The fields of the bodies that the memory takes.
#include <array>

#include "net/memory/memory_routes.h"

namespace ruv {
namespace {

constexpr std::array kMemoryDocument{
    FieldRow{"name", kHonoured, "required; the document's name, in place of one of the same name"},
    FieldRow{"text", kHonoured, "required; its text"},
    FieldRow{"metadata", kHonoured, "an object, which searches can compare and give"},
    FieldRow{"chunk_bytes", kHonoured, "16 to 65536, 1200 when absent: the longest chunk"},
    FieldRow{"overlap_bytes", kHonoured,
             "0 to 32767, 120 when absent: what a chunk repeats of the one before, where a "
             "paragraph is cut"},
    FieldRow{"user", kHonoured, "whose memory it is: users do not see each other's"},
};

constexpr FieldRow kQueryRow{"query", kHonoured, "required; what is looked for"};
constexpr FieldRow kKRow{"k", kHonoured, "1 to 1000: how many chunks; absent: 5"};
constexpr FieldRow kModeRow{
    "mode", kHonoured,
    "\"hybrid\", which it is when absent, \"vector\" or \"words\", which needs no model"};
constexpr FieldRow kMetadataRow{
    "metadata", kHonoured,
    "only documents that have these members with these values: texts, numbers, booleans"};
constexpr FieldRow kFilterRow{
    "filter", kHonoured,
    "only documents that this takes: {\"type\", \"key\", \"value\"} with eq, ne, gt, gte, lt, lte, "
    "in or nin, or {\"type\": \"and\" or \"or\", \"filters\"}"};
constexpr FieldRow kUserRow{"user", kHonoured, "whose memory is searched"};

constexpr std::array kMemorySearch{kQueryRow, kKRow, kModeRow, kMetadataRow, kFilterRow, kUserRow};

constexpr std::array kMemoryContext{
    kQueryRow,
    kKRow,
    kModeRow,
    kMetadataRow,
    kFilterRow,
    kUserRow,
    FieldRow{"max_bytes", kHonoured, "1 to 1048576: the longest block; absent: 16384"},
    FieldRow{"max_tokens", kHonoured, "1 to 1048576: the same in tokens of `model`"},
    FieldRow{"model", kHonoured, "whose tokens `max_tokens` counts; absent: the first"},
};

constexpr BodyTable kDocumentTable{"memory_document", kMemoryDocument, kMaxConversationValues};
constexpr BodyTable kSearchTable{"memory_search", kMemorySearch, kMaxConversationValues};
constexpr BodyTable kContextTable{"memory_context", kMemoryContext, kMaxConversationValues};

}  // namespace

const BodyTable& memory_document_fields() { return kDocumentTable; }
const BodyTable& memory_search_fields() { return kSearchTable; }
const BodyTable& memory_context_fields() { return kContextTable; }

}  // namespace ruv

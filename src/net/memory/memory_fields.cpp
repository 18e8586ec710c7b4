// The fields of the bodies that the memory takes.
#include <array>

#include "net/memory/memory_routes.h"

namespace ruv {
namespace {

constexpr std::array kMemoryDocument{
    FieldRow{"name", kHonoured, "required; the document's name, in place of one of the same name"},
    FieldRow{"text", kHonoured, "required; its text"},
    FieldRow{"format", kHonoured,
             "\"text\", \"markdown\" or \"html\", of which headings and what is shown are kept; "
             "absent: as the name ends"},
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
constexpr FieldRow kRelatedRow{
    "related", kHonoured,
    "0 to 1000: how many chunks are added that edges lead to from those found; absent: 0"};
constexpr FieldRow kVisitRow{"max_visited", kHonoured,
                             "1 to 10000: chunks that are visited for `related`; absent: 256"};
constexpr FieldRow kRememberRow{
    "remember", kHonoured,
    "strengthens the edges between the chunks that are found; absent: false"};
constexpr FieldRow kUserRow{"user", kHonoured, "whose memory is searched"};

constexpr std::array kMemorySearch{kQueryRow,   kKRow,     kModeRow,     kMetadataRow, kFilterRow,
                                   kRelatedRow, kVisitRow, kRememberRow, kUserRow};

constexpr std::array kMemoryContext{
    kQueryRow,
    kKRow,
    kModeRow,
    kMetadataRow,
    kFilterRow,
    kRelatedRow,
    kVisitRow,
    kRememberRow,
    kUserRow,
    FieldRow{"max_bytes", kHonoured, "1 to 1048576: the longest block; absent: 16384"},
    FieldRow{"max_tokens", kHonoured, "1 to 1048576: the same in tokens of `model`"},
    FieldRow{"model", kHonoured, "whose tokens `max_tokens` counts; absent: the first"},
};

constexpr FieldRow kPlanRow{
    "chunking_strategy", kHonoured,
    "{\"type\": \"auto\"}, or \"static\" with max_chunk_size_tokens from 100 to 4096 and "
    "chunk_overlap_tokens up to half of it"};
constexpr FieldRow kExpiresRow{
    "expires_after", kHonoured,
    "{\"anchor\": \"last_active_at\", \"days\": 1 to 365}; then the store is deleted"};
constexpr FieldRow kAttributesRow{
    "attributes", kHonoured,
    "up to 16 members that searches can compare: texts, numbers, booleans"};
constexpr FieldRow kNotesRow{"metadata", kHonoured, "up to 16 texts, which are given back"};

constexpr std::array kVectorStore{
    FieldRow{"name", kHonoured, "the store's name"},
    FieldRow{"description", kHonoured, "what it is for"},
    kNotesRow,
    FieldRow{"file_ids", kHonoured, "up to 100 files, which are in it when the answer comes"},
    kPlanRow,
    kExpiresRow,
};
constexpr std::array kVectorStoreChange{FieldRow{"name", kHonoured, "the store's name"}, kNotesRow,
                                        kExpiresRow};
constexpr std::array kVectorStoreFile{FieldRow{"file_id", kHonoured, "required; a file's id"},
                                      kAttributesRow, kPlanRow};
constexpr std::array kFileBatch{
    FieldRow{"file_ids", kHonoured,
             "up to 100 files, which are in the store when the answer comes"},
    FieldRow{"files", kHonoured,
             "in place of the others: objects with `file_id`, and perhaps `attributes` and "
             "`chunking_strategy`"},
    kAttributesRow, kPlanRow};
constexpr std::array kVectorStoreFileChange{
    FieldRow{"attributes", kHonoured, "required; in the place of those that the file has"}};
constexpr std::array kVectorStoreSearch{
    FieldRow{"query", kHonoured, "required; a text, or up to 16: chunks that fit one of them"},
    FieldRow{"filters", kHonoured,
             "only files whose attributes this takes: a comparison, or \"and\" and \"or\" of some"},
    FieldRow{"max_num_results", kHonoured, "1 to 50: how many chunks; absent: 10"},
    FieldRow{"ranking_options", kHonoured,
             "ranker: \"auto\", by meaning and words, or \"none\", by meaning alone; "
             "score_threshold: 0 to 1"},
    FieldRow{"rewrite_query", kUnsupported, "", "[false]"},
};

constexpr BodyTable kDocumentTable{"memory_document", kMemoryDocument, kMaxConversationValues};
constexpr BodyTable kSearchTable{"memory_search", kMemorySearch, kMaxConversationValues};
constexpr BodyTable kContextTable{"memory_context", kMemoryContext, kMaxConversationValues};

constexpr BodyTable kStoreTable{"vector_store", kVectorStore, kMaxConversationValues};
constexpr BodyTable kStoreChangeTable{"vector_store_change", kVectorStoreChange,
                                      kMaxConversationValues};
constexpr BodyTable kStoreFileTable{"vector_store_file", kVectorStoreFile, kMaxConversationValues};
constexpr BodyTable kFileBatchTable{"file_batch", kFileBatch, kMaxConversationValues};
constexpr BodyTable kStoreFileChangeTable{"vector_store_file_change", kVectorStoreFileChange,
                                          kMaxConversationValues};
constexpr BodyTable kStoreSearchTable{"vector_store_search", kVectorStoreSearch,
                                      kMaxConversationValues};

}  // namespace

const BodyTable& vector_store_fields() { return kStoreTable; }
const BodyTable& vector_store_change_fields() { return kStoreChangeTable; }
const BodyTable& vector_store_file_fields() { return kStoreFileTable; }
const BodyTable& vector_store_file_change_fields() { return kStoreFileChangeTable; }
const BodyTable& vector_store_search_fields() { return kStoreSearchTable; }
const BodyTable& file_batch_fields() { return kFileBatchTable; }
const BodyTable& memory_document_fields() { return kDocumentTable; }
const BodyTable& memory_search_fields() { return kSearchTable; }
const BodyTable& memory_context_fields() { return kContextTable; }

}  // namespace ruv

#include "audit/audit_proof.h"

#include "audit/merkle.h"

namespace ruv {
namespace {

constexpr std::string_view kForm = "ruvllm audit proof 1";
// The depth of a tree with as many leaves as there can be.
constexpr size_t kMaxPath = 64;

// Proofs come from strangers: each member is looked for and its type is checked before it is used.
tl::unexpected<Status> not_proven(std::string_view why) {
  return fail(Code::corrupt, "proof: {}", why);
}

Result<std::string_view> text_of(const Json& object, std::string_view name) {
  const Json* text = object.find(name);
  if (text == nullptr || !text->is_string())
    return not_proven(fmt::format("'{}' is missing or not a text", name));
  return text->text();
}

Result<int64_t> number_of(const Json& object, std::string_view name) {
  const std::optional<int64_t> number = whole_number(object.find(name));
  if (!number || *number < 0)
    return not_proven(fmt::format("'{}' is missing or not a number from 0 on", name));
  return *number;
}

template <size_t n>
Status read_bytes(const Json& object, std::string_view name, std::array<std::byte, n>& bytes) {
  const Status status = bytes_from_hex(TRY(text_of(object, name)), bytes, name);
  return status.ok() ? status : Status(not_proven(status.message()));
}

// All that head.digest() is made of, and the signature.
Json head_json(const AuditHead& head) {
  Json json = Json::object();
  json["number"] = head.number;
  json["first"] = head.first;
  json["last"] = head.last;
  json["time_ms"] = head.unix_ms;
  json["root"] = hex_of(head.root);
  json["previous"] = hex_of(head.previous);
  json["signature"] = hex_of(head.signature);
  return json;
}

Result<AuditHead> read_head(const Json& json) {
  if (!json.is_object()) return not_proven("'head' is missing");
  AuditHead head;
  head.number = TRY(number_of(json, "number"));
  head.first = TRY(number_of(json, "first"));
  head.last = TRY(number_of(json, "last"));
  head.unix_ms = TRY(number_of(json, "time_ms"));
  TRY(read_bytes(json, "root", head.root));
  TRY(read_bytes(json, "previous", head.previous));
  TRY(read_bytes(json, "signature", head.signature));
  return head;
}

Result<std::vector<Digest>> read_path(const Json& proof) {
  const Json* list = proof.find("path");
  if (list == nullptr || !list->is_array() || list->size() > kMaxPath)
    return not_proven("'path' is missing or too long");
  std::vector<Digest> path;
  for (const Json& text : *list) {
    if (!text.is_string()) return not_proven("'path' has what is not a text");
    const auto digest = digest_from_hex(text.text(), "path");
    if (!digest) return not_proven(digest.error().message());
    path.push_back(*digest);
  }
  return path;
}

// Contents are hexadecimal, but for the text, which is one.
Json contents_json(const EntryContents& contents) {
  Json json = Json::object();
  json["salt"] = hex_of(contents.salt);
  json["prompt"] = hex_of(as_bytes(contents.prompt));
  json["answer"] = hex_of(as_bytes(contents.answer));
  json["text"] = contents.text;
  return json;
}

// Any number of bytes, two digits each; the text's length bounds them.
Result<std::string> read_hex(const Json& object, std::string_view name) {
  const std::string_view digits = TRY(text_of(object, name));
  std::string bytes(digits.size() / 2, '\0');
  const Status status = bytes_from_hex(digits, std::as_writable_bytes(std::span(bytes)), name);
  if (!status.ok()) return not_proven(status.message());
  return bytes;
}

// That contents, where the proof has them, are those of the entry.
Status check_proven_contents(const Json& proof, const Json& body) {
  const Json* json = proof.find("contents");
  if (json == nullptr) return {};
  if (!json->is_object()) return not_proven("'contents' is not an object");
  const auto digests = TRY(digests_in(body));
  EntryContents contents;
  TRY(read_bytes(*json, "salt", contents.salt));
  contents.prompt = TRY(read_hex(*json, "prompt"));
  contents.answer = TRY(read_hex(*json, "answer"));
  contents.text = TRY(text_of(*json, "text"));
  if (!digests || digests_of(contents) != *digests)
    return not_proven("the contents are not those of the entry");
  return {};
}

}  // namespace

Result<Json> audit_proof(const AuditStore& store, int64_t entry, bool with_contents) {
  const AuditHead head = TRY(store.head_of(entry));
  const std::string body = TRY(store.body(entry));
  const std::vector<Digest> leaves = TRY(store.leaves(head));
  const auto at = static_cast<size_t>(entry - head.first);
  if (at >= leaves.size() || leaves[at] != entry_digest(entry, body))
    return fail(Code::corrupt, "entry {} is not the one that was signed", entry);
  Json proof = Json::object();
  proof["form"] = kForm;
  proof["public_key"] = hex_of(store.public_key());
  proof["number"] = entry;
  proof["entry"] = body;
  Json path = Json::array();
  for (const Digest& digest : merkle_path(leaves, at)) path.push_back(hex_of(digest));
  proof["path"] = std::move(path);
  proof["head"] = head_json(head);
  if (!with_contents) return proof;
  if (const auto contents = TRY(store.contents(entry)))
    proof["contents"] = contents_json(*contents);
  return proof;
}

Result<ProvenEntry> check_proof(const Json& proof) {
  if (!proof.is_object() || proof.value("form", Json()) != Json(kForm))
    return not_proven(fmt::format("not of the form '{}'", kForm));
  ProvenEntry proven;
  TRY(read_bytes(proof, "public_key", proven.key));
  proven.number = TRY(number_of(proof, "number"));
  const std::string_view body = TRY(text_of(proof, "entry"));
  const AuditHead head = TRY(read_head(proof["head"]));
  proven.head = head.number;
  const std::vector<Digest> path = TRY(read_path(proof));
  if (head.first < 1 || proven.number < head.first || proven.number > head.last)
    return not_proven("the head does not cover the entry");
  const auto root = root_of_path(entry_digest(proven.number, body),
                                 static_cast<uint64_t>(proven.number - head.first),
                                 static_cast<uint64_t>(head.last - head.first) + 1, path);
  if (root != head.root) return not_proven("the entry is not the one that was signed");
  if (!is_signed(head.digest(), head.signature, proven.key))
    return not_proven("the signature is not by this key");
  proven.body = TRY(parse_json(body, "entry", {.depth = 64, .values = 1'000'000}));
  if (!proven.body.is_object()) return not_proven("the entry is not an object");
  TRY(check_proven_contents(proof, proven.body));
  return proven;
}

}  // namespace ruv

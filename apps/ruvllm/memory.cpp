// ruvllm memory: a store of documents on disk, found by what they mean and by their words.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/json.h"
#include "command_line.h"
#include "commands.h"
#include "consent.h"
#include "data_folder.h"
#include "key_source.h"
#include "memory/document_forms.h"
#include "memory/postgres_store.h"
#include "memory/store.h"
#include "memory_embedder.h"
#include "memory_lines.h"
#include "memory_snapshot.h"
#include "net/memory/served_memory.h"
#include "pdf_text.h"
#include "shown_text.h"
#include "standard_input.h"
#include "terminal.h"

namespace ruv {
namespace {

constexpr int64_t kListedAtOnce = 1000;
constexpr const char* kActions =
    "add, search, list, rm, stats, pack, backup, restore, export, import or rekey";

struct MemoryCall {
  std::string action;
  std::vector<std::string> words;
  std::string store;
  std::string key_source, new_key_source;
  std::optional<SealKey> key;  // of the first source
  EmbedderCall embedder;
  ChunkOptions chunks;
  std::string name;
  std::vector<std::string> metadata;
  int64_t k = 5;
  std::string codes;
  bool words_only = false;
  bool removes_damaged = false;
  bool syncs = false;
  bool yes = false;
  bool json = false;
  bool vectors = false;
  int64_t n_related = 0;
  int64_t most_visited = 256;
  bool remembers = false;
};

std::string folder_of(const MemoryCall& call) {
  return call.store.empty() ? default_data_folder() + "/memory" : call.store;
}

Result<std::unique_ptr<MemoryStore>> open_folder(const MemoryCall& call,
                                                 const DocumentStore::Kind& kind,
                                                 WorkerPool& pool) {
  MemoryStoreOptions options;
  options.folder = folder_of(call);
  options.embedder = kind.embedder;
  options.n_dims = kind.n_dims;
  options.probe = kind.probe;
  options.syncs = call.syncs;
  options.removes_damaged = call.removes_damaged;
  options.key = call.key;
  if (!call.codes.empty()) options.codes = TRY(vector_codes_of(call.codes));
  auto store = TRY(MemoryStore::open(options, pool));
  if (const int64_t n = TRY(store->stats()).n_damaged; n > 0) {
    fmt::print(stderr, "{} damaged vectors were removed; add their documents again\n", n);
  }
  return store;
}

Result<std::unique_ptr<DocumentStore>> open_store(const MemoryCall& call,
                                                  const DocumentStore::Kind& kind,
                                                  WorkerPool& pool) {
  if (!PostgresStore::is_url(call.store)) return TRY(open_folder(call, kind, pool));
  return TRY(PostgresStore::open({call.store, kind}));
}

Result<DocumentStore::Kind> kind_of_store(const MemoryCall& call) {
  if (PostgresStore::is_url(call.store)) return PostgresStore::kind_of(call.store);
  return MemoryStore::kind_of(folder_of(call), call.key);
}

// A store that is there already, as it is.
Result<std::unique_ptr<DocumentStore>> open_known(const MemoryCall& call, WorkerPool& pool) {
  return open_store(call, TRY(kind_of_store(call)), pool);
}

// "key=value": whole numbers, true and false as such, all else as a text.
Result<Json> metadata_of(const std::vector<std::string>& pairs) {
  Json metadata = Json::object();
  for (const std::string& pair : pairs) {
    const size_t equals = pair.find('=');
    if (equals == pair.npos || equals == 0) {
      return fail(Code::invalid, "--meta {}: give KEY=VALUE", pair);
    }
    const std::string key = pair.substr(0, equals), value = pair.substr(equals + 1);
    const auto parsed = parse_json(value, "--meta");
    const bool is_plain = parsed && (parsed->is_number_integer() || parsed->is_boolean());
    metadata[key] = is_plain ? *parsed : Json(value);
  }
  return metadata;
}

// What is kept of a file's bytes: a PDF is known by its first ones, other forms by their names.
Result<ReadText> read_bytes(const std::string& name, std::string bytes) {
  const DocumentForm form = form_of_name(name);
  if (form == DocumentForm::pdf || looks_like_pdf(bytes)) return read_pdf(bytes);
  return read_document(form, bytes);
}

// `store` is opened, or made, when the first document is ready for it.
Status add_one(std::unique_ptr<DocumentStore>& store, Embedder& embedder, const MemoryCall& call,
               const std::string& name, std::string bytes, WorkerPool& pool) {
  Json metadata = TRY(metadata_of(call.metadata));
  ChunkOptions options = call.chunks;
  options.form = text_form_of(form_of_name(name));
  const ReadText read = TRY(read_bytes(name, std::move(bytes)));
  const std::vector<TextChunk> chunks = TRY(embedder.cut(read, options));
  const std::vector<float> vectors = TRY(embedder.of_chunks(read.text, chunks));
  if (store == nullptr) store = TRY(open_store(call, embedder.kind(), pool));
  const int64_t id = TRY(store->add({name, read.text, chunks, vectors, std::move(metadata)}, pool));
  if (call.json) {
    print_json_line(Json{{"name", name}, {"id", id}, {"n_chunks", chunks.size()}});
  } else {
    fmt::print("{}: {} chunks\n", shown_text(name, kWholeText), chunks.size());
  }
  return {};
}

Status add(const CommandLine& line, const MemoryCall& call, WorkerPool& pool) {
  const auto embedder = TRY(Embedder::open(line, call.embedder));
  std::unique_ptr<DocumentStore> store;
  for (const std::string& file : call.words) {
    const bool is_input = file == "-";
    std::string bytes = is_input ? TRY(read_stdin()) : TRY(read_text_file(file));
    const std::string name = call.name.empty() ? file : call.name;
    const Status status = add_one(store, *embedder, call, name, std::move(bytes), pool);
    if (!status.ok()) return with_context(file, status);
  }
  return {};
}

void print_found(const FoundChunk& chunk, int64_t place, bool json) {
  if (json) {
    Json found{
        {"id", chunk.id},       {"document", chunk.document},       {"first", chunk.first},
        {"end", chunk.end},     {"headings", chunk.headings},       {"text", chunk.text},
        {"score", chunk.score}, {"vector_rank", chunk.vector_rank}, {"word_rank", chunk.word_rank}};
    if (chunk.page > 0) found["page"] = chunk.page;
    if (chunk.related > 0) found["related"] = chunk.related;
    if (chunk.vector_rank > 0) found["similarity"] = 1 - double{chunk.distance};
    print_json_line(found);
    return;
  }
  std::string where = place_of(chunk.page, chunk.headings);
  if (chunk.related > 0) where += where.empty() ? "(related)" : " (related)";
  fmt::print("{}. {}:{}-{}{}{}\n{}\n", place, shown_text(chunk.document, kWholeText), chunk.first,
             chunk.end, where.empty() ? "" : "  ", shown_text(where, kWholeText),
             shown_lines(chunk.text));
}

Status search(const CommandLine& line, const MemoryCall& call, WorkerPool& pool) {
  std::string words;
  for (const std::string& word : call.words) words += (words.empty() ? "" : " ") + word;
  const DocumentStore::Kind known = TRY(kind_of_store(call));
  MemoryQuery query{.words = words, .k = call.k};
  query.metadata = TRY(metadata_of(call.metadata));
  query.n_related = call.n_related;
  query.most_visited = call.most_visited;
  query.remembers = call.remembers;
  std::vector<float> vector;
  DocumentStore::Kind kind = known;
  if (!call.words_only) {
    const auto embedder = TRY(Embedder::open(line, call.embedder));
    kind = embedder->kind();
    vector = TRY(embedder->of_query(words));
    query.vector = vector;
    query.vector_weight = embedder->vector_weight();
  }
  const auto store = TRY(open_store(call, kind, pool));
  int64_t place = 0;
  for (const FoundChunk& chunk : TRY(store->search(query))) {
    print_found(chunk, ++place, call.json);
  }
  return {};
}

Status list(const MemoryCall& call, WorkerPool& pool) {
  const auto store = TRY(open_known(call, pool));
  std::string after;
  for (;;) {
    const auto documents = TRY(store->list(after, kListedAtOnce));
    for (const StoredDocument& one : documents) {
      if (call.json) {
        print_json_line(Json{{"name", one.name},
                             {"id", one.id},
                             {"n_chunks", one.n_chunks},
                             {"n_bytes", one.n_bytes},
                             {"added", one.added_s},
                             {"metadata", one.metadata}});
      } else {
        const std::string metadata = one.metadata.empty() ? "" : "  " + one.metadata.dump();
        fmt::print("{:>6} chunks  {:>9}  {:%Y-%m-%d %H:%M}  {}\n", one.n_chunks,
                   readable_bytes(one.n_bytes), fmt::gmtime(static_cast<std::time_t>(one.added_s)),
                   shown_text(one.name + metadata, kWholeText));
      }
    }
    if (std::ssize(documents) < kListedAtOnce) return {};
    after = documents.back().name;
  }
}

Result<int> remove(const CommandLine& line, const MemoryCall& call, WorkerPool& pool) {
  const auto store = TRY(open_known(call, pool));
  std::string question;
  for (const std::string& name : call.words) question += name + "\n";
  if (!has_consent(line, question + "Remove from memory?", call.yes)) return kJobFailed;
  std::string missing;
  for (const std::string& name : call.words) {
    if (!TRY(store->remove(name, pool))) missing += (missing.empty() ? "" : ", ") + name;
  }
  if (missing.empty()) return kDone;
  return fail(Code::not_found, "{}: not in memory; `ruvllm memory list` shows the names", missing);
}

Status stats(const MemoryCall& call, WorkerPool& pool) {
  std::unique_ptr<DocumentStore> store;
  std::string place = folder_of(call), codes;
  const bool is_folder = !PostgresStore::is_url(call.store);
  if (is_folder) {
    auto opened = TRY(open_folder(call, TRY(kind_of_store(call)), pool));
    codes = name_of(opened->codes());
    store = std::move(opened);
  } else {
    store = TRY(open_known(call, pool));
    place = TRY(PostgresStore::shown_url(call.store));
  }
  const DocumentStore::Stats stats = TRY(store->stats());
  if (call.json) {
    Json line{{is_folder ? "folder" : "url", place},
              {"embedder", stats.embedder},
              {"n_dims", stats.n_dims}};
    if (is_folder) line["codes"] = codes;
    line["n_documents"] = stats.n_documents;
    line["n_chunks"] = stats.n_chunks;
    line["n_vectors"] = stats.n_vectors;
    if (is_folder) line["n_packed"] = stats.n_packed;
    if (is_folder) line["n_edges"] = stats.n_edges;
    line["n_text_bytes"] = stats.n_text_bytes;
    print_json_line(line);
    return {};
  }
  fmt::print("{}     {}\nembedder   {}\nvectors    {} of {} numbers{}{}\ndocuments  {}, {}\n",
             is_folder ? "folder" : "url   ", place, stats.embedder, stats.n_vectors, stats.n_dims,
             is_folder ? ", codes " : "", codes, stats.n_documents,
             readable_bytes(stats.n_text_bytes));
  fmt::print("chunks     {}{}\n", stats.n_chunks,
             is_folder ? fmt::format(", {} edges", stats.n_edges) : "");
  if (stats.n_packed > 0) fmt::print("packed     {} vectors\n", stats.n_packed);
  return {};
}

Status pack(const MemoryCall& call, WorkerPool& pool) {
  const auto store = TRY(open_folder(call, TRY(kind_of_store(call)), pool));
  const bool is_new = TRY(store->pack(pool));
  const DocumentStore::Stats stats = TRY(store->stats());
  if (call.json) {
    print_json_line(Json{{"n_packed", stats.n_packed}, {"n_bytes_of_memory", stats.n_bytes}});
    return {};
  }
  fmt::print("{}{} vectors on disk, {} of memory to search them\n",
             is_new ? "" : "nothing new to pack: ", stats.n_packed, readable_bytes(stats.n_bytes));
  return {};
}

void show_snapshot(const MemoryCall& call, const SnapshotTotals& totals) {
  if (call.json) {
    print_json_line(
        Json{{"url", call.words[0]}, {"n_files", totals.n_files}, {"n_bytes", totals.n_bytes}});
    return;
  }
  fmt::print("{}: {} files, {}\n", call.words[0], totals.n_files, readable_bytes(totals.n_bytes));
}

Status backup(const MemoryCall& call, WorkerPool& pool) {
  auto store = TRY(open_folder(call, TRY(kind_of_store(call)), pool));
  const std::string& target = call.words[0];
  if (!is_object_url(target)) return store->backup(target);
  show_snapshot(call, TRY(backup_to_objects(std::move(store), folder_of(call), target)));
  return {};
}

Result<int> take_lines(const CommandLine& line, const MemoryCall& call, WorkerPool& pool) {
  LinesTerms terms{
      .open_embedder = [&] { return Embedder::open(line, call.embedder); },
      .open_store = [&](const DocumentStore::Kind& kind) { return open_store(call, kind, pool); },
      .names_model = !call.embedder.model.empty(),
      .json = call.json};
  int64_t n_refused = 0;
  for (const std::string& file : call.words) {
    n_refused += TRY(import_documents(file, terms, pool));
  }
  return n_refused == 0 ? kDone : kJobFailed;
}

// The key of one store, or of all that a server keeps in the folder.
Status change_key(const MemoryCall& call) {
  const auto to = TRY(read_key("--new-key", call.new_key_source));
  const std::string folder = folder_of(call);
  if (ServedMemory::has_key(folder)) return ServedMemory::change_key(folder, *call.key, *to);
  return MemoryStore::change_key(folder, *call.key, *to);
}

void declare_keys(CommandLine& line, MemoryCall& call) {
  const OptionGroup group(line, "Encryption");
  line.text("--key", call.key_source,
            "Encrypts a new store, and opens one that is encrypted: a file with 64 hexadecimal "
            "digits, or env:NAME or keyring:NAME with those");
  line.text("--new-key", call.new_key_source, "What rekey puts in the place of --key: as that");
}

void declare(CommandLine& line, MemoryCall& call) {
  line.example("ruvllm memory add notes.md", "Keeps a document");
  line.example("ruvllm memory search \"when does the ship leave?\"", "The chunks that fit best");
  line.example("ruvllm memory rm notes.md", "Forgets it");
  line.example("ruvllm memory pack",
               "Moves its vectors to a file that is searched with little memory");
  line.example("ruvllm memory export > all.jsonl", "Writes all documents as lines of JSON");
  line.text("action", call.action, kActions);
  line.choices({"add", "search", "list", "rm", "stats", "pack", "backup", "restore", "export",
                "import", "rekey"});
  line.words("what", call.words,
             "Files for add (text, Markdown, HTML, PDF), \"-\" for stdin; the query; names for rm; "
             "a new folder or s3://BUCKET/PREFIX for backup, the latter and a new folder for "
             "restore; files of export, or \"-\", for import");
  line.text("--store", call.store,
            "The folder of the store, or postgresql://USER@HOST:PORT/DATABASE; "
            "$XDG_DATA_HOME/ruvllm/memory or ~/.local/share/ruvllm/memory when absent");
  line.flag("--json", call.json, "A line of JSON for each result");
  {
    const OptionGroup group(line, "Adding");
    line.text("--name", call.name, "The document's name, in place of the file's");
    line.texts("--meta", call.metadata,
               "KEY=VALUE that the document has, or that found ones must have; repeatable");
    line.integer("--chunk-bytes", call.chunks.most_bytes, 16, 1 << 20,
                 "The longest chunk: shorter ones are found more precisely and say less. They are "
                 "shorter where the model takes no more");
    line.integer("--overlap-bytes", call.chunks.overlap_bytes, 0, 1 << 19,
                 "What a chunk repeats of the one before, where a paragraph is cut");
    line.text(
        "--codes", call.codes,
        "How a new store's vectors are searched before the best are compared in float32: none "
        "(float32), f16, int8, int4, product or binary, from much memory to little; int8 when "
        "absent. A store keeps to it");
    line.choices({"none", "f16", "int8", "int4", "product", "binary"});
    line.flag("--sync", call.syncs, "Wait for the disk, so that a loss of power loses nothing");
  }
  {
    const OptionGroup group(line, "Searching");
    line.integer("--top,-k", call.k, 1, 10'000, "How many chunks");
    line.flag("--words-only", call.words_only, "By words alone, without a model");
    line.integer("--related", call.n_related, 0, 1000,
                 "How many chunks are added that edges lead to from those found");
    line.integer("--visit", call.most_visited, 1, 10'000,
                 "How many chunks are visited for --related: more find what is farther away, and "
                 "take longer");
    line.flag("--remember", call.remembers,
              "Strengthen the edges between the chunks that are found, for --related");
  }
  declare_keys(line, call);
  line.flag("--vectors", call.vectors,
            "Export vectors, too, so that import needs no model: a store of another model refuses "
            "them");
  line.flag("--yes,-y", call.yes, "Remove without asking");
  line.flag("--remove-damaged", call.removes_damaged,
            "Open a store with damaged vectors without those");
  add_embedder_flags(line, call.embedder);
}

Result<int> act(const CommandLine& line, MemoryCall& call) {
  call.key = TRY(read_key("--key", call.key_source));
  WorkerPool pool(call.embedder.engine.n_threads);
  if (call.action == "rm") return remove(line, call, pool);
  if (call.action == "import") return take_lines(line, call, pool);
  Status status;
  if (call.action == "add") status = add(line, call, pool);
  if (call.action == "search") status = search(line, call, pool);
  if (call.action == "list") status = list(call, pool);
  if (call.action == "stats") status = stats(call, pool);
  if (call.action == "pack") status = pack(call, pool);
  if (call.action == "rekey") status = change_key(call);
  if (call.action == "export") {
    status = export_documents(*TRY(open_known(call, pool)), call.vectors);
  }
  if (call.action == "backup") status = backup(call, pool);
  if (call.action == "restore") {
    show_snapshot(call, TRY(restore_from_objects(call.words[0], call.words[1])));
  }
  if (!status.ok()) return tl::unexpected(status);
  return kDone;
}

// What a store in PostgreSQL does not honour of a call; empty: nothing.
std::string wrong_for_url(const MemoryCall& call) {
  if (!PostgresStore::is_url(call.store)) {
    if (call.store.find("://") == call.store.npos) return {};
    return "--store: of URLs only postgresql:// is known";
  }
  struct Refused {
    bool is_given = false;
    std::string_view name, way_out = {};
  };
  const bool is_backup = call.action == "backup";
  const Refused all[] = {
      {is_backup, "backup", ": pg_dump copies it, and `ruvllm memory export --vectors`"},
      {call.action == "pack" || call.action == "rekey", call.action},
      {!call.key_source.empty(), "--key", ": the server's disk can be encrypted"},
      {!call.codes.empty(), "--codes"},
      {call.most_visited != 256, "--visit"},
      {call.syncs, "--sync", ": the server's synchronous_commit says that"},
      {call.removes_damaged, "--remove-damaged"},
      {call.n_related > 0, "--related"},
      {call.remembers, "--remember"}};
  for (const Refused& one : all) {
    if (!one.is_given) continue;
    return fmt::format("{} is for stores in a folder, not in PostgreSQL{}", one.name, one.way_out);
  }
  return {};
}

// What is wrong with the words of backup and restore; empty: nothing.
std::string wrong_snapshot_words(const MemoryCall& call) {
  const bool is_backup = call.action == "backup";
  if (!is_backup && call.action != "restore") return {};
  const bool is_url = is_object_url(call.words[0]);
  if (is_backup && call.words.size() > 1) return "backup: give one folder or URL";
  if (is_backup && !is_url && call.words[0].find("://") != std::string::npos) {
    return "backup: of URLs only s3://BUCKET/PREFIX is known";
  }
  if (is_backup) return {};
  if (!is_url || call.words.size() != 2) return "restore: give s3://BUCKET/PREFIX and a new folder";
  if (!call.store.empty()) return "restore takes no --store";
  return call.key_source.empty() ? "" : "restore takes no --key: a copy keeps its own";
}

// What is wrong with the words of an action; empty: nothing.
std::string wrong_words(const MemoryCall& call) {
  const std::string& action = call.action;
  const bool wants = action == "add" || action == "search" || action == "rm" ||
                     action == "backup" || action == "restore" || action == "import";
  const bool takes_none = action == "list" || action == "stats" || action == "pack" ||
                          action == "export" || action == "rekey";
  if (!wants && !takes_none) {
    return fmt::format("{}: give {}", action.empty() ? "no action" : action, kActions);
  }
  if (wants && call.words.empty()) return action + ": give what to " + action;
  if (!wants && !call.words.empty()) return action + " takes no " + call.words[0];
  if (const std::string wrong = wrong_snapshot_words(call); !wrong.empty()) return wrong;
  const bool rekeys = action == "rekey";
  if (rekeys && (call.key_source.empty() || call.new_key_source.empty())) {
    return "rekey: give --key and --new-key";
  }
  if (!rekeys && !call.new_key_source.empty()) return "--new-key is for rekey";
  if (call.vectors && action != "export") return "--vectors is for export";
  if (!call.codes.empty()) {
    const auto codes = vector_codes_of(call.codes);
    if (!codes) return "--codes: " + codes.error().message();
  }
  if (!call.name.empty() && call.words.size() > 1) return "--name is for one document";
  return wrong_for_url(call);
}

}  // namespace

int memory_command(int argc, char** argv) {
  MemoryCall call;
  CommandLine line("memory", "Keeps documents, and finds the parts of them that fit a question.");
  declare(line, call);
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (const std::string wrong = wrong_words(call); !wrong.empty()) return line.wrong_call(wrong);
  const Result<int> code = act(line, call);
  return code ? *code : line.failed(code.error());
}

}  // namespace ruv

// What Ollama's clients send, as chat requests, raw prompts and texts for vectors. Names that
// differ are listed here; values are checked by the readers of those requests.
#include <algorithm>
#include <array>
#include <deque>

#include "base/json.h"
#include "net/ollama/ollama.h"

namespace ruv {
namespace {

constexpr FieldRow kModel{
    "model", kHonoured, "the served model's name, also with \":latest\"; absent: the served model"};
constexpr FieldRow kOptions{"options", kHonoured, "an object; its members are below"};
constexpr FieldRow kVectorOptions{"options", kHonoured,
                                  "the same object; only num_ctx says something of vectors"};
constexpr FieldRow kKeepAlive{"keep_alive", kHonoured,
                              "how long the model stays loaded after its last request, in seconds "
                              "or as \"5m\"; negative: for "
                              "good; 0: it is unloaded then"};
constexpr FieldRow kStream{"stream", kHonoured, "true, the default: an object a line"};
constexpr FieldRow kFormat{"format", kHonoured, "\"json\" or a JSON schema", R"([""])"};
constexpr FieldRow kThink{"think", kHonoured, "as in chat requests"};
constexpr FieldRow kShift{"shift", kHonoured,
                          "true: an answer continues where the context is full, without its oldest "
                          "half; false, the default: it ends there",
                          "[false]"};
constexpr FieldRow kTruncate{"truncate", kUnsupported, "prompts are never cut", "[false]"};
constexpr FieldRow kLogprobs{"logprobs", kUnsupported, "", "[false]"};
constexpr FieldRow kTopLogprobs{"top_logprobs", kUnsupported, "", "[0]"};

// The fields of each route. Images, templates and contexts of ids are refused.
constexpr std::array kOllamaChatFields{
    kModel,
    FieldRow{"messages", kHonoured, "the conversation; none: the model is loaded already"},
    FieldRow{"tools", kHonoured, "a list of functions that the answer may call", "[[]]"},
    kFormat,
    kOptions,
    kStream,
    kThink,
    kShift,
    kTruncate,
    kKeepAlive,
    kLogprobs,
    kTopLogprobs,
};
constexpr std::array kOllamaGenerateFields{
    kModel,
    FieldRow{"prompt", kHonoured, "a text; none: the model is loaded already", R"([""])"},
    FieldRow{"system", kHonoured, "the system prompt; not with raw", R"([""])"},
    FieldRow{"raw", kHonoured, "true: the prompt is continued as it is", "[false]"},
    kFormat,
    kOptions,
    kStream,
    kThink,
    kShift,
    kTruncate,
    kKeepAlive,
    FieldRow{"suffix", kHonoured,
             "a text: the answer fills the gap between the prompt and it; not with system",
             R"([""])"},
    FieldRow{"images", kUnsupported, "", "[[]]"},
    FieldRow{"template", kUnsupported, "the model's own is used", R"([""])"},
    FieldRow{"context", kUnsupported, "prefixes are kept without it", "[[]]"},
    kLogprobs,
    kTopLogprobs,
};
constexpr std::array kOllamaEmbedFields{
    kModel,
    FieldRow{"input", kHonoured, "required: a text, or a list of up to 2048"},
    FieldRow{"truncate", kHonoured, "true, the default: longer texts lose their end"},
    FieldRow{"dimensions", kHonoured, "this many numbers of each vector, the first ones", "[0]"},
    kVectorOptions,
    kKeepAlive,
};
constexpr std::array kOldEmbedFields{kModel, FieldRow{"prompt", kHonoured, "required: a text"},
                                     kVectorOptions, kKeepAlive};
constexpr std::array kShowFields{kModel, FieldRow{"name", kHonoured, "another name of model"},
                                 FieldRow{"verbose", kUnsupported, "", "[false]"}};

constexpr BodyTable kOllamaChat{"ollama_chat", kOllamaChatFields, kMaxConversationValues};
constexpr BodyTable kOllamaGenerate{"ollama_generate", kOllamaGenerateFields,
                                    kMaxConversationValues};
constexpr BodyTable kOllamaEmbed{"ollama_embed", kOllamaEmbedFields, kMaxConversationValues};
constexpr BodyTable kOldEmbed{"ollama_embeddings", kOldEmbedFields, kMaxConversationValues};
constexpr BodyTable kShow{"ollama_show", kShowFields, kMaxConversationValues};

// Those that are honoured have the names of chat requests, where nothing else is said.
constexpr std::array kOptionRows{
    FieldRow{"num_predict", kHonoured, "tokens to generate at most", "[-1, -2]"},
    FieldRow{"num_ctx", kHonoured, "at most the context of this server, which stays as it is"},
    FieldRow{"temperature", kHonoured, ""},
    FieldRow{"top_k", kHonoured, ""},
    FieldRow{"top_p", kHonoured, ""},
    FieldRow{"min_p", kHonoured, ""},
    FieldRow{"typical_p", kHonoured, ""},
    FieldRow{"seed", kHonoured, "", "[-1]"},
    FieldRow{"stop", kHonoured, "a text, or a list", "[[]]"},
    FieldRow{"repeat_penalty", kHonoured, ""},
    FieldRow{"repeat_last_n", kHonoured, "-1: the whole context"},
    FieldRow{"presence_penalty", kHonoured, ""},
    FieldRow{"frequency_penalty", kHonoured, ""},
    FieldRow{"mirostat", kHonoured, ""},
    FieldRow{"mirostat_tau", kHonoured, ""},
    FieldRow{"mirostat_eta", kHonoured, ""},
    FieldRow{"tfs_z", kUnsupported, "", "[1]"},
    FieldRow{"penalize_newline", kUnsupported, "", "[true]"},
    FieldRow{"num_keep", kHonoured, "tokens at the beginning that shift keeps"},
    FieldRow{"num_batch", kNoEffect, "the server's own"},
    FieldRow{"num_thread", kNoEffect, "the server's own"},
    FieldRow{"num_gpu", kNoEffect, "the server's own"},
    FieldRow{"main_gpu", kNoEffect, "the server's own"},
    FieldRow{"low_vram", kNoEffect, "the server's own"},
    FieldRow{"use_mmap", kNoEffect, "the server's own"},
    FieldRow{"use_mlock", kNoEffect, "the server's own"},
    FieldRow{"numa", kNoEffect, "the server's own"},
};
// Tokens of repeat_last_n that are the whole context.
constexpr int64_t kWholeContext = 1 << 30;

constexpr FieldRow kOllamaMessageRows[] = {{"role", kHonoured, ""},
                                           {"content", kHonoured, ""},
                                           {"thinking", kHonoured, ""},
                                           {"tool_calls", kHonoured, ""},
                                           {"tool_name", kHonoured, ""},
                                           {"tool_call_id", kHonoured, ""},
                                           {"images", kUnsupported, "", "[[]]"}};

// A member of `options` as a member of the chat request.
ApiResult<void> add_option(std::string_view name, const Json& value, int64_t n_ctx, Json& chat) {
  if (name == "num_predict") {
    chat["max_tokens"] = value;
  } else if (name == "num_keep") {
    chat["n_keep"] = value;
  } else if (name == "num_ctx") {
    const int64_t n = TRY(integer_within("options.num_ctx", value, {1, INT64_MAX}));
    if (n > n_ctx) {
      return tl::unexpected(bad_request(
          "options.num_ctx",
          fmt::format("'options.num_ctx' is {}, but the context of this server holds {} tokens; "
                      "start it with a longer --ctx",
                      n, n_ctx)));
    }
  } else if (name == "repeat_last_n" && value == -1) {
    chat["repeat_last_n"] = kWholeContext;
  } else {
    chat[name] = value;
  }
  return {};
}

// Members without an effect are checked by name only.
ApiResult<void> read_options(const Json& body, int64_t n_ctx, Json& chat) {
  const Json* options = find_field(body, "options");
  if (options == nullptr) return {};
  if (!options->is_object()) return wrong_type("options", "an object", *options);
  TRY(check_fields(*options, kOptionRows, "options."));
  for (const auto& [name, value] : options->items()) {
    const auto row = std::ranges::find(kOptionRows, name, &FieldRow::name);
    if (row->use != kHonoured || is_neutral(*row, value)) continue;
    TRY(add_option(name, value, n_ctx, chat));
  }
  return {};
}

// What both routes share.
ApiResult<void> read_common(const Json& body, int64_t n_ctx, Json& chat) {
  for (const char* name : {"model", "format", "think"}) {
    if (const Json* value = find_field(body, name)) chat[name] = *value;
  }
  if (const Json* shift = find_field(body, "shift")) chat["context_shift"] = *shift;
  chat["stream"] = TRY(read_flag(body, "stream", true));
  return read_options(body, n_ctx, chat);
}

// Calls have no ids here: results answer the calls before them, by name or in their order.
class CallIds {
 public:
  // The call with an id.
  ApiResult<Json> name_call(Json call, const std::string& where) {
    if (!call.is_object()) return wrong_type(where, "an object", call);
    const Json* function = find_field(call, "function");
    if (function == nullptr || !function->is_object()) return missing_field(where + ".function");
    const Json* name = find_field(*function, "name");
    const Json* id = find_field(call, "id");
    const std::string chosen = id != nullptr && id->is_string()
                                   ? id->get<std::string>()
                                   : fmt::format("call_{}", n_calls_++);
    waiting_.push_back(
        {name != nullptr && name->is_string() ? name->get<std::string>() : "", chosen});
    call["id"] = chosen;
    call["type"] = "function";
    // Ollama's clients send the place of a call inside its function.
    call["function"].erase("index");
    return call;
  }

  // The id of the call that a result answers.
  std::string id_for(const std::string& tool_name) {
    for (auto call = waiting_.begin(); call != waiting_.end(); ++call) {
      if (!tool_name.empty() && call->name != tool_name) continue;
      std::string id = std::move(call->id);
      waiting_.erase(call);
      return id;
    }
    return fmt::format("call_{}", n_calls_++);
  }

 private:
  struct Waiting {
    std::string name, id;
  };
  std::deque<Waiting> waiting_;
  size_t n_calls_ = 0;
};

// Members that the chat request has under another name are renamed.
ApiResult<Json> chat_message(const Json& message, const std::string& where, CallIds& ids) {
  if (!message.is_object()) return wrong_type(where, "an object", message);
  TRY(check_fields(message, kOllamaMessageRows, where + "."));
  Json chat = Json::object();
  for (const char* name : {"role", "content", "tool_call_id"}) {
    if (const Json* value = find_field(message, name)) chat[name] = *value;
  }
  const Json* thinking = find_field(message, "thinking");
  if (thinking != nullptr && *thinking != "") chat["reasoning_content"] = *thinking;
  if (const Json* calls = find_field(message, "tool_calls")) {
    if (!calls->is_array()) return wrong_type(where + ".tool_calls", "an array", *calls);
    for (size_t i = 0; i < calls->size(); ++i) {
      const std::string place = fmt::format("{}.tool_calls[{}]", where, i);
      chat["tool_calls"].push_back(TRY(ids.name_call((*calls)[i], place)));
    }
  }
  const Json* name = find_field(message, "tool_name");
  if (name != nullptr && !name->is_string()) {
    return wrong_type(where + ".tool_name", "a string", *name);
  }
  if (find_field(message, "role") != nullptr && message.at("role") == "tool" &&
      !chat.contains("tool_call_id")) {
    chat["tool_call_id"] = ids.id_for(name == nullptr ? "" : name->get<std::string>());
  }
  if (name != nullptr) chat["name"] = *name;
  return chat;
}

}  // namespace

const BodyTable& ollama_chat_fields() { return kOllamaChat; }
const BodyTable& ollama_generate_fields() { return kOllamaGenerate; }
const BodyTable& ollama_embed_fields() { return kOllamaEmbed; }
const BodyTable& ollama_old_embed_fields() { return kOldEmbed; }
const BodyTable& ollama_show_fields() { return kShow; }
std::span<const FieldRow> ollama_options() { return kOptionRows; }

ApiResult<Json> chat_of_ollama(const Json& body, int64_t n_ctx) {
  const Json* messages = find_field(body, "messages");
  if (messages == nullptr) return missing_field("messages");
  if (!messages->is_array()) return wrong_type("messages", "an array", *messages);
  Json chat = {{"messages", Json::array()}};
  CallIds ids;
  for (size_t i = 0; i < messages->size(); ++i) {
    chat["messages"].push_back(
        TRY(chat_message((*messages)[i], fmt::format("messages[{}]", i), ids)));
  }
  if (const Json* tools = find_field(body, "tools")) chat["tools"] = *tools;
  TRY(read_common(body, n_ctx, chat));
  return chat;
}

ApiResult<void> check_vector_options(const Json& body, int64_t n_ctx) {
  Json unused = Json::object();
  return read_options(body, n_ctx, unused);
}

// A prompt is the message of a user.
ApiResult<Json> chat_of_generate(const Json& body, int64_t n_ctx) {
  Json chat = {{"messages", Json::array()}};
  for (const auto& [role, field] : {std::pair("system", "system"), std::pair("user", "prompt")}) {
    const Json* text = find_field(body, field);
    if (text == nullptr) continue;
    if (!text->is_string()) return wrong_type(field, "a string", *text);
    chat["messages"].push_back(Json{{"role", role}, {"content", *text}});
  }
  TRY(read_common(body, n_ctx, chat));
  return chat;
}

// The prompt is continued as it is, so nothing may be put before it.
ApiResult<Json> raw_of_generate(const Json& body, int64_t n_ctx) {
  for (const char* name : {"system", "think"}) {
    if (find_field(body, name) == nullptr) continue;
    return tl::unexpected(
        bad_request(name, fmt::format("'{}' does not apply to a raw prompt", name)));
  }
  const Json* prompt = find_field(body, "prompt");
  if (!prompt->is_string()) return wrong_type("prompt", "a string", *prompt);
  Json raw = {{"prompt", *prompt}};
  if (const Json* suffix = find_field(body, "suffix")) raw["suffix"] = *suffix;
  TRY(read_common(body, n_ctx, raw));
  return raw;
}

}  // namespace ruv

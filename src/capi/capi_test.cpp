// The C interface with the built-in model: what it gives, what it refuses, and that handles may end
// in any order.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/test_safetensors.h"
#include "ruvllm.h"

namespace ruv {
namespace {

constexpr const char* kModelFile = RUV_SOURCE_DIR "/models/ruvltra-nano-q8_0.gguf";

// What a failed call has said.
struct Said {
  ruvllm_status status = RUVLLM_OK;
  std::string code, field, message;
};

// Calls `call` with a place for the error.
template <class Call>
Said said(Call call) {
  ruvllm_error* error = nullptr;
  const ruvllm_status status = call(&error);
  Said out{status, ruvllm_error_code(error), ruvllm_error_field(error),
           ruvllm_error_message(error)};
  EXPECT_EQ(error != nullptr, status >= RUVLLM_INVALID);
  ruvllm_error_free(error);
  return out;
}

std::string taken(ruvllm_text* text) {
  std::string out(ruvllm_text_data(text), ruvllm_text_size(text));
  ruvllm_text_free(text);
  return out;
}

Json json_of(const std::string& text) {
  auto json = parse_json(text, "answer");
  EXPECT_TRUE(json.has_value()) << text;
  return json ? *json : Json();
}

class CInterface : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ruvllm_error* error = nullptr;
    ASSERT_EQ(ruvllm_model_load(kModelFile, R"({"n_ctx": 512, "max_sequences": 4})", nullptr,
                                nullptr, &model_, &error),
              RUVLLM_OK)
        << ruvllm_error_message(error);
  }
  static void TearDownTestSuite() {
    ruvllm_model_free(model_);
    model_ = nullptr;
  }

  static Said chat(const char* request) {
    ruvllm_text* answer = nullptr;
    const Said out = said([&](ruvllm_error** error) {
      return ruvllm_chat(model_, request, nullptr, nullptr, &answer, error);
    });
    EXPECT_EQ(answer != nullptr, out.status == RUVLLM_OK);
    ruvllm_text_free(answer);
    return out;
  }
  static Said load(const char* path, const char* options) {
    ruvllm_model* model = nullptr;
    return said([&](ruvllm_error** error) {
      return ruvllm_model_load(path, options, nullptr, nullptr, &model, error);
    });
  }
  static ruvllm_call* begun(const char* path, const char* body) {
    ruvllm_call* call = nullptr;
    EXPECT_EQ(ruvllm_call_begin(model_, "POST", path, body, &call, nullptr), RUVLLM_OK);
    return call;
  }

  static ruvllm_model* model_;
};
ruvllm_model* CInterface::model_ = nullptr;

constexpr const char* kQuestion =
    R"({"messages": [{"role": "user", "content": "What is the capital of France?"}],
        "temperature": 0, "max_tokens": 24})";
constexpr const char* kEndless =
    R"({"prompt": "One, two,", "max_tokens": 400, "ignore_eos": true, "stream": true})";

TEST_F(CInterface, TheVersionOfTheHeaderIsTheLibrarys) {
  EXPECT_EQ(ruvllm_abi_version(), static_cast<uint32_t>(RUVLLM_ABI_VERSION));
  EXPECT_STRNE(ruvllm_version(), "");
}

TEST_F(CInterface, InfoIsJson) {
  ruvllm_text* text = nullptr;
  ASSERT_EQ(ruvllm_model_info(model_, &text, nullptr), RUVLLM_OK);
  const Json info = json_of(taken(text));
  EXPECT_EQ(info["n_ctx"], Json(512));
  EXPECT_EQ(info["name"].text(), "ruvltra-nano-q8_0");
  EXPECT_GT(info["embedding"]["dimensions"].get<int64_t>(), 0);
}

TEST_F(CInterface, TheStreamedTextIsTheAnswersText) {
  std::string streamed;
  const auto on_text = [](const char* text, size_t size, void* user) {
    static_cast<std::string*>(user)->append(text, size);
    return 0;
  };
  ruvllm_text* answer = nullptr;
  ASSERT_EQ(ruvllm_chat(model_, kQuestion, on_text, &streamed, &answer, nullptr), RUVLLM_OK);
  const std::string whole = taken(answer);
  EXPECT_EQ(streamed, whole);
  EXPECT_NE(whole.find("Paris"), std::string::npos) << whole;

  ruvllm_text* json = nullptr;
  ASSERT_EQ(ruvllm_request(model_, "POST", "/v1/chat/completions", kQuestion, &json, nullptr),
            RUVLLM_OK);
  EXPECT_EQ(json_of(taken(json))["choices"][0]["message"]["content"].text(), whole);
}

TEST_F(CInterface, ACallbackEndsTheAnswer) {
  int calls = 0;
  const auto on_text = [](const char*, size_t, void* user) { return ++*static_cast<int*>(user); };
  ruvllm_text* answer = nullptr;
  ASSERT_EQ(ruvllm_generate(model_, kEndless, on_text, &calls, &answer, nullptr), RUVLLM_OK);
  EXPECT_EQ(calls, 1);
  EXPECT_LT(taken(answer).size(), 100u);
}

TEST_F(CInterface, WhatIsWrongIsNamed) {
  EXPECT_EQ(chat("not json").status, RUVLLM_INVALID);
  EXPECT_EQ(chat("[]").status, RUVLLM_INVALID);
  const Said unknown = chat(R"({"messages": [{"role": "user", "content": "a"}], "temprature": 1})");
  EXPECT_EQ(unknown.status, RUVLLM_INVALID);
  EXPECT_EQ(unknown.code, "unknown_field");
  EXPECT_EQ(unknown.field, "temprature");
  EXPECT_EQ(chat(R"({"messages": [{"role": "user", "content": "a"}], "top_p": 2})").field, "top_p");
  EXPECT_EQ(chat(R"({"messages": [], "n": 2})").field, "n");
  EXPECT_EQ(chat(R"({"messages": [], "tools": [{}]})").field, "tools");
  EXPECT_EQ(chat("{\"messages\": [{\"role\": \"user\", \"content\": \"\xff\"}]}").status,
            RUVLLM_INVALID);
  EXPECT_EQ(load(kModelFile, R"({"adapters": ["a.gguf"]})").field, "adapters");
  EXPECT_EQ(load(kModelFile, R"({"adapters": {"a": 1}})").field, "adapters");
  EXPECT_EQ(load(kModelFile, R"({"adapters": {"a": "/no/such"}})").status, RUVLLM_NOT_FOUND);
  EXPECT_EQ(load(kModelFile, R"({"n_ctz": 1})").field, "n_ctz");
  EXPECT_EQ(load(kModelFile, R"({"n_ctx": "many"})").field, "n_ctx");
  EXPECT_EQ(load(kModelFile, R"({"kv_type": "f99"})").field, "kv_type");
  EXPECT_EQ(load("/no/such/file.gguf", nullptr).status, RUVLLM_NOT_FOUND);
  EXPECT_EQ(load(RUV_SOURCE_DIR "/LICENSE", nullptr).status, RUVLLM_CORRUPT);
}

// The greedy answer of a model to a completion with these fields.
std::string completion(ruvllm_model* model, const std::string& fields) {
  const std::string request =
      R"({"prompt": "Once upon a time", "max_tokens": 12, "temperature": 0)" + fields + "}";
  ruvllm_text* answer = nullptr;
  const Said done = said([&](ruvllm_error** error) {
    return ruvllm_generate(model, request.c_str(), nullptr, nullptr, &answer, error);
  });
  if (done.status != RUVLLM_OK) return done.message;
  return taken(answer);
}

// A folder of PEFT that lives as long as one test.
struct AdapterFolder {
  AdapterFolder() { path = ::mkdtemp(path.data()); }
  ~AdapterFolder() { std::filesystem::remove_all(path); }
  void write(const char* name, const std::string& bytes) const {
    std::ofstream(path + "/" + name, std::ios::binary) << bytes;
  }

  std::string path = (std::filesystem::temp_directory_path() / "ruv_capi_XXXXXX").string();
};

// One that turns the queries of the first layer, and the outputs of the last.
TEST_F(CInterface, RequestsNameAdapters) {
  const AdapterFolder folder;
  const auto matrix = [](const char* name, int64_t n_rows, int64_t n_cols) {
    TestMatrix counted_up = counted(std::string("base_model.model.model.") + name, n_rows, n_cols);
    for (float& x : counted_up.numbers) x = std::sin(x);
    return counted_up;
  };
  folder.write("adapter_model.safetensors",
               safetensors_of({matrix("layers.0.self_attn.q_proj.lora_A.weight", 1, 256),
                               matrix("layers.0.self_attn.q_proj.lora_B.weight", 256, 1),
                               matrix("layers.7.mlp.down_proj.lora_A.weight", 1, 768),
                               matrix("layers.7.mlp.down_proj.lora_B.weight", 256, 1)}));
  folder.write("adapter_config.json", R"({"peft_type": "LORA", "r": 1, "lora_alpha": 2})");
  const std::string options =
      R"({"n_ctx": 256, "adapters": {"turned": ")" + folder.path + R"("}, "adapter_mib": 1})";
  ruvllm_model* model = nullptr;
  const Said loaded = said([&](ruvllm_error** error) {
    return ruvllm_model_load(kModelFile, options.c_str(), nullptr, nullptr, &model, error);
  });
  ASSERT_EQ(loaded.status, RUVLLM_OK) << loaded.message;
  const std::string plain = completion(model_, "");
  EXPECT_EQ(completion(model, ""), plain);
  EXPECT_EQ(completion(model, R"(, "lora": [{"name": "turned", "scale": 0}])"), plain);
  const std::string turned = completion(model, R"(, "lora": [{"name": "turned"}])");
  EXPECT_NE(turned, plain);
  EXPECT_EQ(completion(model, R"(, "model": "turned")"), turned);
  EXPECT_NE(completion(model, R"(, "lora": [{"name": "other"}])").find("other"), std::string::npos);
  ruvllm_text* list = nullptr;
  ASSERT_EQ(ruvllm_request(model, "GET", "/lora-adapters", nullptr, &list, nullptr), RUVLLM_OK);
  EXPECT_NE(taken(list).find("turned"), std::string::npos);
  ruvllm_model_free(model);
}

TEST_F(CInterface, NullIsRefusedOrDoesNothing) {
  ruvllm_text* text = nullptr;
  EXPECT_EQ(said([&](ruvllm_error** error) {
              return ruvllm_chat(nullptr, "{}", nullptr, nullptr, &text, error);
            }).field,
            "model");
  EXPECT_EQ(said([&](ruvllm_error** error) {
              return ruvllm_chat(model_, nullptr, nullptr, nullptr, &text, error);
            }).field,
            "request");
  EXPECT_EQ(ruvllm_chat(model_, "{}", nullptr, nullptr, nullptr, nullptr), RUVLLM_INVALID);
  EXPECT_EQ(ruvllm_call_begin(model_, "POST", nullptr, nullptr, nullptr, nullptr), RUVLLM_INVALID);
  EXPECT_EQ(ruvllm_model_load(kModelFile, nullptr, nullptr, nullptr, nullptr, nullptr),
            RUVLLM_INVALID);
  ruvllm_error_free(nullptr);
  ruvllm_text_free(nullptr);
  ruvllm_tokens_free(nullptr);
  ruvllm_vectors_free(nullptr);
  ruvllm_call_free(nullptr);
  ruvllm_call_cancel(nullptr);
  ruvllm_model_free(nullptr);
  ruvllm_server_stop(nullptr);
  EXPECT_EQ(ruvllm_text_data(nullptr), nullptr);
  EXPECT_EQ(ruvllm_vectors_rows(nullptr), 0u);
  EXPECT_STREQ(ruvllm_error_message(nullptr), "");
}

TEST_F(CInterface, TokensGiveTheTextBack) {
  const std::string text("Grüße,\0 world \xff", 17);
  ruvllm_tokens* tokens = nullptr;
  ASSERT_EQ(ruvllm_tokenize(model_, text.data(), text.size(), 0, &tokens, nullptr), RUVLLM_OK);
  ruvllm_text* back = nullptr;
  ASSERT_EQ(ruvllm_detokenize(model_, ruvllm_tokens_data(tokens), ruvllm_tokens_size(tokens), 0,
                              &back, nullptr),
            RUVLLM_OK);
  EXPECT_EQ(taken(back), std::string("Grüße,\0 world \xEF\xBF\xBD", 19));
  ruvllm_tokens_free(tokens);
  const int32_t beyond = 1 << 30;
  EXPECT_EQ(ruvllm_detokenize(model_, &beyond, 1, 0, &back, nullptr), RUVLLM_INVALID);
  EXPECT_EQ(ruvllm_tokenize(model_, "a", 1, 64, &tokens, nullptr), RUVLLM_INVALID);
  ASSERT_EQ(ruvllm_tokenize(model_, nullptr, 0, 0, &tokens, nullptr), RUVLLM_OK);
  EXPECT_EQ(ruvllm_tokens_size(tokens), 0u);
  ruvllm_tokens_free(tokens);
}

TEST_F(CInterface, VectorsAreTheApisVectors) {
  constexpr const char* kRequest = R"({"input": ["A cat", "A dog", "A cat"]})";
  ruvllm_vectors* vectors = nullptr;
  ASSERT_EQ(ruvllm_embed(model_, kRequest, &vectors, nullptr), RUVLLM_OK);
  ASSERT_EQ(ruvllm_vectors_rows(vectors), 3u);
  const size_t n = ruvllm_vectors_columns(vectors);
  const float* const rows = ruvllm_vectors_data(vectors);
  EXPECT_EQ(std::memcmp(rows, rows + 2 * n, n * sizeof(float)), 0);
  EXPECT_NE(std::memcmp(rows, rows + n, n * sizeof(float)), 0);
  ruvllm_text* text = nullptr;
  ASSERT_EQ(ruvllm_request(model_, "POST", "/v1/embeddings", kRequest, &text, nullptr), RUVLLM_OK);
  const Json listed = json_of(taken(text))["data"][1]["embedding"];
  ASSERT_EQ(listed.size(), n);
  for (size_t i = 0; i < n; ++i) EXPECT_FLOAT_EQ(listed[i].get<float>(), rows[n + i]);
  ruvllm_vectors_free(vectors);

  const Said wrong = said([&](ruvllm_error** error) {
    return ruvllm_embed(model_, R"({"input": "a", "dimensions": -1})", &vectors, error);
  });
  EXPECT_EQ(wrong.field, "dimensions");
}

TEST_F(CInterface, ACallGivesEventsUntilItsEnd) {
  ruvllm_call* const call =
      begun("/v1/completions", R"({"prompt": "a", "max_tokens": 3, "stream": true})");
  const char* data = nullptr;
  size_t size = 0;
  int n_events = 0;
  ruvllm_status status;
  while ((status = ruvllm_call_next(call, 1, &data, &size, nullptr)) < RUVLLM_INVALID) {
    if (status == RUVLLM_END) break;
    if (status == RUVLLM_PENDING) continue;
    ++n_events;
    EXPECT_EQ(json_of(std::string(data, size))["object"].text(), "text_completion");
  }
  EXPECT_EQ(status, RUVLLM_END);
  EXPECT_GE(n_events, 1);
  EXPECT_EQ(ruvllm_call_next(call, -1, &data, &size, nullptr), RUVLLM_END);
  EXPECT_EQ(data, nullptr);
  ruvllm_vectors* vectors = nullptr;
  EXPECT_EQ(ruvllm_call_take_vectors(call, &vectors, nullptr), RUVLLM_INVALID);
  ruvllm_call_free(call);
}

TEST_F(CInterface, AWaitingCallIsCancelledByAnotherThread) {
  ruvllm_call* const call = begun("/v1/completions", kEndless);
  std::atomic<int> n_events{0};
  std::thread other([&] {
    while (n_events == 0) std::this_thread::yield();
    ruvllm_call_cancel(call);
  });
  const char* data = nullptr;
  size_t size = 0;
  ruvllm_status status;
  while ((status = ruvllm_call_next(call, -1, &data, &size, nullptr)) == RUVLLM_OK) ++n_events;
  other.join();
  EXPECT_EQ(status, RUVLLM_CANCELLED);
  EXPECT_EQ(said([&](ruvllm_error** error) {
              return ruvllm_call_next(call, 0, &data, &size, error);
            }).status,
            RUVLLM_CANCELLED);
  ruvllm_call_free(call);
}

// Also where more had come than was taken.
TEST_F(CInterface, NoEventFollowsACancel) {
  for (int i = 0; i < 10; ++i) {
    ruvllm_call* const call = begun("/v1/completions", kEndless);
    const char* data = nullptr;
    size_t size = 0;
    ruvllm_status status = RUVLLM_OK;
    for (int n = 0; n <= i && status == RUVLLM_OK; ++n) {
      status = ruvllm_call_next(call, -1, &data, &size, nullptr);
    }
    ruvllm_call_cancel(call);
    const ruvllm_status wanted = status == RUVLLM_END ? RUVLLM_END : RUVLLM_CANCELLED;
    EXPECT_EQ(ruvllm_call_next(call, -1, &data, &size, nullptr), wanted);
    ruvllm_call_free(call);
  }
}

TEST_F(CInterface, TheAnswersOfManyThreadsAreTheSame) {
  ruvllm_text* text = nullptr;
  ASSERT_EQ(ruvllm_chat(model_, kQuestion, nullptr, nullptr, &text, nullptr), RUVLLM_OK);
  const std::string wanted = taken(text);
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&wanted] {
      ruvllm_text* mine = nullptr;
      ASSERT_EQ(ruvllm_chat(model_, kQuestion, nullptr, nullptr, &mine, nullptr), RUVLLM_OK);
      EXPECT_EQ(taken(mine), wanted);
      EXPECT_EQ(chat("{").status, RUVLLM_INVALID);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(CInterface, PathsOfTheServerAloneAreUnknown) {
  ruvllm_text* text = nullptr;
  EXPECT_EQ(said([&](ruvllm_error** error) {
              return ruvllm_request(model_, "POST", "/v1/responses", "{}", &text, error);
            }).status,
            RUVLLM_NOT_FOUND);
  EXPECT_EQ(said([&](ruvllm_error** error) {
              return ruvllm_request(model_, "GET", "/v1/sessions", nullptr, &text, error);
            }).code,
            "sessions_off");
}

TEST_F(CInterface, AServerEndsBeforeOrAfterItsModelsHandle) {
  ruvllm_server* server = nullptr;
  ASSERT_EQ(ruvllm_server_start(model_, nullptr, &server, nullptr), RUVLLM_OK);
  EXPECT_NE(ruvllm_server_port(server), 0);
  ruvllm_server* second = nullptr;
  const std::string taken_port = "{\"port\": " + std::to_string(ruvllm_server_port(server)) + "}";
  EXPECT_EQ(said([&](ruvllm_error** error) {
              return ruvllm_server_start(model_, taken_port.c_str(), &second, error);
            }).status,
            RUVLLM_UNAVAILABLE);
  EXPECT_EQ(said([&](ruvllm_error** error) {
              return ruvllm_server_start(model_, R"({"host": "0.0.0.0"})", &second, error);
            }).field,
            "host");
  ruvllm_server_stop(server);

  ruvllm_model* own = nullptr;
  ASSERT_EQ(ruvllm_model_load(kModelFile, R"({"n_ctx": 64})", nullptr, nullptr, &own, nullptr),
            RUVLLM_OK);
  ASSERT_EQ(ruvllm_server_start(own, nullptr, &server, nullptr), RUVLLM_OK);
  ruvllm_call* call = nullptr;
  ASSERT_EQ(ruvllm_call_begin(own, "POST", "/v1/completions", kEndless, &call, nullptr), RUVLLM_OK);
  ruvllm_model_free(own);
  const char* data = nullptr;
  size_t size = 0;
  EXPECT_LT(ruvllm_call_next(call, -1, &data, &size, nullptr), RUVLLM_INVALID + 1);
  ruvllm_server_stop(server);
  ruvllm_call_free(call);
}

}  // namespace
}  // namespace ruv

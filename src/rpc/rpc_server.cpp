#include "rpc/rpc_server.h"

#include <fmt/format.h>
#include <google/protobuf/message.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <ruvllm/v1/ruvllm.grpc.pb.h>

#include <array>

#include "base/file.h"
#include "rpc/rpc_call.h"

namespace ruv {
namespace {

using ruvllm::v1::Ruvllm;

constexpr std::chrono::milliseconds kHealthPeriod{500};
constexpr int kTranslators = 2;
// Memory of all connections, as gRPC counts it, and its threads for health and reflection.
constexpr size_t kQuotaBytes = 256 << 20;
constexpr int kQuotaThreads = 8;
constexpr int kMaxMetadataBytes = 16 << 10;

constexpr std::array<std::string_view, 2> kNoStream{"stream", "stream_options"};
constexpr std::array<std::string_view, 1> kNoBase64{"encoding_format"};
constexpr std::array<std::string_view, 1> kNoPieces{"with_pieces"};
constexpr const char* kStreamed = R"("stream":true,"stream_options":{"include_usage":true})";

constexpr RpcMethod kGenerate{"/ruvllm.v1.Ruvllm/Generate", "/v1/completions", kStreamed, true,
                              kNoStream};
constexpr RpcMethod kChat{"/ruvllm.v1.Ruvllm/Chat", "/v1/chat/completions", kStreamed, true,
                          kNoStream};
constexpr RpcMethod kEmbed{"/ruvllm.v1.Ruvllm/Embed", "/v1/embeddings", "", false, kNoBase64};
constexpr RpcMethod kTokenize{"/ruvllm.v1.Ruvllm/Tokenize", "/tokenize", "", false, kNoPieces};
constexpr RpcMethod kDetokenize{"/ruvllm.v1.Ruvllm/Detokenize", "/detokenize", "", false, {}};

// Both own themselves until gRPC is done with them.
template <class Answer>
class StreamReactor final : public grpc::ServerWriteReactor<Answer>, public RpcWire {
 public:
  StreamReactor(RpcHost& host, const RpcMethod& method, grpc::CallbackServerContext& context)
      : call_(std::make_shared<RpcCall>(host, method, context, *this)) {}
  RpcCall& call() { return *call_; }

  google::protobuf::Message& message() override { return answer_; }
  void start_write() override { this->StartWrite(&answer_); }
  void finish(const grpc::Status& status) override { this->Finish(status); }
  void OnWriteDone(bool ok) override { call_->on_written(ok); }
  void OnCancel() override { call_->on_cancel(); }
  void OnDone() override { delete this; }

 private:
  Answer answer_;
  std::shared_ptr<RpcCall> call_;
};

class AnswerReactor final : public grpc::ServerUnaryReactor, public RpcWire {
 public:
  AnswerReactor(RpcHost& host, const RpcMethod& method, grpc::CallbackServerContext& context,
                google::protobuf::Message& answer)
      : answer_(answer), call_(std::make_shared<RpcCall>(host, method, context, *this)) {}
  RpcCall& call() { return *call_; }

  google::protobuf::Message& message() override { return answer_; }
  void start_write() override {}  // an answer as a whole goes with its status
  void finish(const grpc::Status& status) override { this->Finish(status); }
  void OnCancel() override { call_->on_cancel(); }
  void OnDone() override { delete this; }

 private:
  google::protobuf::Message& answer_;
  std::shared_ptr<RpcCall> call_;
};

// What gRPC calls, on its own threads.
class Methods final : public Ruvllm::CallbackService {
 public:
  explicit Methods(RpcHost& host) : host_(host) {}

  grpc::ServerWriteReactor<ruvllm::v1::GenerateEvent>* Generate(
      grpc::CallbackServerContext* context, const ruvllm::v1::GenerateRequest* request) override {
    return stream<ruvllm::v1::GenerateEvent>(kGenerate, *context, *request);
  }
  grpc::ServerWriteReactor<ruvllm::v1::ChatEvent>* Chat(
      grpc::CallbackServerContext* context, const ruvllm::v1::ChatRequest* request) override {
    return stream<ruvllm::v1::ChatEvent>(kChat, *context, *request);
  }
  grpc::ServerUnaryReactor* Embed(grpc::CallbackServerContext* context,
                                  const ruvllm::v1::EmbedRequest* request,
                                  ruvllm::v1::EmbedResponse* answer) override {
    return whole(kEmbed, *context, *request, *answer);
  }
  grpc::ServerUnaryReactor* Tokenize(grpc::CallbackServerContext* context,
                                     const ruvllm::v1::TokenizeRequest* request,
                                     ruvllm::v1::TokenizeResponse* answer) override {
    return whole(kTokenize, *context, *request, *answer);
  }
  grpc::ServerUnaryReactor* Detokenize(grpc::CallbackServerContext* context,
                                       const ruvllm::v1::DetokenizeRequest* request,
                                       ruvllm::v1::DetokenizeResponse* answer) override {
    return whole(kDetokenize, *context, *request, *answer);
  }

 private:
  template <class Answer>
  StreamReactor<Answer>* stream(const RpcMethod& method, grpc::CallbackServerContext& context,
                                const google::protobuf::Message& request) {
    auto* reactor = new StreamReactor<Answer>(host_, method, context);
    reactor->call().start(request);
    return reactor;
  }
  AnswerReactor* whole(const RpcMethod& method, grpc::CallbackServerContext& context,
                       const google::protobuf::Message& request,
                       google::protobuf::Message& answer) {
    auto* reactor = new AnswerReactor(host_, method, context, answer);
    reactor->call().start(request);
    return reactor;
  }

  RpcHost& host_;
};

// A peer that is gone is noticed after a minute and a half; without TLS there is no handshake.
void set_limits(grpc::ServerBuilder& builder, const ServerOptions& options, const RpcOptions& rpc) {
  const auto set = [&](const char* name, int64_t value) {
    builder.AddChannelArgument(name, static_cast<int>(value));
  };
  set(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a port that another server has is an error
  set(GRPC_ARG_MAX_CONCURRENT_STREAMS, rpc.max_calls_of_client);
  set(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  set(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, options.header_timeout.count());
  set(GRPC_ARG_MAX_CONNECTION_IDLE_MS, options.idle_timeout.count());
  set(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
  set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, options.write_timeout.count());
  builder.SetMaxReceiveMessageSize(static_cast<int>(options.max_body_bytes));
  builder.SetMaxSendMessageSize(-1);  // what is sent was counted
  builder.SetResourceQuota(
      grpc::ResourceQuota("ruvllm").Resize(kQuotaBytes).SetMaxThreads(kQuotaThreads));
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 1);
}

// The whole file.
Result<std::string> text_in(const std::string& path) {
  const MappedFile file = TRY(MappedFile::open(path));
  const auto bytes = file.bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// TlsContext has checked both files.
Result<std::shared_ptr<grpc::ServerCredentials>> credentials_of(const TlsFiles& tls) {
  if (tls.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back({TRY(text_in(tls.key)), TRY(text_in(tls.certificate))});
  return grpc::SslServerCredentials(options);
}

class GrpcServer final : public RpcServer {
 public:
  GrpcServer(RequestGate& gate, const ServerOptions& options, RpcOptions rpc)
      : host_{gate, RpcCalls(rpc.max_calls), Workers(kTranslators)},
        methods_(host_),
        options_(options),
        rpc_(std::move(rpc)) {}
  ~GrpcServer() override { close(); }

  Status listen();
  uint16_t port() const override { return port_; }

 private:
  void set_health(bool is_ready);
  void begin_stop();
  void close();

  RpcHost host_;
  Methods methods_;
  ServerOptions options_;
  RpcOptions rpc_;
  std::unique_ptr<grpc::Server> server_;
  uint16_t port_ = 0;
};

// As a whole, and of its only service.
void GrpcServer::set_health(bool is_ready) {
  grpc::HealthCheckServiceInterface* const health = server_->GetHealthCheckService();
  health->SetServingStatus(is_ready);
  health->SetServingStatus("ruvllm.v1.Ruvllm", is_ready);
}

// Not serving before the first look at the models, when the server runs.
Status GrpcServer::listen() {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  set_limits(builder, options_, rpc_);
  const bool is_v6 = rpc_.host.find(':') != std::string::npos;
  const std::string where =
      fmt::format("{}:{}", is_v6 ? fmt::format("[{}]", rpc_.host) : rpc_.host, rpc_.port);
  int port = 0;
  builder.AddListeningPort(where, TRY(credentials_of(rpc_.tls)), &port);
  builder.RegisterService(&methods_);
  server_ = builder.BuildAndStart();
  if (!server_ || port <= 0) {
    server_.reset();
    return fail(Code::unavailable, "gRPC cannot listen on {}: is the port in use?", where);
  }
  port_ = static_cast<uint16_t>(port);
  set_health(false);
  host_.gate.post([this] {
    host_.gate.on_stop([this] { begin_stop(); });
    host_.gate.every(kHealthPeriod, [this] { set_health(rpc_.is_ready()); });
  });
  return {};
}

// Calls that have begun may end; further ones are refused.
void GrpcServer::begin_stop() {
  set_health(false);
  host_.calls.close();
}

// Watchers of the health have no end of their own: they are cancelled.
void GrpcServer::close() {
  host_.calls.close();
  for (const auto& call : host_.calls.take_all()) call->abandon();
  if (!server_) return;
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
}

}  // namespace

Result<std::unique_ptr<RpcServer>> RpcServer::create(HttpServer& server,
                                                     const ServerOptions& options, RpcOptions rpc) {
  auto made = std::make_unique<GrpcServer>(server.gate(), options, std::move(rpc));
  TRY(made->listen());
  return made;
}

}  // namespace ruv

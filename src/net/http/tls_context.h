// TlsContext: a server's certificate and private key, and the rules of its TLS: versions 1.2
// and 1.3, no renegotiation, HTTP/2 before HTTP/1.1. OpenSSL does the work; nothing here
// checks certificates of clients.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

struct ssl_ctx_st;
struct ssl_st;

namespace ruv {

struct SslDeleter {
  void operator()(ssl_ctx_st* context) const;
  void operator()(ssl_st* session) const;
};
// The state of one connection. One thread at a time.
using TlsSession = std::unique_ptr<ssl_st, SslDeleter>;

struct TlsFiles {
  std::string certificate;  // PEM: the server's, then those of its issuers
  std::string key;          // PEM, not encrypted
  bool empty() const { return certificate.empty() && key.empty(); }
};

// Immutable: a certificate that was renewed is a new context, and connections keep theirs.
class TlsContext {
 public:
  // Fails: as MappedFile::open; invalid (a file is not PEM, the key is encrypted or belongs to
  // another certificate, or either is too weak for OpenSSL's security level).
  static Result<std::shared_ptr<const TlsContext>> load(const TlsFiles& files);

  // For a connection that was accepted. Null: memory ran out.
  TlsSession new_session() const;
  // "CN=example.org, until 2027-01-31": which certificate this is.
  const std::string& description() const { return description_; }

 private:
  TlsContext() = default;

  std::unique_ptr<ssl_ctx_st, SslDeleter> context_;
  std::string description_;
};

}  // namespace ruv

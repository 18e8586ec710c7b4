#include "net/http/tls_context.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <ctime>

#include "base/file.h"

namespace ruv {
namespace {

constexpr unsigned char kProtocols[] = "\x02h2\x08http/1.1";

// A key with a passphrase would otherwise ask for it on the terminal.
int no_passphrase(char*, int, int, void*) { return 0; }

// Clients that offer other protocols only are served HTTP/1.1 as those that offer none.
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* n_chosen,
                    const unsigned char* offered, unsigned n_offered, void*) {
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(&found, n_chosen, kProtocols, sizeof(kProtocols) - 1, offered,
                            n_offered) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_NOACK;
  }
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

// Requests say how long they are, so that one that was cut off is noticed without TLS's own end.
// Idle connections hold no buffers; an answer may be written in pieces from wherever it lies.
void set_rules(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                   SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                   SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);  // tickets resume sessions
  SSL_CTX_set_default_passwd_cb(context, no_passphrase);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
}

// Separates a file that cannot be read from one that is not what it should be.
Status check_readable(const std::string& path) {
  TRY(MappedFile::open(path));
  return {};
}

// OpenSSL's reason for the newest error of this thread; clears them all.
std::string take_error() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  std::string text = reason != nullptr ? reason : "unknown reason";
  ERR_clear_error();
  return text;
}

std::string describe(const X509* certificate) {
  const std::unique_ptr<BIO, int (*)(BIO*)> out(BIO_new(BIO_s_mem()), BIO_free);
  if (!out || certificate == nullptr) return "";
  X509_NAME_print_ex(out.get(), X509_get_subject_name(certificate), 0, XN_FLAG_ONELINE);
  const char* text = nullptr;
  const auto n = static_cast<size_t>(BIO_get_mem_data(out.get(), &text));
  std::string name(text, n);
  std::tm until{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &until) != 1) return name;
  return fmt::format("{}, until {}-{:02}-{:02}", name, until.tm_year + 1900, until.tm_mon + 1,
                     until.tm_mday);
}

}  // namespace

void SslDeleter::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }
void SslDeleter::operator()(ssl_st* session) const { SSL_free(session); }

Result<std::shared_ptr<const TlsContext>> TlsContext::load(const TlsFiles& files) {
  TRY(check_readable(files.certificate));
  TRY(check_readable(files.key));
  ERR_clear_error();
  std::shared_ptr<TlsContext> made(new TlsContext);
  made->context_.reset(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* const context = made->context_.get();
  if (context == nullptr) return fail(Code::out_of_memory, "TLS: {}", take_error());
  set_rules(context);
  if (SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1) {
    return fail(Code::invalid, "{}: no certificate in PEM: {}", files.certificate, take_error());
  }
  if (SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return fail(Code::invalid, "{}: no private key in PEM, without passphrase, of {}: {}",
                files.key, files.certificate, take_error());
  }
  made->description_ = describe(SSL_CTX_get0_certificate(context));
  return made;
}

TlsSession TlsContext::new_session() const { return TlsSession(SSL_new(context_.get())); }

}  // namespace ruv

// "/": the page for browsers, and for other clients a line that says that a server is there.
#include <fmt/format.h>
#include <sodium.h>

#include <boost/beast/zlib/inflate_stream.hpp>

#include "base/hash.h"
#include "net/openai/routes.h"
#include "net/web/page_files.h"

namespace ruv {
namespace {

// What the page may do: only this server's own scripts and the one style in it, no frames, no other
// addresses, and no text that becomes markup (trusted types: there is no policy that could make
// one).
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src {}; connect-src 'self'; img-src 'self' "
    "data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

// The digest of the style in the page, as a policy names it.
std::string allowed_style(std::string_view text) {
  constexpr std::string_view kBegin = "<style>";
  const size_t begin = text.find(kBegin);
  const size_t end = text.find("</style>");
  if (begin > end || end == text.npos) return "'none'";
  const std::string_view style = text.substr(begin + kBegin.size(), end - begin - kBegin.size());
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
  crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(style.data()),
                     style.size());
  std::array<char, sodium_base64_ENCODED_LEN(digest.size(), sodium_base64_VARIANT_ORIGINAL)>
      text64{};
  sodium_bin2base64(text64.data(), text64.size(), digest.data(), digest.size(),
                    sodium_base64_VARIANT_ORIGINAL);
  return fmt::format("'sha256-{}'", text64.data());
}

// The files are made by this project: ten bytes of header without optional fields, and eight at the
// end, of which the last four are the size.
std::string unzipped(std::span<const unsigned char> gzipped) {
  constexpr size_t kHead = 10;
  constexpr size_t kTail = 8;
  const unsigned char* size = &gzipped[gzipped.size() - 4];
  std::string out(size[0] | size[1] << 8 | size[2] << 16 | size_t{size[3]} << 24, '\0');
  boost::beast::zlib::z_params step;
  step.next_in = &gzipped[kHead];
  step.avail_in = gzipped.size() - kHead - kTail;
  step.next_out = out.data();
  step.avail_out = out.size();
  boost::beast::error_code error;
  boost::beast::zlib::inflate_stream().write(step, boost::beast::zlib::Flush::finish, error);
  out.resize(out.size() - step.avail_out);
  return out;
}

// A file as it is sent.
struct SentFile {
  explicit SentFile(const PageFile& of)
      : file(of),
        plain(unzipped(of.gzipped)),
        tag(fmt::format("\"{:016x}\"", hash_bytes(std::as_bytes(of.gzipped)))),
        policy(fmt::format(kPolicy, of.path == "/" ? allowed_style(plain) : "'none'")) {}

  PageFile file;
  std::string plain;  // for the few clients that take no gzip
  std::string tag;
  std::string policy;
};

HttpResponse send_file(const SentFile& sent, const HttpRequest& request) {
  HttpResponse response{.content_type = std::string(sent.file.content_type)};
  response.headers = {{"ETag", sent.tag},
                      {"Cache-Control", "no-cache"},
                      {"Vary", "Accept, Accept-Encoding"},
                      {"Content-Security-Policy", sent.policy},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cross-Origin-Opener-Policy", "same-origin"},
                      {"Cross-Origin-Resource-Policy", "same-origin"}};
  if (request.known_tag.find(sent.tag) != std::string::npos) {
    response.status = 304;
  } else if (request.takes_gzip) {
    response.headers.emplace_back("Content-Encoding", "gzip");
    response.body.assign(sent.file.gzipped.begin(), sent.file.gzipped.end());
  } else {
    response.body = sent.plain;
  }
  return response;
}

HttpResponse without_page(const SentFile& file) {
  if (file.file.path == "/") {
    return {.content_type = "text/plain",
            .body = "RuvLLM is running\n",
            .headers = {{"Vary", "Accept"}}};
  }
  return error_response(
      {404, "invalid_request_error", "this server was started with --no-page", "", "unknown_url"});
}

}  // namespace

// They ask for no key: what the page then asks the server for does.
std::vector<Route> page_routes(ServedModels& models) {
  std::vector<Route> routes;
  for (const PageFile& file : page_files()) {
    const auto sent = std::make_shared<SentFile>(file);
    Route& route = routes.emplace_back(
        simple_route("GET", std::string(file.path), [&models, sent](const HttpRequest& request) {
          const bool is_asked = request.wants_page || sent->file.path != "/";
          return models.parts().has_page && is_asked ? send_file(*sent, request)
                                                     : without_page(*sent);
        }));
    route.needs_key = false;
    route.thread = RouteThread::network;
    route.types = {std::string(file.content_type.substr(0, file.content_type.find(';')))};
    if (file.path == "/") route.types.emplace_back("text/plain");
  }
  return routes;
}

}  // namespace ruv

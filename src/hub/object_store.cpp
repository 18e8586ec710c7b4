#include "hub/object_store.h"

#include <algorithm>

namespace ruv {
// Objects are addressed by path, as stores at an address without a name want it; names need no
// escapes, as prefixes are of plain letters and the rest of a name is made here. The hash of the
// bytes is in a header, which the signature covers: neither can be changed on the way.
namespace {

constexpr std::string_view kObjectScheme = "s3://";
constexpr int64_t kObjectStallS = 60;
// Bytes of an error that are kept: its code and message come first.
constexpr size_t kMostObjectErrorBytes = 4096;
constexpr const char* kEmptySha256 =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

bool is_object_letter(char c, std::string_view others) {
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return is_letter || (c >= '0' && c <= '9') || others.find(c) != others.npos;
}

bool all_object_letters(std::string_view text, std::string_view others) {
  return std::ranges::all_of(text, [&](char c) { return is_object_letter(c, others); });
}

// The text of the first such element of an error's XML; empty: there is none.
std::string_view xml_element(std::string_view xml, std::string_view name) {
  const std::string opening = fmt::format("<{}>", name);
  const size_t first = xml.find(opening);
  if (first == xml.npos) return {};
  const std::string_view rest = xml.substr(first + opening.size());
  return rest.substr(0, std::min(rest.find('<'), rest.size()));
}

}  // namespace

bool is_object_url(std::string_view text) { return text.starts_with(kObjectScheme); }

Result<ObjectPlace> read_object_url(std::string_view url) {
  const std::string_view path = url.substr(std::min(kObjectScheme.size(), url.size()));
  const size_t slash = path.find('/');
  ObjectPlace place;
  place.bucket = path.substr(0, std::min(slash, path.size()));
  if (slash != path.npos) place.prefix = path.substr(slash + 1);
  while (place.prefix.ends_with('/')) place.prefix.pop_back();
  const std::string inside = "/" + place.prefix + "/";
  const bool is_whole = is_object_url(url) && place.bucket.size() >= 3 && !place.prefix.empty() &&
                        place.prefix.size() <= 512 && inside.find("//") == inside.npos &&
                        inside.find("/./") == inside.npos && inside.find("/../") == inside.npos;
  if (is_whole && all_object_letters(place.bucket, ".-_") &&
      all_object_letters(place.prefix, "._-/"))
    return place;
  return fail(Code::invalid,
              "'{}': give s3://BUCKET/PREFIX, a bucket of 3 characters or more and a prefix of at "
              "most 512, of letters, digits, '.', '_', '-' and '/'",
              url);
}

Result<ObjectStore> ObjectStore::open(const ObjectStoreOptions& options, std::string bucket) {
  TRY(HttpClient::check_available());
  ObjectStoreOptions used = options;
  if (used.key_id.empty() || used.secret.empty()) {
    return fail(Code::invalid, "no keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
  }
  if (used.region.empty() || !all_object_letters(used.region, "-")) {
    return fail(Code::invalid, "AWS_REGION: '{}' is not a region", used.region);
  }
  if (used.key_id.find(':') != std::string::npos) {
    return fail(Code::invalid, "AWS_ACCESS_KEY_ID has a ':'");
  }
  if (used.endpoint.empty()) {
    used.endpoint = fmt::format("https://s3.{}.amazonaws.com", used.region);
  }
  while (used.endpoint.ends_with('/')) used.endpoint.pop_back();
  if (!used.endpoint.starts_with("http://") && !used.endpoint.starts_with("https://")) {
    return fail(Code::invalid, "AWS_ENDPOINT_URL: give http://HOST:PORT or https://HOST");
  }
  return ObjectStore(std::move(used), std::move(bucket));
}

// Nothing limits the whole time, which a slow line needs; an exchange without a byte for a minute
// ends.
HttpExchange ObjectStore::exchange_of(const char* method, const std::string& name,
                                      const std::string& sha256) const {
  HttpExchange exchange{.method = method,
                        .url = fmt::format("{}/{}/{}", options_.endpoint, bucket_, name)};
  // libcurl up to 8.0 signs a host without its port, if it is not given one.
  const std::string_view address =
      std::string_view(options_.endpoint).substr(options_.endpoint.find("//") + 2);
  exchange.headers.push_back(fmt::format("Host: {}", address.substr(0, address.find('/'))));
  exchange.headers.push_back("x-amz-content-sha256: " + sha256);
  exchange.aws_signature = fmt::format("aws:amz:{}:s3", options_.region);
  exchange.aws_keys = options_.key_id + ":" + options_.secret;
  exchange.timeout_ms = 0;
  exchange.stall_s = kObjectStallS;
  return exchange;
}

// The store's own code and message are quoted, as both name what is wrong; keys are in neither.
Status ObjectStore::failed(const std::string& name, int status, std::string_view body) const {
  const std::string_view code = xml_element(body, "Code"), message = xml_element(body, "Message");
  Code kind = Code::unavailable;
  std::string_view way_out = "; try again";
  if (status == 404) {
    kind = Code::not_found;
    way_out = code == "NoSuchBucket" ? "; make the bucket first" : "";
  }
  if (status == 401 || status == 403) {
    kind = Code::invalid;
    way_out =
        "; AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION must be those of the store";
  }
  if (status == 400) kind = Code::invalid, way_out = "";
  return {kind, fmt::format("s3://{}/{}: HTTP {} {} {}{}", bucket_, name, status, code, message,
                            way_out)};
}

Status ObjectStore::put(const std::string& name, uint64_t n_bytes, const std::string& sha256,
                        const std::function<Status(uint64_t offset, std::span<char>)>& part) {
  HttpExchange exchange = exchange_of("PUT", name, sha256);
  exchange.headers.emplace_back("Content-Type: application/octet-stream");
  exchange.body_part = part;
  exchange.body_bytes = n_bytes;
  int status = 0;
  std::string body;
  TRY(client_->exchange(exchange, {.on_head =
                                       [&](const HttpAnswerHead& head) {
                                         status = head.status;
                                         return Status();
                                       },
                                   .on_body =
                                       [&](std::string_view bytes) {
                                         const size_t room = kMostObjectErrorBytes - body.size();
                                         body += bytes.substr(0, std::min(room, bytes.size()));
                                         return Status();
                                       }}));
  return status == 200 ? Status() : failed(name, status, body);
}

Status ObjectStore::get(const std::string& name,
                        const std::function<Status(std::string_view)>& take) {
  int status = 0;
  std::string error;
  TRY(client_->exchange(exchange_of("GET", name, kEmptySha256),
                        {.on_head =
                             [&](const HttpAnswerHead& head) {
                               status = head.status;
                               return Status();
                             },
                         .on_body =
                             [&](std::string_view bytes) {
                               if (status == 200) return take(bytes);
                               error += bytes.substr(
                                   0, std::min(kMostObjectErrorBytes - error.size(), bytes.size()));
                               return Status();
                             }}));
  return status == 200 ? Status() : failed(name, status, error);
}

}  // namespace ruv

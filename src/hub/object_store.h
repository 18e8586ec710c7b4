// ObjectStore: objects of a bucket in a store that speaks the protocol of S3, as AWS, MinIO and
// others do: written and read as streams, each exchange signed, addressed by path
// (ENDPOINT/BUCKET/NAME).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "tools/http_client.h"

namespace ruv {

struct ObjectStoreOptions {
  std::string endpoint;  // "http://127.0.0.1:9000"; empty: https://s3.REGION.amazonaws.com
  std::string region = "us-east-1";
  std::string key_id, secret;
};

// A place in a bucket, from "s3://BUCKET/PREFIX".
struct ObjectPlace {
  std::string bucket, prefix;
};
bool is_object_url(std::string_view text);
// Fails: invalid (not of this form; characters other than letters, digits, '.', '_', '-' and, in
// the prefix, '/').
Result<ObjectPlace> read_object_url(std::string_view url);

class ObjectStore {
 public:
  // Fails: invalid (no keys, an endpoint that is no http URL, a region of other characters),
  // unsupported (a build without libcurl).
  static Result<ObjectStore> open(const ObjectStoreOptions& options, std::string bucket);

  // Writes an object of n_bytes, in place of one of its name; `sha256` is the hash of the bytes,
  // in lower-case hexadecimal digits, which the store compares. `part` fills the span from the
  // offset on. Fails: not_found (the bucket), invalid (the keys are refused), unavailable (the
  // connection, the store), as `part`.
  Status put(const std::string& name, uint64_t n_bytes, const std::string& sha256,
             const std::function<Status(uint64_t offset, std::span<char>)>& part);
  // Gives an object's bytes as they come. Fails: not_found (the bucket or the object), as put(), as
  // `take`.
  Status get(const std::string& name, const std::function<Status(std::string_view)>& take);

 private:
  ObjectStore(ObjectStoreOptions options, std::string bucket)
      : options_(std::move(options)),
        bucket_(std::move(bucket)),
        client_(std::make_unique<HttpClient>()) {}
  HttpExchange exchange_of(const char* method, const std::string& name,
                           const std::string& sha256) const;
  Status failed(const std::string& name, int status, std::string_view body) const;

  ObjectStoreOptions options_;
  std::string bucket_;
  std::unique_ptr<HttpClient> client_;
};

}  // namespace ruv

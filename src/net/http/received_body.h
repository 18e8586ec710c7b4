// ReceivedBody: a request's body as Beast's parser fills it. Memory grows with what has arrived,
// not with what was declared, so a client cannot reserve memory by a header.
#pragma once

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/optional/optional.hpp>
#include <cstdint>
#include <string>

namespace ruv {

// Makes room for n_more bytes of a body. Doubles the capacity, but not beyond the declared length.
// Growing less would copy every byte often, on the thread that all connections share.
inline void make_body_room(std::string& body, size_t n_more, uint64_t declared) {
  const size_t n = body.size() + n_more;
  if (n > body.capacity()) body.reserve(std::max<uint64_t>(n, std::min(2 * n, declared)));
}

struct ReceivedBody {
  using value_type = std::string;

  // Required by Beast.
  static uint64_t size(const value_type& body) { return body.size(); }

  // The interface that Beast requires of a body type: init, put, finish.
  class reader {
   public:
    template <bool is_request, class Fields>
    reader(boost::beast::http::header<is_request, Fields>&, value_type& body) : body_(body) {}

    // Called once, after the head; `declared` is the Content-Length, if any.
    void init(const boost::optional<uint64_t>& declared, boost::system::error_code& error) {
      declared_ = declared.value_or(UINT64_MAX);
      error = {};
    }
    template <class Buffers>
    // Called for each piece as it arrives; takes all of it.
    size_t put(const Buffers& buffers, boost::system::error_code& error) {
      error = {};
      size_t n = 0;
      for (const boost::asio::const_buffer buffer : boost::beast::buffers_range_ref(buffers)) {
        make_body_room(body_, buffer.size(), declared_);
        body_.append(static_cast<const char*>(buffer.data()), buffer.size());
        n += buffer.size();
      }
      return n;
    }
    // Called at the end of the body.
    void finish(boost::system::error_code& error) { error = {}; }

   private:
    value_type& body_;
    uint64_t declared_ = UINT64_MAX;
  };
};

}  // namespace ruv

// The checks of a request's head that nghttp2 does not make for us: it is told not to, because some clients
// of etcd send an :authority that it would refuse.
#pragma once
#include <string_view>

#include "rpc/metadata.hpp"

namespace conclave::rpc {

class RequestHead {
 public:
  // One field after the other. What is wrong shows in `malformed`, what is too much in `too_large`.
  void add(std::string_view name, std::string_view value, std::size_t most_bytes);
  // All fields are there: whether those that must be there are.
  void complete();
  void clear();

  bool malformed() const { return malformed_; }
  bool too_large() const { return too_large_; }
  const Metadata& fields() const { return fields_; }
  std::string_view method() const { return fields_.get(":method").value_or(""); }
  std::string_view path() const { return fields_.get(":path").value_or(""); }
  bool grpc() const;

 private:
  Metadata fields_ = {};
  bool regular_ = false;  // a field without ':' came
  bool malformed_ = false;
  bool too_large_ = false;
};

}  // namespace conclave::rpc

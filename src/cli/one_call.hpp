// One call to one server, and waiting for what it says.
#pragma once
#include <google/protobuf/message_lite.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <expected>
#include <string>

#include "cli/servers.hpp"
#include "client/background.hpp"
#include "rpc/typed_client.hpp"

namespace conclave::cli {

// To this one of them, and no other.
inline std::expected<std::unique_ptr<rpc::Channel>, std::string> open_channel(
    boost::asio::io_context& loop, const ServerFlags& servers, const std::string& endpoint,
    std::chrono::milliseconds connect_patience) {
  Options one = servers.options;
  one.endpoints = {endpoint};
  rpc::ChannelOptions options = channel_options(one);
  options.connect_timeout = connect_patience;
  return rpc::Channel::open(loop, options);
}

template <class Response>
std::expected<Response, rpc::Status> call_once(const ServerFlags& servers, const std::string& endpoint,
                                               std::string_view path,
                                               const google::protobuf::MessageLite& request,
                                               std::chrono::milliseconds patience) {
  boost::asio::io_context loop(1);
  const auto channel = open_channel(loop, servers, endpoint, patience);
  if (!channel) return std::unexpected(rpc::Status{rpc::Code::invalid_argument, channel.error()});
  std::expected<Response, rpc::Status> answer =
      std::unexpected(rpc::Status{rpc::Code::unavailable, "no answer"});
  rpc::call<Response>(**channel, path, request, {.timeout = patience},
                      [&](std::expected<Response, rpc::Failure> heard) {
                        if (heard)
                          answer = std::move(*heard);
                        else
                          answer = std::unexpected(heard.error().status);
                        (*channel)->close();
                      });
  loop.run();
  return answer;
}

// What a server said, as a sentence.
inline std::string in_words(const rpc::Status& status) {
  return status.message.empty() ? std::string(rpc::name(status.code)) : status.message;
}

}  // namespace conclave::cli

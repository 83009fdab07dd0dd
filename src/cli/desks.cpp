#include "cli/desks.hpp"

#include <fmt/format.h>

#include "client/background.hpp"
#include "rpc/typed_client.hpp"

namespace conclave::cli {
namespace {

constexpr std::chrono::seconds patience{3};

std::string why(const rpc::Failure& failure) {
  if (failure.status.code == rpc::Code::unimplemented) return "it is no conclave: " + failure.status.message;
  return failure.status.message.empty() ? std::string(rpc::name(failure.status.code))
                                        : failure.status.message;
}

// One call to one endpoint; `loop` is run by whoever made it.
template <class Response>
std::unique_ptr<rpc::Channel> ask(boost::asio::io_context& loop, const ServerFlags& servers,
                                  const std::string& endpoint, std::string_view path,
                                  const google::protobuf::Message& request,
                                  std::expected<Response, std::string>& answer) {
  Options one = servers.options;
  one.endpoints = {endpoint};
  rpc::ChannelOptions options = channel_options(one);
  options.connect_timeout = patience;
  auto channel = rpc::Channel::open(loop, options);
  if (!channel) {
    answer = std::unexpected(channel.error());
    return nullptr;
  }
  rpc::call<Response>(**channel, path, request, {.timeout = patience},
                      [&answer, raw = channel->get()](std::expected<Response, rpc::Failure> heard) {
                        if (heard)
                          answer = std::move(*heard);
                        else
                          answer = std::unexpected(why(heard.error()));
                        raw->close();
                      });
  return std::move(*channel);
}

}  // namespace

std::vector<Asked> ask_status(const ServerFlags& servers) {
  boost::asio::io_context loop(1);
  std::vector<Asked> all;
  for (const std::string& endpoint : endpoints_of(servers))
    all.push_back({endpoint, std::unexpected("no answer")});
  std::vector<std::unique_ptr<rpc::Channel>> channels;
  for (Asked& asked : all)
    channels.push_back(ask(loop, servers, asked.endpoint, "/conclavepb.Conclave/Status",
                           conclavepb::StatusRequest(), asked.status));
  loop.run();
  return all;
}

std::expected<conclavepb::EvictResponse, std::string> ask_evict(const ServerFlags& servers,
                                                                const std::string& endpoint,
                                                                const conclavepb::EvictRequest& request) {
  boost::asio::io_context loop(1);
  std::expected<conclavepb::EvictResponse, std::string> answer = std::unexpected("no answer");
  const auto channel = ask(loop, servers, endpoint, "/conclavepb.Conclave/Evict", request, answer);
  loop.run();
  return answer;
}

std::string time_span(std::int64_t milliseconds) {
  const std::int64_t seconds = milliseconds / 1000;
  if (seconds < 1) return fmt::format("{} ms", milliseconds);
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 60 * 60) return fmt::format("{} min", seconds / 60);
  if (seconds < 48 * 60 * 60) return fmt::format("{} h", seconds / 60 / 60);
  return fmt::format("{} days", seconds / 60 / 60 / 24);
}

}  // namespace conclave::cli

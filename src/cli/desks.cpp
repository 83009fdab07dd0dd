#include "cli/desks.hpp"

#include <fmt/format.h>

#include <future>

#include "cli/one_call.hpp"

namespace conclave::cli {
namespace {

constexpr std::chrono::seconds patience{3};

template <class Response>
std::expected<Response, std::string> ask(const ServerFlags& servers, const std::string& endpoint,
                                         std::string_view path,
                                         const google::protobuf::MessageLite& request) {
  auto answer = call_once<Response>(servers, endpoint, path, request, patience);
  if (answer) return std::move(*answer);
  if (answer.error().code == rpc::Code::unimplemented)
    return std::unexpected("it is no conclave: " + answer.error().message);
  return std::unexpected(in_words(answer.error()));
}

}  // namespace

std::vector<Asked> ask_status(const ServerFlags& servers) {
  std::vector<std::pair<std::string, std::future<decltype(Asked::status)>>> asked;
  for (const std::string& endpoint : endpoints_of(servers))
    asked.emplace_back(endpoint, std::async(std::launch::async, [&servers, endpoint] {
                         return ask<conclavepb::StatusResponse>(
                             servers, endpoint, "/conclavepb.Conclave/Status", conclavepb::StatusRequest());
                       }));
  std::vector<Asked> all;
  for (auto& [endpoint, status] : asked) all.push_back({endpoint, status.get()});
  return all;
}

std::expected<conclavepb::EvictResponse, std::string> ask_evict(const ServerFlags& servers,
                                                                const std::string& endpoint,
                                                                const conclavepb::EvictRequest& request) {
  return ask<conclavepb::EvictResponse>(servers, endpoint, "/conclavepb.Conclave/Evict", request);
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

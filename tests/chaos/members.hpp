// The members of a cluster as clients under faults know them: a channel to each, and which of them is asked.
#pragma once
#include <algorithm>
#include <charconv>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "rpc/typed_client.hpp"

namespace conclave::chaos {

// Who is asked, by one client. It stays with a member until it is told to go to the next.
class Members {
 public:
  Members(boost::asio::io_context& loop, const std::vector<std::string>& endpoints, std::size_t first)
      : loop_(loop) {
    learn(endpoints);
    at_ = first % members_.size();
  }
  // Those who are not named are gone: whoever is with one stays until it gets no answer.
  void learn(const std::vector<std::string>& endpoints) {
    for (Member& member : members_) member.gone = std::ranges::count(endpoints, member.endpoint) == 0;
    for (const std::string& endpoint : endpoints)
      if (std::ranges::count(members_, endpoint, &Member::endpoint) == 0) add(endpoint);
  }
  rpc::Channel& here() { return *members_[at_].channel; }
  const std::string& endpoint() const { return members_[at_].endpoint; }
  // Another connection, to whom this client is with: what lived as long as the former one has ended.
  void reconnect() { members_[at_].channel = open(members_[at_].endpoint); }
  void next() {
    do at_ = (at_ + 1) % members_.size();
    while (members_[at_].gone);
  }

 private:
  struct Member {
    std::string endpoint;
    std::unique_ptr<rpc::Channel> channel;
    bool gone = false;
  };
  void add(const std::string& endpoint) { members_.push_back({endpoint, open(endpoint)}); }
  std::unique_ptr<rpc::Channel> open(const std::string& endpoint) {
    using namespace std::chrono_literals;
    auto channel =
        rpc::Channel::open(loop_, {.endpoints = {endpoint}, .connect_timeout = 500ms, .longest_wait = 200ms});
    if (!channel) std::exit((std::cerr << channel.error() << '\n', 2));
    return std::move(*channel);
  }

  boost::asio::io_context& loop_;
  std::vector<Member> members_;
  std::size_t at_ = 0;
};

inline std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

inline std::uint64_t number(const char* text) {
  std::uint64_t value = 0;
  std::from_chars(text, text + std::strlen(text), value);
  return value;
}

}  // namespace conclave::chaos

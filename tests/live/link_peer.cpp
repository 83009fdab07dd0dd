// One member that sends a numbered stream to every other, and checks that what it receives is what every
// other sent: in order, each once, from and to the incarnations that both believe in. tests/live/links.cpp
// drives it.
//
//   link_peer ID MEMBERS [option=value …]     MEMBERS: 1=host:port,2=host:port,…
//
// Reads commands from stdin, a line each:
//   rate N     messages per millisecond to each peer (0 stops)
//   burst N    that many to each peer, in one turn
//   report     prints one line for each peer and one for the door
//   quit
// Prints a line for each event. A violation of the promise is printed and ends the process with status 1.
#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <sstream>

#include "live/links.hpp"
#include "live/timers.hpp"

namespace {

using namespace conclave;
using namespace conclave::live;
namespace asio = boost::asio;

struct Numbered {
  std::uint64_t sender;    // incarnation
  std::uint64_t receiver;  // incarnation that it is meant for
  std::uint64_t number;
};

[[noreturn]] void give_up(const std::string& why) {
  std::cout << "VIOLATION " << why << std::endl;
  std::_Exit(1);
}

[[noreturn]] void usage(const std::string& why) {
  std::cerr << "link_peer: " << why << '\n';
  std::_Exit(2);
}

std::uint64_t number_in(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) usage("'" + text + "' is no number");
  return value;
}

Address address_in(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) usage("'" + text + "' is no address");
  return {text.substr(0, colon), static_cast<std::uint16_t>(number_in(text.substr(colon + 1)))};
}

std::map<NodeId, Address> addresses_in(const std::string& text) {
  std::map<NodeId, Address> all;
  std::istringstream in(text);
  for (std::string one; std::getline(in, one, ',');) {
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos) usage("'" + one + "' is no id=host:port");
    all[{static_cast<std::uint32_t>(number_in(one.substr(0, equals)))}] = address_in(one.substr(equals + 1));
  }
  return all;
}

void set(LinkOptions& options, const std::string& name, const std::string& value) {
  const auto ms = [&] { return std::chrono::milliseconds(number_in(value)); };
  if (name == "group")
    options.group = value;
  else if (name == "algorithm")
    options.algorithm = value;
  else if (name == "key")
    options.key = value;
  else if (name == "epoch")
    options.epoch = number_in(value);
  else if (name == "listen")
    options.listen = address_in(value);
  else if (name == "via")
    options.via = addresses_in(value);
  else if (name == "heartbeat")
    options.heartbeat = ms();
  else if (name == "down_after")
    options.down_after = ms();
  else if (name == "handshake")
    options.handshake_time = ms();
  else if (name == "half_open")
    options.half_open = number_in(value);
  else if (name == "queue")
    options.limits.queue_bytes = number_in(value);
  else if (name == "message")
    options.limits.message_bytes = number_in(value);
  else
    usage("unknown option '" + name + "'");
}

LinkOptions options_of(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2) usage("link_peer ID MEMBERS [option=value …]");
  LinkOptions options;
  options.self = {static_cast<std::uint32_t>(number_in(arguments[0]))};
  options.group = "test";
  options.algorithm = "stream";
  options.key = "a key for tests";
  options.heartbeat = std::chrono::milliseconds(50);
  options.down_after = std::chrono::milliseconds(500);
  options.redial_most = std::chrono::milliseconds(200);
  for (const auto& [id, address] : addresses_in(arguments[1]))
    options.members.push_back({id, address.host, address.port});
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    const std::size_t equals = arguments[i].find('=');
    if (equals == std::string::npos) usage("'" + arguments[i] + "' is no option=value");
    set(options, arguments[i].substr(0, equals), arguments[i].substr(equals + 1));
  }
  return options;
}

class Member {
 public:
  explicit Member(LinkOptions options)
      : options_(options), stdin_(loop_, ::dup(0)), timers_(loop_, 1, [this](int) { on_tick(); }) {
    for (const Peer& peer : options.members) {
      if (peer.id != options.self) peers_[peer.id];
    }
    auto opened =
        Links::open(loop_, std::move(options),
                    {.message = [this](NodeId from, ByteView bytes) { on_message(from, bytes); },
                     .up = [this](NodeId peer, std::uint64_t number) { on_up(peer, number); },
                     .down = [this](NodeId peer) { on_down(peer); },
                     .broken_promise = [this](NodeId peer, const std::string& why) { on_broken(peer, why); },
                     .drained = [](NodeId peer) { say("drained peer={}", peer.value); }},
                    [](LogLevel, std::string_view text) { say("log {}", text); });
    if (!opened) usage(opened.error());
    links_ = std::move(*opened);
    say("started id={} incarnation={}", options_.self.value, links_->incarnation());
  }

  void run() {
    read_command();
    timers_.arm(0, {{1}, {1}});
    loop_.run();
  }

 private:
  struct Stream {
    std::uint64_t incarnation = 0;  // of the peer; 0 while it was never up
    bool up = false;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    bool gap_announced = false;  // a promise was broken: the next number may be any
    std::uint64_t ups = 0;
    std::uint64_t downs = 0;
    std::uint64_t broken = 0;
  };

  template <class... T>
  static void say(fmt::format_string<T...> format, T&&... values) {
    std::cout << fmt::format(format, std::forward<T>(values)...) << std::endl;
  }

  void on_up(NodeId peer, std::uint64_t incarnation) {
    Stream& stream = peers_.at(peer);
    if (stream.incarnation != incarnation) {
      stream.incarnation = incarnation;
      stream.sent = stream.received = 0;
      stream.gap_announced = false;
    } else if (stream.up) {
      give_up(fmt::format("peer {} is up twice", peer.value));
    }
    stream.up = true;
    ++stream.ups;
    say("up peer={} incarnation={}", peer.value, incarnation);
  }

  void on_down(NodeId peer) {
    Stream& stream = peers_.at(peer);
    if (!stream.up) give_up(fmt::format("peer {} is down twice", peer.value));
    stream.up = false;
    ++stream.downs;
    say("down peer={}", peer.value);
  }

  void on_broken(NodeId peer, const std::string& why) {
    Stream& stream = peers_.at(peer);
    ++stream.broken;
    stream.gap_announced = true;
    say("broken peer={} why={}", peer.value, why);
  }

  void on_message(NodeId from, ByteView bytes) {
    Stream& stream = peers_.at(from);
    Numbered message;
    if (bytes.size() < sizeof message) give_up("a message was cut short");
    std::memcpy(&message, bytes.data(), sizeof message);
    if (message.sender != stream.incarnation)
      give_up(fmt::format("from {}: sent by incarnation {}, but {} is up", from.value, message.sender,
                          stream.incarnation));
    if (message.receiver != links_->incarnation())
      give_up(fmt::format("from {}: meant for incarnation {}, received by {}", from.value, message.receiver,
                          links_->incarnation()));
    const bool next = message.number == stream.received + 1;
    const bool announced = stream.gap_announced && message.number > stream.received;
    if (!next && !announced)
      give_up(fmt::format("from {}: {} after {}", from.value, message.number, stream.received));
    if (!next) stream.gap_announced = false;
    stream.received = message.number;
  }

  // Only to those who were up once: a message names the incarnation it is meant for.
  void send(NodeId to, std::uint64_t count) {
    Stream& stream = peers_.at(to);
    for (std::uint64_t i = 0; i < count && stream.incarnation != 0; ++i) {
      std::array<std::byte, 64> bytes = {};
      const Numbered message = {links_->incarnation(), stream.incarnation, ++stream.sent};
      std::memcpy(bytes.data(), &message, sizeof message);
      links_->send(to, bytes);
    }
  }

  void on_tick() {
    for (auto& [id, stream] : peers_) {
      if (!links_->congested(id)) send(id, rate_);
    }
    timers_.arm(0, {{1}, {1}});
  }

  void read_command() {
    asio::async_read_until(stdin_, input_, '\n', [this](const boost::system::error_code& error, std::size_t) {
      if (error) return loop_.stop();  // whoever drove us is gone
      std::istream in(&input_);
      std::string line;
      std::getline(in, line);
      obey(line);
      read_command();
    });
  }

  void obey(const std::string& line) {
    std::istringstream in(line);
    std::string verb;
    std::uint64_t count = 0;
    in >> verb >> count;
    if (verb == "rate") {
      rate_ = count;
    } else if (verb == "burst") {
      for (auto& [id, stream] : peers_) send(id, count);
    } else if (verb == "report") {
      report();
    } else if (verb == "quit") {
      loop_.stop();
    } else {
      usage("unknown command '" + verb + "'");
    }
  }

  void report() {
    for (const auto& [id, stream] : peers_) {
      const LinkStatus status = links_->status(id);
      say("report peer={} incarnation={} up={} sent={} received={} queued={} connects={} sent_again={} "
          "duplicates={} writes={} ups={} downs={} broken={} refusals={} wrong_frames={} state={} "
          "last_refusal={}",
          id.value, stream.incarnation, stream.up ? 1 : 0, stream.sent, stream.received,
          status.queued_messages, status.connects, status.sent_again, status.duplicates, status.writes,
          stream.ups, stream.downs, stream.broken, status.refusals, status.wrong_frames,
          enumerator_name(status.state), status.last_refusal);
    }
    const DoorStatus door = links_->door();
    say("door accepted={} refused={} half_open={} most_half_open={} incarnation={}", door.accepted,
        door.refused, door.half_open, door.most_half_open, links_->incarnation());
    say("reported");
  }

  LinkOptions options_;
  asio::io_context loop_{1};
  asio::posix::stream_descriptor stdin_;
  asio::streambuf input_;
  Timers<int> timers_;
  std::map<NodeId, Stream> peers_;
  std::unique_ptr<Links> links_;
  std::uint64_t rate_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  Member member(options_of({argv + 1, argv + argc}));
  member.run();
}

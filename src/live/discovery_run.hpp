// Discovery run by a protocol with a registry and instances: membership::Registry, in practice. With a
// registry process, instances talk to that. With multicast the registry is everywhere: each process keeps one
// of its own, and a registration is told to all of them at once.
//
// The protocol takes reliable links for granted. Here they are made from datagrams by repetition: a
// registration is repeated for ever, a question until it is answered; receiving either twice changes nothing.
#pragma once
#include <unistd.h>

#include <fmt/format.h>
#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>

#include "core/codec.hpp"
#include "core/protocol.hpp"
#include "core/visit.hpp"
#include "live/datagram.hpp"
#include "live/discovery.hpp"
#include "live/secrets.hpp"
#include "live/timers.hpp"

namespace conclave::live {

inline constexpr std::size_t longest_discovery_datagram = 16 * 1024;
inline constexpr NodeId registry_handle = {0};
// A registry answers with everybody: with no more than so much for each.
inline constexpr std::size_t padding_for_each = 200;

inline std::string discovery_purpose() { return "conclave discovery, 1"; }

template <class P>
struct DiscoveryLetter {
  std::string group = {};
  NodeId from = {};
  std::vector<Sighting> seen = {};  // the sender; from a registry, everybody
  std::vector<Peer> complete = {};  // the list, if it is settled
  typename P::Message message = {};
  std::string padding = {};  // so that no answer is longer than its question
};

inline bool acceptable(const Sighting& one) {
  return one.handle != registry_handle && !one.host.empty() && one.host.size() <= longest_host &&
         one.port != 0;
}
inline bool acceptable(const Peer& one) {
  return !one.host.empty() && one.host.size() <= longest_host && one.port != 0;
}

template <class P>
std::optional<DiscoveryLetter<P>> open_letter(const std::string& key, ByteView bytes) {
  const auto body = unsealed(key, discovery_purpose(), bytes);
  if (!body) return std::nullopt;
  auto letter = decode<DiscoveryLetter<P>>(numbers_of(*body));
  if (!letter || letter->group.empty() || letter->group.size() > longest_group) return std::nullopt;
  if (letter->seen.size() > most_discovered || letter->complete.size() > most_discovered) return std::nullopt;
  const auto fine = [](const auto& one) { return acceptable(one); };
  if (!std::ranges::all_of(letter->seen, fine) || !std::ranges::all_of(letter->complete, fine))
    return std::nullopt;
  return std::move(*letter);
}

template <class P>
Bytes close_letter(const std::string& key, const DiscoveryLetter<P>& letter) {
  return sealed(key, discovery_purpose(), bytes_of(encode(letter)));
}

// The registry's part for one group: the protocol's list of names, and where their owners are.
template <class P>
class RegistryBook {
 public:
  using Clock = std::chrono::steady_clock;
  using Register = std::variant_alternative_t<0, typename P::Message>;
  using List = std::variant_alternative_t<1, typename P::Message>;

  explicit RegistryBook(std::chrono::nanoseconds forget)
      : forget_(forget), node_(P::start(registry_handle, NodeSet::range(registry_handle, 1), {}, out_)) {}

  // A registration, whose letter tells of its sender alone.
  void take(const DiscoveryLetter<P>& letter, const Register& registration) {
    if (letter.seen.size() != 1 || letter.seen.front().handle != letter.from ||
        registration.member.node != letter.from)
      return;
    const Sighting& sender = letter.seen.front();
    const bool known = sightings_.contains(letter.from);
    if (!known && (sightings_.size() >= most_discovered || replaced_already(sender))) return;
    sightings_[letter.from] = {sender, Clock::now()};
    if (!letter.complete.empty()) complete_ = letter.complete;
    node_.on_message(out_, letter.from, registration);
    out_.clear();
  }

  // The list, as the protocol answers.
  std::optional<typename P::Message> list(NodeId asker) {
    out_.clear();
    node_.on_message(out_, asker, List{});
    if (out_.sends.empty()) return std::nullopt;
    return std::move(out_.sends.front().message);
  }

  // Whoever was not heard for too long is down, as the protocol is told.
  void forget() {
    const auto now = Clock::now();
    for (auto one = sightings_.begin(); one != sightings_.end();) {
      one = now - one->second.heard > forget_ ? lose(one) : std::next(one);
    }
    if (sightings_.empty()) complete_.clear();
  }

  std::vector<Sighting> seen() const {
    std::vector<Sighting> all;
    for (const auto& [handle, one] : sightings_) all.push_back(one.sighting);
    return all;
  }
  const std::vector<Peer>& complete() const { return complete_; }
  bool empty() const { return sightings_.empty(); }

 private:
  struct Heard {
    Sighting sighting;
    Clock::time_point heard;
  };
  using Place = typename std::map<NodeId, Heard>::iterator;

  Place lose(Place one) {
    node_.on_command(out_, lost(one->first));
    out_.clear();
    return sightings_.erase(one);
  }
  static auto lost(NodeId handle) { return std::variant_alternative_t<1, typename P::Spec::Command>{handle}; }

  // An address has one owner: the latest process there. True if that is not this one.
  bool replaced_already(const Sighting& sender) {
    for (auto one = sightings_.begin(); one != sightings_.end(); ++one) {
      if (one->second.sighting.address() != sender.address()) continue;
      if (one->second.sighting.started > sender.started) return true;
      lose(one);
      return false;
    }
    return false;
  }

  std::chrono::nanoseconds forget_;
  Effects<P> out_;
  P node_;
  std::map<NodeId, Heard> sightings_;
  std::vector<Peer> complete_;
};

template <class P>
class DiscoveryRun final : public Discovery {
 public:
  using Message = typename P::Message;
  using Letter = DiscoveryLetter<P>;
  using Register = typename RegistryBook<P>::Register;
  using List = typename RegistryBook<P>::List;
  using Members = std::variant_alternative_t<2, Message>;
  using Setup = typename P::Setup;

  DiscoveryRun(boost::asio::io_context& loop, DiscoveryOptions options, DiscoveryEvents events, Log log)
      : loop_(loop),
        options_(std::move(options)),
        events_(std::move(events)),
        log_(std::move(log)),
        book_(options_.forget),
        announce_(loop),
        timers_(loop, draw(), [this](const Timer& timer) { step([&] { node_.on_timer(out_, timer); }); }) {
    ours_ = {.handle = {static_cast<std::uint32_t>(draw() | 1)},
             .started = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                                       std::chrono::system_clock::now().time_since_epoch())
                                                       .count()),
             .id = options_.id,
             .host = options_.self.host,
             .port = options_.self.port};
  }

  std::expected<void, std::string> open() {
    const auto receive = [this](const Datagrams::Endpoint& from, ByteView bytes) { take(from, bytes); };
    auto opened = std::expected<std::unique_ptr<Datagrams>, std::string>();
    Address where = options_.registry ? *options_.registry : options_.multicast;
    if (!options_.registry && where.host.empty()) where = meeting_place(options_.group);
    const auto found = resolve_datagrams(loop_, where);
    if (!found) return std::unexpected(found.error());
    to_ = *found;
    if (options_.registry) {
      const bool v4 = to_.protocol() == boost::asio::ip::udp::v4();
      opened = Datagrams::open(loop_, {v4 ? "0.0.0.0" : "::", 0}, longest_discovery_datagram, receive);
    } else {
      opened = Datagrams::join(loop_, where, options_.interface, longest_discovery_datagram, receive);
    }
    if (!opened) return std::unexpected(opened.error());
    socket_ = std::move(*opened);
    begin();
    return {};
  }

  std::size_t known() const override { return options_.registry ? seen_.size() : book_.seen().size(); }

 private:
  using Timer = typename P::Timer;
  using Member = std::remove_cvref_t<decltype(Register{}.member)>;

  static std::uint64_t draw() {
    const std::string nonce = fresh_nonce();
    return load<std::uint64_t>(reinterpret_cast<const std::byte*>(nonce.data()));
  }

  // Compared first by process number, then by address.
  auto identity() const {
    boost::system::error_code error;
    const auto ip = boost::asio::ip::make_address_v4(options_.self.host, error);
    return decltype(Member{}.identity){static_cast<std::uint32_t>(::getpid()), error ? 0 : ip.to_uint()};
  }

  void begin() {
    NodeSet all;
    all.insert(registry_handle);
    all.insert(ours_.handle);
    const Setup setup = {
        .identities = {{ours_.handle, identity()}}, .expected = options_.expected, .poll_every = {100}};
    step([&] { node_ = P::start(ours_.handle, all, setup, out_); });
    using Join = std::variant_alternative_t<0, typename P::Spec::Command>;
    step([&] { node_.on_command(out_, Join{}); });
    repeat();
  }

  template <class Handler>
  void step(Handler&& handler) {
    out_.clear();
    handler();
    for (const Timer timer : out_.disarmed) timers_.disarm(timer);
    for (const auto& arm : out_.armed) timers_.arm(arm.timer, arm.after);
    const auto sends = std::move(out_.sends);
    const auto events = std::move(out_.events);
    out_ = {};
    for (const auto& send : sends) carry(send.message);
    using Found = std::variant_alternative_t<0, typename P::Spec::Event>;
    for (const auto& event : events) {
      if (const auto* found = std::get_if<Found>(&event)) on_found(found->members);
    }
  }

  // What the instance sends goes to the registry, wherever that is.
  void carry(const Message& message) {
    if (std::holds_alternative<Register>(message)) {
      registration_ = message;
      return register_again();
    }
    if (options_.registry) {
      asked_ = true;
      return send(message);
    }
    // Later, for the instance is in the middle of a step.
    boost::asio::post(loop_, [this, weak = std::weak_ptr(alive_)] {
      if (weak.expired()) return;
      if (const auto answer = book_.list(ours_.handle)) deliver(*answer);
    });
  }

  void deliver(const Message& message) {
    step([&] {
      visit_in_place(message, [&](const auto& which) { node_.on_message(out_, registry_handle, which); });
    });
  }

  Letter letter(const Message& message) const {
    return {.group = options_.group,
            .from = ours_.handle,
            .seen = {ours_},
            .complete = list_,
            .message = message};
  }

  void send(const Message& message) {
    Letter out = letter(message);
    if (options_.registry) out.padding.resize(padding_for_each * (options_.expected + 1), ' ');
    socket_->send(to_, bytes_of(close_letter<P>(options_.key, out)));
  }

  // Our own book hears it from us: what comes back by multicast is not looked at.
  void register_again() {
    if (!options_.registry) book_.take(letter(registration_), std::get<Register>(registration_));
    send(registration_);
  }

  void repeat() {
    announce_.expires_after(options_.every);
    announce_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      register_again();
      if (options_.registry && (asked_ || found())) send(List{});
      book_.forget();
      if (found()) ++announced_;
      repeat();  // first, for the owner may end us
      settle();
    });
  }

  void take(const Datagrams::Endpoint& from, ByteView bytes) {
    const auto letter = open_letter<P>(options_.key, bytes);
    if (!letter || letter->group != options_.group || letter->from == ours_.handle) return;
    if (options_.registry) {
      if (from != to_ || !std::holds_alternative<Members>(letter->message)) return;
      asked_ = false;
      seen_ = letter->seen;
    } else {
      const auto* registration = std::get_if<Register>(&letter->message);
      if (!registration) return;
      book_.take(*letter, *registration);
      seen_ = book_.seen();
    }
    if (!compare(*letter) || found()) return;
    if (const std::string why = same_id(seen_, ours_); !why.empty()) return trouble(why);
    if (options_.registry) deliver(letter->message);
  }

  // The list of whoever has a complete one, with ours or with us. False if that is all there is to say.
  bool compare(const Letter& letter) {
    if (letter.complete.empty()) {
      if (const std::string why = same_id(seen_, ours_); found() && !why.empty()) trouble(why);
      return true;
    }
    if (found()) {
      if (members_digest(letter.complete) != members_digest(list_))
        trouble("another process of this group has found other members");
      return false;
    }
    for (const Peer& place : letter.complete) {
      if (place.address() != options_.self || (options_.id && *options_.id != place.id)) continue;
      complete({.self = place.id, .members = letter.complete, .came_back = true});
      return false;
    }
    trouble(
        fmt::format("the group {} is complete without this process at {}: one that comes back needs its "
                    "former address, and its id if it was given one",
                    in_quotes(options_.group), in_words(options_.self)));
    return false;
  }

  void on_found(const std::vector<Member>& members) {
    if (found()) return;
    const std::vector<Sighting> seen = options_.registry ? seen_ : book_.seen();
    std::vector<Sighting> in_order;
    for (const Member& member : members) {
      const auto one = std::ranges::find(seen, member.node, &Sighting::handle);
      if (one != seen.end()) in_order.push_back(*one);
    }
    if (members.size() > options_.expected || in_order.size() != members.size())
      return trouble(fmt::format("{} processes of group {} were found, {} are expected", members.size(),
                                 in_quotes(options_.group), options_.expected));
    const std::vector<Peer> list = settle_ids(in_order);
    const auto us = std::ranges::find(list, options_.self, &Peer::address);
    if (us == list.end()) return trouble("this process is not among those that were found");
    if (const std::string wrong = wrong_with(list, us->id); !wrong.empty()) return trouble(wrong);
    complete({.self = us->id, .members = list, .came_back = false});
  }

  void complete(const Discovered& all) {
    list_ = all.members;
    ours_.knows = true;
    ours_.id = all.self;
    send(registration_);
    events_.found(all);
  }

  bool found() const { return !list_.empty(); }

  // Everybody has the list, or could have it.
  void settle() {
    constexpr int patience = 25;
    if (!found() || settled_) return;
    const auto knows = [this](const Peer& member) {
      const auto one = std::ranges::find(seen_, member.address(), &Sighting::address);
      return member.address() == options_.self || (one != seen_.end() && one->knows);
    };
    if (announced_ < patience && !std::ranges::all_of(list_, knows)) return;
    settled_ = true;
    if (events_.settled) events_.settled();
  }

  void trouble(const std::string& why) {
    if (why == told_) return;  // once is enough
    told_ = why;
    log_(LogLevel::warning, why);
    send(registration_);  // the other one may not have heard of us, and is to be told too
    if (events_.trouble) events_.trouble(why);
  }

  boost::asio::io_context& loop_;
  DiscoveryOptions options_;
  DiscoveryEvents events_;
  Log log_;
  Sighting ours_;
  RegistryBook<P> book_;        // multicast: ours
  std::vector<Sighting> seen_;  // by whoever keeps the book, when it was last heard
  std::vector<Peer> list_;      // once it is complete
  P node_ = {};
  Effects<P> out_;
  Message registration_ = {};
  bool asked_ = false;  // and not been answered
  int announced_ = 0;   // since the list is complete
  bool settled_ = false;
  std::string told_;
  Datagrams::Endpoint to_;
  std::unique_ptr<Datagrams> socket_;
  boost::asio::steady_timer announce_;
  Timers<Timer> timers_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // ours alone: what was posted sees when it is gone
};

// The registry as a process: one book for every group that speaks to it.
template <class P>
class RegistryRun {
 public:
  using Letter = DiscoveryLetter<P>;
  using Book = RegistryBook<P>;

  RegistryRun(boost::asio::io_context& loop, std::string key, std::chrono::nanoseconds forget, Log log)
      : loop_(loop), key_(std::move(key)), forget_(forget), log_(std::move(log)), sweep_(loop) {}

  std::expected<void, std::string> open(const Address& listen) {
    auto opened =
        Datagrams::open(loop_, listen, longest_discovery_datagram,
                        [this](const Datagrams::Endpoint& from, ByteView bytes) { take(from, bytes); });
    if (!opened) return std::unexpected(opened.error());
    socket_ = std::move(*opened);
    sweep();
    return {};
  }
  Datagrams::Endpoint local() const { return socket_->local(); }

 private:
  static constexpr std::size_t most_groups = 1000;
  static constexpr std::size_t most_lines = 5;  // from one sweep to the next

  void take(const Datagrams::Endpoint& from, ByteView bytes) {
    const auto letter = open_letter<P>(key_, bytes);
    if (!letter || letter->from == registry_handle) return;
    auto book = books_.find(letter->group);
    if (const auto* registration = std::get_if<typename Book::Register>(&letter->message)) {
      if (book == books_.end()) {
        if (books_.size() >= most_groups)
          return say(LogLevel::warning, "too many groups: one was not let in");
        book = books_.emplace(letter->group, Book(forget_)).first;
        say(LogLevel::info, fmt::format("group={}", in_quotes(letter->group)));
      }
      return book->second.take(*letter, *registration);
    }
    if (book == books_.end() || !std::holds_alternative<typename Book::List>(letter->message)) return;
    const auto answer = book->second.list(letter->from);
    if (!answer) return;
    const Bytes out = close_letter<P>(key_, {.group = letter->group,
                                             .from = registry_handle,
                                             .seen = book->second.seen(),
                                             .complete = book->second.complete(),
                                             .message = *answer});
    // Or it could be used to flood others, by asking in their name.
    if (out.size() > bytes.size()) return say(LogLevel::warning, "a question shorter than its answer");
    socket_->send(from, bytes_of(out));
  }

  // A flood of datagrams does not become a flood of lines.
  void say(LogLevel level, const std::string& text) {
    if (++lines_ <= most_lines) log_(level, text);
  }

  void sweep() {
    if (lines_ > most_lines)
      log_(LogLevel::warning, fmt::format("{} lines were left out", lines_ - most_lines));
    lines_ = 0;
    sweep_.expires_after(std::chrono::milliseconds(200));
    sweep_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      for (auto& [group, book] : books_) book.forget();
      std::erase_if(books_, [](const auto& entry) { return entry.second.empty(); });
      sweep();
    });
  }

  boost::asio::io_context& loop_;
  std::string key_;
  std::chrono::nanoseconds forget_;
  Log log_;
  std::map<std::string, Book> books_;
  std::size_t lines_ = 0;
  std::unique_ptr<Datagrams> socket_;
  boost::asio::steady_timer sweep_;
};

}  // namespace conclave::live

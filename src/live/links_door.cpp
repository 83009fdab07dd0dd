// How connections come about: who is let in, and who is dialled.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/connect.hpp>

#include "live/links_loop.hpp"

namespace conclave::live {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr auto accept_again_after = std::chrono::milliseconds(100);
constexpr unsigned stranger_lines_per_beat = 5;

}  // namespace

std::expected<void, std::string> Links::Loop::listen() {
  Address where = options_.listen;
  if (where.host.empty()) {
    const auto self = std::ranges::find(options_.members, options_.self, &Peer::id);
    where = self->address();
  }
  Error error;
  const auto found = resolver_.resolve(where.host, std::to_string(where.port), tcp::resolver::passive, error);
  const auto at_fault = [&](const char* what) {
    return std::unexpected(fmt::format("{}: cannot {}: {}", in_words(where), what, error.message()));
  };
  if (error) return at_fault("find the address");
  if (!proves() && !options_.insecure && reached_from_elsewhere(where.host))
    return std::unexpected(fmt::format(
        "{}: members are not waited for there without a key or TLS, since whoever reaches that address could "
        "say to "
        "be one. Either: openssl rand -base64 32 > key && chmod 600 key, the same file for all members, and "
        "--key-file key. Or: --tls-cert, --tls-key and --tls-ca. (--insecure-members does without.)",
        in_words(where)));
  const tcp::endpoint endpoint = found.begin()->endpoint();
  acceptor_.open(endpoint.protocol(), error);
  if (error) return at_fault("open a socket");
  acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  acceptor_.bind(endpoint, error);
  if (error) return at_fault("listen");
  acceptor_.listen(tcp::acceptor::max_listen_connections, error);
  if (error) return at_fault("listen");
  return {};
}

void Links::Loop::accept() {
  acceptor_.async_accept([weak = weak_from_this()](const Error& error, tcp::socket socket) {
    if (const auto self = weak.lock()) self->on_accept(error, std::move(socket));
  });
}

void Links::Loop::on_accept(const Error& error, tcp::socket socket) {
  if (error == asio::error::operation_aborted) return;
  if (error) {
    // Most often too many open files; trying again at once would spin.
    say(LogLevel::error, fmt::format("event=accept_failed text={}", in_quotes(error.message())));
    accept_at_ = Clock::now() + accept_again_after;
    return wake_at(*accept_at_);
  }
  ++door_.accepted;
  Error gone;
  const auto from = socket.remote_endpoint(gone).address();
  const bool room = make_room_at_the_door(from);
  const SessionPointer session = add_session(Side::acceptor);
  session->from = from;
  start(session, std::move(socket));
  if (!room) dismiss(*session, {RefusalCode::busy, "too many connections are shaking hands"});
  count_door();
  accept();
}

// Whoever is a member says so at once, so the oldest of those who have not goes first: whatever the number of
// strangers, a member has as long as it takes so many of them to come. One address has half of the door at
// most, and where a peer proved itself before nobody is sent away for those who come from elsewhere.
bool Links::Loop::make_room_at_the_door(const asio::ip::address& from) {
  const auto of_sender = [&](const SessionPointer& one) { return one->stranger() && one->from == from; };
  const auto elsewhere = [&](const SessionPointer& one) {
    return one->stranger() && std::ranges::none_of(links_, [&](const auto& link) {
             return !link->proven_at.is_unspecified() && link->proven_at == one->from;
           });
  };
  const auto parting = [](const SessionPointer& one) {
    return one->stranger() && one->phase == Phase::parting;
  };
  const auto any = [](const SessionPointer& one) { return one->stranger(); };
  const auto same = static_cast<std::size_t>(std::ranges::count_if(sessions_, of_sender));
  auto victim = sessions_.end();
  if (door_.half_open >= options_.half_open) {
    victim = std::ranges::find_if(sessions_, parting);
    if (victim == sessions_.end()) victim = std::ranges::find_if(sessions_, elsewhere);
    if (victim == sessions_.end()) victim = std::ranges::find_if(sessions_, any);
  } else if (same >= std::max<std::size_t>(1, options_.half_open / 2)) {
    victim = std::ranges::find_if(sessions_, of_sender);
  }
  if (victim == sessions_.end()) return door_.half_open < options_.half_open;
  const SessionPointer session = *victim;
  dismiss(*session,
          {RefusalCode::busy, "too many connections are shaking hands, and this one was the oldest"});
  return true;
}

Links::Loop::SessionPointer Links::Loop::add_session(Side side) {
  auto session = std::make_shared<Session>();
  session->side = side;
  session->deadline = Clock::now() + options_.handshake_time;
  sessions_.push_back(session);
  wake_at(session->deadline);
  return session;
}

void Links::Loop::dial(Link& link) {
  link.dial_at.reset();
  const SessionPointer session = add_session(Side::dialler);
  session->link = &link;
  Error no_literal;
  const auto address = asio::ip::make_address(link.dialled.host, no_literal);
  if (!no_literal) return connect(session, {tcp::endpoint(address, link.dialled.port)});
  // One question at a time: a name service that does not answer must not be asked ever more.
  if (std::exchange(link.resolving, true)) return drop(*session, "the name is still being resolved");
  resolver_.async_resolve(link.dialled.host, std::to_string(link.dialled.port),
                          [weak = weak_from_this(), of = std::weak_ptr(session), id = link.peer.id](
                              const Error& error, const tcp::resolver::results_type& found) {
                            const auto self = weak.lock();
                            if (!self) return;
                            if (Link* const asked = self->find(id)) asked->resolving = false;
                            const auto dialling = of.lock();
                            if (!dialling || dialling->phase != Phase::connecting) return;
                            if (error) return self->drop(*dialling, error.message());
                            self->connect(dialling, {found.begin(), found.end()});
                          });
}

void Links::Loop::connect(const SessionPointer& session, std::vector<tcp::endpoint> endpoints) {
  session->connecting.emplace(loop_);
  asio::async_connect(*session->connecting, endpoints,
                      [this, weak = std::weak_ptr(session)](const Error& error, const tcp::endpoint&) {
                        if (const auto self = weak.lock()) on_connect(self, error);
                      });
}

void Links::Loop::on_connect(const SessionPointer& session, const Error& error) {
  if (session->phase != Phase::connecting) return;
  if (error) return drop(*session, error.message());
  Error gone;
  session->from = session->connecting->remote_endpoint(gone).address();
  start(session, std::move(*session->connecting));
}

// The handlers live as long as the connection and hold the session only weakly: it is gone when we dropped
// it.
void Links::Loop::start(const SessionPointer& session, tcp::socket socket) {
  session->phase = Phase::greeting;
  session->connecting.reset();
  session->connection = std::make_shared<Connection>(std::move(socket));
  const std::weak_ptr weak = session;
  Connection::Handlers handlers = {
      .ready =
          [this, weak] {
            if (const auto self = weak.lock()) on_ready(*self);
          },
      .bytes =
          [this, weak](ByteView bytes) {
            const auto self = weak.lock();
            return self ? on_bytes(*self, bytes) : bytes.size();
          },
      .room =
          [this, weak] {
            if (const auto self = weak.lock()) write_out(*self);
          },
      .lost =
          [this, weak](const std::string& why) {
            if (const auto self = weak.lock()) drop(*self, why);
          },
  };
  const bool check = session->side == Side::dialler && options_.tls.check_host;
  session->connection->start(std::move(handlers), tls_.get(), session->side,
                             check ? session->link->peer.host : std::string());
}

void Links::Loop::count_door() {
  door_.half_open = static_cast<std::size_t>(
      std::ranges::count_if(sessions_, [](const SessionPointer& one) { return one->stranger(); }));
  door_.most_half_open = std::max(door_.most_half_open, door_.half_open);
}

// A flood of strangers does not become a flood of lines.
void Links::Loop::say_of_stranger(const Session& session, std::string_view text) {
  if (++stranger_lines_ > stranger_lines_per_beat) {
    ++stranger_lines_left_out_;
    return;
  }
  say(LogLevel::warning,
      fmt::format("{} address={}", text, session.connection ? session.connection->remote() : "?"));
}

}  // namespace conclave::live

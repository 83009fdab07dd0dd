#include "rpc/server.hpp"

#include <google/protobuf/stubs/logging.h>

#include <boost/asio/post.hpp>

#include <algorithm>
#include <boost/asio/ip/host_name.hpp>

#include "rpc/address.hpp"
#include "rpc/error_json.hpp"
#include "rpc/server_connection.hpp"

namespace conclave::rpc {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::milliseconds pause_after_error{100};
// Records of addresses without connections that are kept before they are looked through.
constexpr std::size_t spare_addresses = 1024;
// Connections that are looked at for one that may end, when a place is wanted.
constexpr std::size_t looked_at = 64;

// No answer may be larger than what one connection may have.
ServerLimits consistent(ServerLimits limits) {
  limits.session.answer_bytes = std::min(limits.session.answer_bytes, limits.memory_bytes / 2);
  return limits;
}

}  // namespace

// ---- what connections share

ServerCore::ServerCore(asio::io_context& the_loop, const ServerLimits& the_limits)
    : loop(the_loop),
      limits(consistent(the_limits)),
      memory(limits.memory_bytes),
      wheel(the_loop),
      pool(new CallPool(the_limits.session.message_bytes)),
      grace(the_loop) {
  error_code no_name;
  machine_name = host_in(asio::ip::host_name(no_name));
}

ServerCore::~ServerCore() { pool->orphan(); }

const Method* ServerCore::method(std::string_view path) const {
  const auto found = methods.find(path);
  return found == methods.end() ? nullptr : &found->second;
}

const Route* ServerCore::route(std::string_view path) const {
  if (const auto exact = routes.find(path); exact != routes.end()) return &exact->second;
  for (std::size_t slash = path.rfind('/'); slash != std::string_view::npos;
       slash = slash == 0 ? std::string_view::npos : path.rfind('/', slash - 1)) {
    if (const auto below = routes.find(path.substr(0, slash + 1)); below != routes.end())
      return &below->second;
  }
  return nullptr;
}

void ServerCore::answer_http(const HttpRequest& request, HttpReply reply) {
  const Route* found = route(request.path);
  if (found == nullptr) return reply.send(404, "text/plain", "Not Found\n");
  const auto refusal =
      refusal_of(request, found->access, [this](std::string_view name) { return is_ours(name); });
  if (!refusal) return found->handler(request, std::move(reply));
  switch (refusal->objection) {
    case Objection::host: ++stats.http_refused_host; break;
    case Objection::origin: ++stats.http_refused_origin; break;
    case Objection::type: ++stats.http_refused_type; break;
  }
  const Code code = refusal->objection == Objection::type ? Code::invalid_argument : Code::permission_denied;
  reply.send(refusal->status, "application/json", error_json({code, refusal->text}));
}

bool ServerCore::is_ours(std::string_view name) const {
  if (name == "localhost" || name == machine_name) return true;
  const auto has_name = [&](const TlsPtr& tls) {
    X509* const certificate = SSL_CTX_get0_certificate(tls->context.native_handle());
    return certificate != nullptr && X509_check_host(certificate, name.data(), name.size(), 0, nullptr) == 1;
  };
  return std::ranges::any_of(certificates, has_name) || (called && called(name));
}

void ServerCore::accept_on(const std::shared_ptr<Listener>& listener) {
  listener->acceptor.async_accept(
      [core = weak_from_this(), listener](const error_code& error, tcp::socket socket) {
        const auto self = core.lock();
        if (!self || error == asio::error::operation_aborted || !listener->acceptor.is_open()) return;
        if (!error) {
          self->add_connection(std::move(socket), listener->tls);
          return self->accept_on(listener);
        }
        // Out of files or memory: others will close theirs.
        listener->pause.expires_after(pause_after_error);
        listener->pause.async_wait([core, listener](const error_code& stopped) {
          if (const auto again = core.lock(); again && !stopped) again->accept_on(listener);
        });
      });
}

void ServerCore::add_connection(tcp::socket socket, const TlsPtr& tls) {
  error_code gone;
  const tcp::endpoint peer = socket.remote_endpoint(gone);
  if (gone) return;
  const auto address = record_of(peer.address());
  if (draining || !make_place(*address)) {
    ++stats.connections_refused;  // closing at once sends the client to another member
    return;
  }
  ++stats.connections_accepted;
  ++stats.connections_open;
  const auto id = static_cast<ConnectionId>(++last_connection);
  const auto connection = std::make_shared<ServerConnection>(*this, id, std::move(socket), tls, address);
  connections.emplace(last_connection, connection);
  connection->start();
}

std::shared_ptr<AddressRecord> ServerCore::record_of(const asio::ip::address& address) {
  if (addresses.size() >= connections.size() + spare_addresses) {
    const auto now = Clock::now();
    std::erase_if(addresses,
                  [&](const auto& one) { return one.second->places == 0 && one.second->resets.full(now); });
  }
  auto& record = addresses[network_of(address)];
  if (!record) record = std::make_shared<AddressRecord>(limits, memory);
  return record;
}

bool ServerCore::full() const {
  return places >= limits.connections || memory.used(Use::connections) >= limits.memory_bytes / 2;
}

bool ServerCore::make_place(AddressRecord& newcomer) {
  if (!full()) return true;
  if (by_places.empty()) return false;
  AddressRecord& greediest = *by_places.rbegin()->second;
  if (greediest.places <= newcomer.places + 1) return false;
  Guest* silent = nullptr;
  Guest* idle = nullptr;
  const auto longer = [](const Guest* best, const Guest& one) {
    return best == nullptr || one.heard() < best->heard();
  };
  for (std::size_t i = std::min(looked_at, greediest.guests.size()); i > 0; --i) {
    Guest& one = greediest.guests.front();
    greediest.guests.splice(greediest.guests.end(), greediest.guests, greediest.guests.begin());
    if (longer(silent, one)) silent = &one;
    if (one.idle() && longer(idle, one)) idle = &one;
  }
  const bool has_more_than_its_part = greediest.places * 4 > places * 3;
  Guest* const leaves = idle == nullptr && has_more_than_its_part ? silent : idle;
  if (leaves == nullptr) return false;
  ++stats.connections_yielded;
  leaves->cut_off();
  return true;
}

std::shared_ptr<void> ServerCore::take_place(const std::shared_ptr<AddressRecord>& address) {
  count_place(*address, 1);
  return {address.get(), [core = weak_from_this(), address](void*) {
            if (const auto self = core.lock()) self->count_place(*address, -1);
          }};
}

void ServerCore::count_place(AddressRecord& address, int more) {
  by_places.erase({address.places, &address});
  address.places += static_cast<std::size_t>(more);
  places += static_cast<std::size_t>(more);
  if (address.places > 0) by_places.insert({address.places, &address});
}

void ServerCore::handshake_begins(ServerConnection& connection) {
  if (!connection.tls()) return;
  AddressRecord& address = *connection.address();
  const bool too_many_of_it = address.handshakes * 2 >= limits.handshakes;
  if (too_many_of_it || handshakes.size() >= limits.handshakes) {
    const auto oldest = std::ranges::find_if(handshakes, [&](const auto& one) {
      return !too_many_of_it || one.second->address().get() == &address;
    });
    if (oldest != handshakes.end()) {
      ++stats.handshakes_ended;
      oldest->second->cut_off();
    }
  }
  ++address.handshakes;
  handshakes.emplace(static_cast<std::uint64_t>(connection.id()), &connection);
}

void ServerCore::handshake_over(ServerConnection& connection) {
  if (handshakes.erase(static_cast<std::uint64_t>(connection.id())) > 0) --connection.address()->handshakes;
}

void ServerCore::relieve() {
  if (std::exchange(relieving, true)) return;
  asio::post(loop, [weak = weak_from_this()] {
    if (const auto core = weak.lock()) core->relieve_now();
  });
}

// Of the connections that have more than they may, themselves or with others, one of the address that has
// most goes first, and of those the one that has most. What a connection is by itself does not count:
// thousands of idle ones have much together, and it helps nobody when one of them ends.
void ServerCore::relieve_now() {
  relieving = false;
  const auto weight = [](const auto& one) {
    const ServerConnection& connection = *one.second;
    return std::tuple(connection.account().anything_over(), connection.address()->account.used_by_calls(),
                      connection.account().used_by_calls());
  };
  while (!connections.empty()) {
    const auto worst = std::ranges::max_element(connections, {}, weight)->second;
    if (!worst->account().anything_over()) return;
    ++stats.ended_memory;
    worst->cut_off();
  }
}

void ServerCore::forget(ConnectionId id) {
  const auto found = connections.find(static_cast<std::uint64_t>(id));
  if (found == connections.end()) return;
  // It may be its own methods that got us here: it goes when they have returned.
  asio::post(loop, [connection = std::move(found->second)] {});
  connections.erase(found);
  --stats.connections_open;
  if (disconnected) disconnected(id);
  tell_if_drained();
}

void ServerCore::tell_if_drained() {
  if (!draining || !connections.empty() || !drained) return;
  grace.cancel();
  wheel.rest();
  asio::post(loop, std::exchange(drained, nullptr));
}

void ServerCore::close_all() {
  for (const auto& listener : listeners) {
    error_code ignored;
    listener->acceptor.close(ignored);
    listener->pause.cancel();
  }
  disconnected = nullptr;
  while (!connections.empty()) std::shared_ptr(connections.begin()->second)->cut_off();
}

// ---- the server

// What clients send that is no text is answered. The library of messages would tell our log of it as well, a
// line each time, and a log has an end somewhere.
Server::Server(asio::io_context& loop, const ServerLimits& limits)
    : core_(std::make_shared<ServerCore>(loop, limits)) {
  google::protobuf::SetLogHandler(nullptr);
}

Server::~Server() { core_->close_all(); }

void Server::unary(std::string path, UnaryHandler handler) {
  core_->methods[std::move(path)] = {.unary = std::move(handler)};
}
void Server::stream(std::string path, StreamHandler handler) {
  core_->methods[std::move(path)] = {.stream = std::move(handler)};
}
void Server::http(std::string path, HttpHandler handler, Access access) {
  core_->routes[std::move(path)] = {std::move(handler), access};
}
void Server::called(std::function<bool(std::string_view)> is_ours) { core_->called = std::move(is_ours); }
void Server::before_each(std::function<Status(const Call&)> check) { core_->before_each = std::move(check); }
void Server::unknown(std::function<Status(std::string_view)> answer) { core_->unknown = std::move(answer); }
void Server::on_disconnect(std::function<void(ConnectionId)> then) { core_->disconnected = std::move(then); }

void Server::disconnect(ConnectionId connection) {
  asio::post(core_->loop, [weak = std::weak_ptr(core_), connection] {
    const auto core = weak.lock();
    if (!core) return;
    const auto found = core->connections.find(static_cast<std::uint64_t>(connection));
    if (found != core->connections.end()) std::shared_ptr(found->second)->cut_off();
  });
}

std::expected<std::uint16_t, std::string> Server::listen(const std::string& address, TlsPtr tls) {
  const auto parsed = parse_address(address);
  if (!parsed) return std::unexpected(parsed.error());
  const auto wrong = [&](const error_code& error) {
    return std::unexpected("cannot listen on " + parsed->text() + ": " + error.message());
  };
  if (tls) core_->certificates.push_back(tls);
  error_code error;
  const auto found =
      tcp::resolver(core_->loop).resolve(parsed->host, parsed->port, tcp::resolver::passive, error);
  if (error) return wrong(error);
  const tcp::endpoint end = *found.begin();
  auto listener = std::make_shared<Listener>(
      Listener{tcp::acceptor(core_->loop), asio::steady_timer(core_->loop), std::move(tls)});
  tcp::acceptor& acceptor = listener->acceptor;
  if (acceptor.open(end.protocol(), error)) return wrong(error);
  if (acceptor.set_option(tcp::acceptor::reuse_address(true), error)) return wrong(error);
  if (acceptor.bind(end, error)) return wrong(error);
  if (acceptor.listen(asio::socket_base::max_listen_connections, error)) return wrong(error);
  core_->listeners.push_back(listener);
  core_->accept_on(listener);
  return acceptor.local_endpoint().port();
}

void Server::shutdown(std::chrono::milliseconds grace, std::move_only_function<void()> done) {
  core_->draining = true;
  core_->drained = std::move(done);
  for (const auto& listener : core_->listeners) {
    error_code ignored;
    listener->acceptor.close(ignored);
  }
  const auto each = [core = core_.get()](auto&& act) {
    std::vector<std::shared_ptr<ServerConnection>> all;
    for (const auto& [id, connection] : core->connections) all.push_back(connection);
    for (const auto& connection : all) act(*connection);
  };
  core_->grace.expires_after(grace);
  core_->grace.async_wait([core = std::weak_ptr(core_), each](const error_code& cancelled) {
    if (const auto held = core.lock(); held && !cancelled) each([](ServerConnection& one) { one.end_now(); });
  });
  each([](ServerConnection& one) { one.wind_down(); });
  core_->tell_if_drained();
}

ServerStats Server::stats() const {
  ServerStats stats = core_->stats;
  stats.request_bytes = core_->memory.used(Use::requests);
  stats.answer_bytes = core_->memory.used(Use::answers);
  stats.frame_bytes = core_->memory.used(Use::frames);
  stats.read_bytes = core_->memory.used(Use::reads);
  stats.watcher_bytes = core_->memory.used(Use::watchers);
  stats.stream_bytes = core_->memory.used(Use::calls);
  stats.connection_bytes = core_->memory.used(Use::connections);
  stats.handshakes_open = core_->handshakes.size();
  stats.connections_limit = core_->limits.connections;
  stats.memory_limit = core_->memory.limit();
  return stats;
}
asio::io_context& Server::loop() const { return core_->loop; }

}  // namespace conclave::rpc

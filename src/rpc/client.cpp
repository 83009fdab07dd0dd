#include "rpc/client.hpp"

#include "rpc/channel_core.hpp"
#include "rpc/client_connection.hpp"

namespace conclave::rpc {

// ---- the handle of a call

ClientStream::ClientStream(ClientCall* call) : call_(call) {
  if (call_ != nullptr) intrusive_ptr_add_ref(call_);
}
ClientStream::ClientStream(const ClientStream& other) : ClientStream(other.call_) {}
ClientStream::ClientStream(ClientStream&& other) noexcept : call_(std::exchange(other.call_, nullptr)) {}
ClientStream& ClientStream::operator=(ClientStream other) noexcept {
  std::swap(call_, other.call_);
  return *this;
}
ClientStream::~ClientStream() {
  if (call_ != nullptr) intrusive_ptr_release(call_);
}

bool ClientStream::send(std::string_view message) { return call_->send(message); }
bool ClientStream::send(const google::protobuf::MessageLite& message) { return call_->send(message); }
void ClientStream::half_close() { call_->half_close(); }
void ClientStream::cancel() { call_->cancel({Code::cancelled, "cancelled by the caller"}); }
void ClientStream::fail(Status status) { call_->cancel(std::move(status)); }
bool ClientStream::over() const { return call_->over(); }
bool ClientStream::congested() const { return call_->congested(); }
void ClientStream::on_writable(std::move_only_function<void()> then) {
  if (!call_->over()) call_->writable = std::move(then);
}
void ClientStream::pause() { call_->pause(); }
void ClientStream::resume() { call_->resume(); }

// ---- the channel

std::expected<std::unique_ptr<Channel>, std::string> Channel::open(boost::asio::io_context& loop,
                                                                   const ChannelOptions& options) {
  if (options.endpoints.empty()) return std::unexpected("a channel needs at least one endpoint");
  auto core = std::make_shared<ChannelCore>(loop, options);
  bool tls = false;
  for (const std::string& endpoint : options.endpoints) {
    const auto address = parse_address(endpoint);
    if (!address) return std::unexpected(address.error());
    tls = tls || address->tls;
    core->addresses.push_back(*address);
  }
  if (tls) {
    auto context = client_tls(options.tls);
    if (!context) return std::unexpected(context.error());
    core->tls = *context;
  }
  return std::unique_ptr<Channel>(new Channel(std::move(core)));
}

Channel::~Channel() { close(); }

namespace {

template <class Request>
ClientStream start_unary(const std::shared_ptr<ChannelCore>& core, std::string_view path,
                         const Request& request, const CallOptions& options, Channel::Done done) {
  const ClientCallPtr call(
      new ClientCall(core, path, options, true, {.message = {}, .closed = std::move(done)}));
  call->send(request);
  call->half_close();
  core->start(call);
  return ClientStream(call.get());
}

}  // namespace

ClientStream Channel::unary(std::string_view path, std::string_view request, const CallOptions& options,
                            Done done) {
  return start_unary(core_, path, request, options, std::move(done));
}

ClientStream Channel::unary(std::string_view path, const google::protobuf::MessageLite& request,
                            const CallOptions& options, Done done) {
  return start_unary(core_, path, request, options, std::move(done));
}

ClientStream Channel::stream(std::string_view path, const CallOptions& options, StreamEvents events) {
  const ClientCallPtr call(new ClientCall(core_, path, options, false, std::move(events)));
  core_->start(call);
  return ClientStream(call.get());
}

void Channel::set_metadata(Metadata metadata) { core_->options.metadata = std::move(metadata); }
void Channel::next_endpoint() { core_->leave_endpoint(); }
std::string Channel::endpoint() const { return core_->connection ? core_->connection->address().text() : ""; }
void Channel::on_connection(std::function<void(const std::string&, const Status&)> then) {
  core_->told = std::move(then);
}
void Channel::close() { core_->close(); }

}  // namespace conclave::rpc

#include "rpc/caller.hpp"

#include <google/protobuf/util/json_util.h>

#include <nlohmann/json.hpp>

#include "rpc/error_json.hpp"
#include "rpc/json_shape.hpp"
#include "rpc/offer.hpp"

namespace conclave::rpc {

namespace {

class GrpcCaller final : public Caller {
 public:
  explicit GrpcCaller(Call call) : call_(std::move(call)) {}
  void answer(const google::protobuf::Message& response) override { call_.reply(response); }
  void refuse(const Status& status) override { call_.finish(status); }
  void tell(const google::protobuf::Message& response) override { call_.send(response); }
  bool congested() const override { return call_.congested(); }
  void on_room(std::move_only_function<void()> then) override { call_.on_writable(std::move(then)); }
  std::size_t room() const override { return call_.room(); }
  std::size_t largest_answer() const override { return call_.largest_answer(); }
  void when_room(std::size_t bytes, std::move_only_function<void()> then) override {
    call_.when_room(bytes, std::move(then));
  }
  void reserve(std::size_t bytes) override { call_.reserve(bytes); }
  bool takes_json() const override { return false; }
  bool hold(std::size_t bytes) override { return call_.hold(bytes); }
  void begin_answer(std::size_t bytes) override { call_.begin_message(bytes); }
  void add_to_answer(std::string_view piece) override { call_.add_to_message(piece); }
  void end_answer() override { call_.finish({}); }
  bool over() const override { return call_.over(); }
  void on_gone(std::move_only_function<void()> then) override {
    call_.on_cancel([then = std::move(then)](const Status&) mutable { then(); });
  }
  const Peer& peer() const override { return call_.peer(); }

 private:
  Call call_;
};

// etcd's gateway: whole answers as they are, answers of many as lines of {"result": …}.
class JsonCaller final : public Caller {
 public:
  JsonCaller(HttpReply reply, Peer peer, bool many)
      : reply_(std::move(reply)), peer_(std::move(peer)), many_(many) {}

  void answer(const google::protobuf::Message& response) override {
    if (!many_) return reply_.send(200, "application/json", in_json(response));
    tell(response);
    reply_.end();
  }
  void refuse(const Status& status) override {
    if (began_) return reply_.end();
    reply_.send(http_status(status.code), "application/json", error_json(status));
  }
  void tell(const google::protobuf::Message& response) override {
    if (!std::exchange(began_, true)) reply_.begin(200, {{"content-type", "application/json"}});
    reply_.write("{\"result\":" + in_json(response) + "}\n");
  }
  bool congested() const override { return reply_.congested(); }
  void on_room(std::move_only_function<void()> then) override { reply_.on_writable(std::move(then)); }
  std::size_t room() const override { return reply_.room(); }
  std::size_t largest_answer() const override { return reply_.largest_answer(); }
  void when_room(std::size_t bytes, std::move_only_function<void()> then) override {
    reply_.when_room(bytes, std::move(then));
  }
  void reserve(std::size_t) override {}
  bool hold(std::size_t bytes) override { return reply_.hold(bytes); }
  bool takes_json() const override { return true; }
  void begin_answer(std::size_t bytes) override {
    reply_.begin(200, {{"content-type", "application/json"}}, bytes);
  }
  void add_to_answer(std::string_view piece) override { reply_.write(piece); }
  void end_answer() override { reply_.end(); }
  bool over() const override { return reply_.over(); }
  void on_gone(std::move_only_function<void()> then) override { reply_.on_closed(std::move(then)); }
  const Peer& peer() const override { return peer_; }

 private:
  HttpReply reply_;
  Peer peer_;
  bool many_;
  bool began_ = false;
};

}  // namespace

std::string in_json(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto done = google::protobuf::util::MessageToJsonString(message, &text, options);
  return done.ok() ? text : "{}";
}

std::string error_json(const Status& status) {
  const nlohmann::ordered_json error = {
      {"error", status.message}, {"message", status.message}, {"code", static_cast<int>(status.code)}};
  return error.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

CallerPtr grpc_caller(Call call) { return std::make_shared<GrpcCaller>(std::move(call)); }

CallerPtr json_caller(const HttpRequest& http, const HttpReply& reply, bool many,
                      google::protobuf::Message& request) {
  if (http.method != "POST") {
    reply.send(405, {{"content-type", "text/plain"}, {"allow", "POST"}}, "Method Not Allowed\n");
    return nullptr;
  }
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const std::string body = http.body.empty() ? "{}" : std::string(http.body);
  if (const std::string_view why = objection_to(body); !why.empty()) {
    reply.send(400, "application/json", error_json({Code::invalid_argument, std::string(why)}));
    return nullptr;
  }
  const auto read = google::protobuf::util::JsonStringToMessage(body, &request, options);
  if (!read.ok()) {
    const Status wrong = {Code::invalid_argument, std::string(read.message())};
    reply.send(http_status(wrong.code), "application/json", error_json(wrong));
    return nullptr;
  }
  return std::make_shared<JsonCaller>(reply, http.peer, many);
}

}  // namespace conclave::rpc

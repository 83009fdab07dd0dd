// Whatever a client asks of the store, by protobuf or by JSON, is refused or done: what passes the checks can
// be read back from the log, is answered, and leaves a store whose digest is right. The input is a list of
// requests, each with its kind, its length (2 bytes) and its bytes; they are applied to one small store.
#include <proto/rpc.pb.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "etcd/pieces.hpp"
#include "etcd/translate.hpp"
#include "kv/store.hpp"
#include "rpc/offer.hpp"

namespace {

using namespace conclave;
namespace pb = etcdserverpb;

void require(bool claim, const char* belief) {
  if (claim) return;
  std::fprintf(stderr, "%s\n", belief);
  std::abort();
}

// Takes the answers, as a connection would that nobody reads.
class Sink final : public rpc::HttpSink {
 public:
  void begin(unsigned status, const rpc::Metadata&, std::optional<std::size_t>) override { status_ = status; }
  bool write(std::string_view bytes) override {
    written_ += bytes.size();
    return true;
  }
  void end() override { ended_ = true; }
  bool over() const override { return ended_; }
  bool congested() const override { return false; }
  void on_writable(std::move_only_function<void()>) override {}
  void on_closed(std::move_only_function<void()>) override {}
  std::size_t room() const override { return 1 << 20; }
  std::size_t largest_answer() const override { return 1 << 20; }
  void when_room(std::size_t, std::move_only_function<void()>) override {}

  bool answered() const { return ended_ && status_ >= 200 && written_ > 0; }

 private:
  unsigned status_ = 0;
  std::size_t written_ = 0;
  bool ended_ = false;
};

class Asked {
 public:
  Asked() {
    for (const char* key : {"a", "b", "c/d", ""}) apply(kv::Put{.key = key, .value = "value"});
    apply(kv::LeaseGrant{.id = 7, .ttl = 10});
  }

  template <class Request>
  void ask(std::string_view bytes, bool in_json) {
    Request request;
    if (!in_json) {
      if (rpc::typed::parse(request, bytes)) take(request, nullptr);
      return;
    }
    const auto sink = std::make_shared<Sink>();
    const rpc::Metadata headers = {{"content-type", "application/json"}};
    const rpc::HttpRequest http = {
        .method = "POST", .path = "/", .query = {}, .body = bytes, .headers = headers, .peer = peer_};
    const auto caller = rpc::json_caller(http, rpc::HttpReply(sink), false, request);
    if (!caller) return require(sink->answered(), "whoever is refused is told so");
    take(request, caller);
    if (!sink->over()) caller->refuse({rpc::Code::invalid_argument, "refused"});
    require(sink->answered(), "whoever asks is answered");
  }

  void check_digest() const {
    require(store_.digest() == store_.recomputed_digest(), "the digest is that of the records");
  }

 private:
  void take(const pb::PutRequest& request, const rpc::CallerPtr& caller) {
    const auto answer = run(etcd::command_of(request));
    answer_with<pb::PutResponse, kv::PutResult>(answer, caller,
                                                [](auto& to, const auto& result) { etcd::fill(to, result); });
  }
  void take(const pb::DeleteRangeRequest& request, const rpc::CallerPtr& caller) {
    const auto answer = run(etcd::command_of(request));
    answer_in_pieces<pb::DeleteRangeResponse, kv::DeleteResult>(answer, caller);
  }
  void take(const pb::TxnRequest& request, const rpc::CallerPtr& caller) {
    const auto command = etcd::command_of(request);
    if (!command) return;
    const auto answer = run(*command);
    answer_in_pieces<pb::TxnResponse, kv::TxnResult>(answer, caller);
    require(!etcd::only_reads(request) || !answer || answer->revision == before_,
            "who only reads writes nothing");
  }
  void take(const pb::RangeRequest& request, const rpc::CallerPtr& caller) {
    const auto range = etcd::command_of(request);
    if (!range || !kv::check(*range)) return;
    auto result = store_.range(*range);
    if (!result) return;
    require(request.limit() <= 0 || result->kvs.size() <= static_cast<std::size_t>(request.limit()),
            "a limit is kept");
    tell<pb::RangeResponse>(std::move(*result), caller);
  }
  void take(const pb::CompactionRequest& request, const rpc::CallerPtr&) {
    run(kv::Compact{.revision = request.revision()});
  }
  void take(const pb::LeaseGrantRequest& request, const rpc::CallerPtr&) {
    run(kv::LeaseGrant{.id = request.id(), .ttl = request.ttl()});
  }

  template <class Response, class Result, class Fill>
  void answer_with(const std::optional<kv::Answer>& answer, const rpc::CallerPtr& caller, Fill fill) {
    if (!answer || std::holds_alternative<kv::Error>(answer->result)) return;
    Response response;
    fill(response, std::get<Result>(answer->result));
    if (caller) caller->answer(response);
  }

  template <class Response, class Result>
  void answer_in_pieces(const std::optional<kv::Answer>& answer, const rpc::CallerPtr& caller) {
    if (!answer || std::holds_alternative<kv::Error>(answer->result)) return;
    tell<Response>(std::get<Result>(answer->result), caller);
  }
  template <class Response>
  void tell(etcd::Pieces::Result result, const rpc::CallerPtr& caller) {
    pb::ResponseHeader header;
    header.set_revision(store_.revision());
    etcd::Pieces pieces(caller != nullptr, header, std::move(result));
    std::size_t work = SIZE_MAX;
    pieces.measure(work);
    std::string text;
    while (pieces.write(text, text.size() + 100)) continue;
    require(text.size() == pieces.bytes(), "the size of an answer is known before");
    Response response;
    if (!caller) return require(response.ParseFromString(text), "an answer is a message");
    caller->begin_answer(pieces.bytes());
    caller->add_to_answer(text);
    caller->end_answer();
  }

  // As a leader and a log do: what passes the check is written down, and read again before it is applied.
  std::optional<kv::Answer> run(const kv::Command& command) {
    if (!kv::check(command)) return {};
    const Bytes bytes = encode(command);
    const auto read = decode<kv::Command>(std::span<const std::uint8_t>(bytes));
    require(read.has_value() && kv::check(*read).has_value(), "what was checked can be read from the log");
    return apply(*read);
  }
  kv::Answer apply(const kv::Command& command) {
    before_ = store_.revision();
    return store_.apply(command, {++index_, 1}, outcome_);
  }

  kv::Store store_;
  kv::Outcome outcome_;
  std::uint64_t index_ = 0;
  kv::Revision before_ = 0;
  rpc::Peer peer_;
};

void ask(Asked& asked, std::uint8_t kind, std::string_view bytes) {
  const bool in_json = kind % 2 == 1;
  switch (kind / 2 % 6) {
    case 0: return asked.ask<pb::TxnRequest>(bytes, in_json);
    case 1: return asked.ask<pb::PutRequest>(bytes, in_json);
    case 2: return asked.ask<pb::RangeRequest>(bytes, in_json);
    case 3: return asked.ask<pb::DeleteRangeRequest>(bytes, in_json);
    case 4: return asked.ask<pb::CompactionRequest>(bytes, in_json);
    default: return asked.ask<pb::LeaseGrantRequest>(bytes, in_json);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Asked asked;
  std::span<const std::uint8_t> rest(data, size);
  while (rest.size() >= 3) {
    const std::size_t length = std::min<std::size_t>(rest[1] + 256u * rest[2], rest.size() - 3);
    ask(asked, rest[0], {reinterpret_cast<const char*>(rest.data()) + 3, length});
    rest = rest.subspan(3 + length);
  }
  asked.check_digest();
  return 0;
}

// etcd's KV service.
#include "etcd/front.hpp"
#include "etcd/translate.hpp"

namespace conclave::etcd {

namespace pb = etcdserverpb;

void Front::offer_kv() {
  const std::string service = "/etcdserverpb.KV/";
  const std::string json = "/v3/kv/";
  offer<pb::RangeRequest>(service + "Range", json + "range",
                          [this](const auto& request, const CallerPtr& caller) { range(request, caller); });
  offer<pb::PutRequest>(service + "Put", json + "put",
                        [this](const auto& request, const CallerPtr& caller) { put(request, caller); });
  offer<pb::DeleteRangeRequest>(
      service + "DeleteRange", json + "deleterange",
      [this](const auto& request, const CallerPtr& caller) { delete_range(request, caller); });
  offer<pb::TxnRequest>(service + "Txn", json + "txn",
                        [this](const auto& request, const CallerPtr& caller) { txn(request, caller); });
  offer<pb::CompactionRequest>(
      service + "Compact", json + "compaction",
      [this](const auto& request, const CallerPtr& caller) { compact(request, caller); });
}

void Front::range(const pb::RangeRequest& request, const CallerPtr& caller) {
  if (request.serializable()) return answer_range(request, caller);
  machine_.read([this, request, caller](const rpc::Status& status) {
    if (!status.ok()) return caller->refuse(status);
    if (!caller->over()) answer_range(request, caller);
  });
}

void Front::answer_range(const pb::RangeRequest& request, const CallerPtr& caller) const {
  const auto command = command_of(request);
  if (!command) return caller->refuse(command.error());
  const auto result = machine_.store().range(*command);
  if (!result) return caller->refuse(status_of(result.error()));
  pb::RangeResponse response;
  head(response.mutable_header(), machine_.store().revision());
  fill(response, *result, request.keys_only());
  caller->answer(response);
}

void Front::put(const pb::PutRequest& request, const CallerPtr& caller) {
  run<pb::PutResponse, kv::PutResult>(command_of(request), caller,
                                      [](auto& response, const auto& result) { fill(response, result); });
}

void Front::delete_range(const pb::DeleteRangeRequest& request, const CallerPtr& caller) {
  run<pb::DeleteRangeResponse, kv::DeleteResult>(
      command_of(request), caller, [](auto& response, const auto& result) { fill(response, result); });
}

void Front::txn(const pb::TxnRequest& request, const CallerPtr& caller) {
  auto command = command_of(request);
  if (!command) return caller->refuse(command.error());
  run<pb::TxnResponse, kv::TxnResult>(std::move(*command), caller,
                                      [request](auto& response, const auto& result) {
                                        fill(response, result, request, response.header().revision());
                                      });
}

// Space comes back with the commands that follow, a little with each; `physical` does not wait for that.
void Front::compact(const pb::CompactionRequest& request, const CallerPtr& caller) {
  run<pb::CompactionResponse, kv::Done>(kv::Compact{request.revision()}, caller, [](auto&, const auto&) {});
}

}  // namespace conclave::etcd

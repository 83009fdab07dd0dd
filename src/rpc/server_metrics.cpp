#include "rpc/server_metrics.hpp"

namespace conclave::rpc {

void tell(MetricsPage& page, const ServerStats& stats) {
  page.gauge("connections", "Connections of clients that are open.", stats.connections_open);
  page.gauge("connections_limit", "Connections of clients that may be open at a time.",
             stats.connections_limit);
  page.counter("connections_accepted_total", "Connections of clients that were accepted.",
               stats.connections_accepted);
  page.counter("connections_refused_total", "Connections that were closed at once, for there was no place.",
               stats.connections_refused);
  page.counter(
      "connections_yielded_total",
      "Connections of the address with most of them that were ended for newcomers from other addresses.",
      stats.connections_yielded);
  page.counter("connections_timed_out_total",
               "Connections that were ended because their client was silent or took nothing.",
               stats.timed_out);
  page.counter("connections_ended_memory_total",
               "Connections that were ended because they had most of the memory when it was used up.",
               stats.ended_memory);
  page.counter("connections_ended_resets_total",
               "Connections that were ended because clients of their address cancelled too many calls.",
               stats.ended_resets);
  page.gauge("handshakes", "TLS handshakes of clients that are under way.", stats.handshakes_open);
  page.counter("handshakes_ended_total", "TLS handshakes that were ended because too many were under way.",
               stats.handshakes_ended);
  page.gauge("calls", "Calls that are under way.", stats.calls_open);
  page.counter("calls_total", "Calls that were made.", stats.calls_started);
  page.counter("calls_cancelled_total", "Calls that ended before they were answered.", stats.calls_cancelled);
  page.counter("calls_refused_streams_total",
               "Calls that were refused because their connection had too many open.",
               stats.calls_refused_streams);
  page.counter("calls_refused_memory_total",
               "Calls that were refused because the memory for clients was used up.",
               stats.calls_refused_memory);
  page.counter("answers_not_taken_total",
               "Large answers that were given up because the client did not take them.",
               stats.answers_not_taken);
  page.counter("http_requests_total", "Requests over plain HTTP.", stats.http_requests);
  page.counter("http_refused_type_total",
               "Requests over plain HTTP that were refused because of their content type.",
               stats.http_refused_type);
  page.counter("http_refused_host_total",
               "Requests over plain HTTP that were refused because the host they name is not this server.",
               stats.http_refused_host);
  page.counter("http_refused_origin_total",
               "Requests over plain HTTP that were refused because a web page of somebody else made them.",
               stats.http_refused_origin);
  page.counter("bad_requests_total", "Requests and connections that broke the protocol.", stats.bad_requests);
  page.counter("received_bytes_total", "Bytes that came from clients.", stats.bytes_received);
  page.counter("sent_bytes_total", "Bytes that were sent to clients.", stats.bytes_sent);
  page.gauge("client_memory_limit_bytes", "Memory that all clients together may use.", stats.memory_limit);
  page.gauge("client_memory_requests_bytes",
             "Memory of requests that are half received or wait for their turn.", stats.request_bytes);
  page.gauge("client_memory_answers_bytes", "Memory of answers that clients have not taken yet.",
             stats.answer_bytes);
  page.gauge("client_memory_reads_bytes", "Memory reserved for answers that are being made.",
             stats.read_bytes);
  page.gauge("client_memory_calls_bytes", "Memory of calls that are open.", stats.stream_bytes);
  page.gauge("client_memory_frames_bytes", "Memory of HTTP/2 frames that wait to be sent.",
             stats.frame_bytes);
  page.gauge("client_memory_connections_bytes", "Memory of connections, apart from what is said on them.",
             stats.connection_bytes);
}

}  // namespace conclave::rpc

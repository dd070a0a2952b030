import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// Large bodies are compressed on threads of their own, a few at a time: it takes a tenth of a second for each 2 MB, in
/// which an event loop would serve nobody.
private let compressing = Turns(2)

/// Responds with the text, a strong ETag and the negotiated content coding, or with 304 if the
/// client has it.
///
/// - Parameter person: who waits for a large body; "" is nobody.
/// - Throws: ``Problem`` if the client accepts neither coding; ``CompressionError``.
func textResponse(
  _ text: String, _ headers: HTTPFields, _ request: Request, of person: String = ""
) async throws -> Response {
  let coding = try ContentCoding(
    accepted: request.headers[.acceptEncoding], bytes: text.utf8.count)
  let digest = base64URLEncoded(SHA256.hash(data: Data(text.utf8)).prefix(16))
  let tag = "\"\(digest)\(coding.tagSuffix)\""
  var headers = headers
  headers[.eTag] = tag
  headers.vary(on: "Accept-Encoding")
  if let known = request.headers[.ifNoneMatch], matches(known, tag) {
    headers[.contentType] = nil
    var response = Response(status: .notModified, headers: headers)
    // A Content-Length would be that of the body that the client already has.
    response.headers[.contentLength] = nil
    return response
  }
  guard coding == .gzip else {
    return Response(
      status: .ok, headers: headers, body: .init(byteBuffer: ByteBuffer(string: text)))
  }
  headers[.contentEncoding] = "gzip"
  let bytes = Array(text.utf8)
  let coded =
    bytes.count < GatewayLimits.compressedAtOnceBytes
    ? try gzipped(bytes)
    : try await compressing.run(of: person) {
      try await onThread { () throws(CompressionError) in try gzipped(bytes) }
    }
  return Response(
    status: .ok, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: coded)))
}

/// Whether `If-None-Match` contains the tag, by weak comparison, as RFC 9110 prescribes.
private func matches(_ header: String, _ tag: String) -> Bool {
  header.split(separator: ",").contains { item in
    let item = item.drop { $0 == " " }.prefix { $0 != " " }
    return item == "*" || item == tag || item == "W/" + tag
  }
}

import AsyncHTTPClient
package import Foundation
import NIOCore

/// The bytes at a URL; a redirection is an error, because it could lead anywhere.
///
/// - Parameters:
///   - accept: the types of content that can be used.
///   - bytesMax: longer answers are an error.
///   - seconds: how long it may take.
/// - Throws: what AsyncHTTPClient throws, and ``FetchError`` for an answer other than 200.
package func fetched(
  _ url: URL, accept: String, bytesMax: Int, seconds: Int64
) async throws -> Data {
  var configuration = HTTPClient.Configuration(
    redirectConfiguration: .disallow,
    timeout: .init(connect: .seconds(seconds), read: .seconds(seconds)))
  configuration.httpVersion = .http1Only
  let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  do {
    var request = HTTPClientRequest(url: url.absoluteString)
    request.headers.add(name: "Accept", value: accept)
    let response = try await client.execute(request, timeout: .seconds(seconds))
    guard response.status == .ok else {
      throw FetchError(description: "the answer is \(response.status.code)")
    }
    let body = try await response.body.collect(upTo: bytesMax)
    try await client.shutdown()
    return Data(body.readableBytesView)
  } catch {
    try? await client.shutdown()
    throw error
  }
}

/// An answer that cannot be used.
package struct FetchError: Error, CustomStringConvertible {
  package let description: String
}

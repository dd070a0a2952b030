import AsyncHTTPClient
package import Foundation
import NIOCore

/// Downloads a URL. A redirection is an error, because its target is not under the operator's
/// control.
///
/// - Parameters:
///   - accept: the value of the `Accept` header.
///   - bytesMax: a longer response body is an error.
///   - seconds: the timeout.
/// - Throws: the errors of AsyncHTTPClient, and ``FetchError`` for a status other than 200.
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

/// A response that cannot be used.
package struct FetchError: Error, CustomStringConvertible {
  package let description: String
}

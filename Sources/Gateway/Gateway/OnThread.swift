import Dispatch

/// Runs blocking work outside of the concurrency thread pool, on a Dispatch thread.
///
/// - Throws: what `body` throws.
package func onThread<Value: Sendable, Failure: Error>(
  _ body: @escaping @Sendable () throws(Failure) -> Value
) async throws(Failure) -> Value {
  let result = await withCheckedContinuation { continuation in
    DispatchQueue.global().async {
      continuation.resume(
        returning: Result { () throws(Failure) -> Value in try body() })
    }
  }
  return try result.get()
}

import CLibPQ

/// Cancels the statement that a connection is running, from any thread.
///
/// `@unchecked Sendable`: libpq's cancel object is immutable, and `PQcancel` may be called from any
/// thread.
public final class Cancellation: @unchecked Sendable {
  private let pointer: OpaquePointer

  init?(_ connection: OpaquePointer) {
    guard let pointer = PQgetCancel(connection) else { return nil }
    self.pointer = pointer
  }

  deinit { PQfreeCancel(pointer) }

  /// Sends a cancel request over a separate connection. The running statement fails with SQLSTATE
  /// 57014; if it has already finished, the request has no effect. Blocks while the server is
  /// unreachable.
  public func cancel() {
    var reason = [CChar](repeating: 0, count: 256)
    _ = PQcancel(pointer, &reason, Int32(reason.count))
  }
}

import CLibPQ

/// Cancels whatever statement a connection is running, from any thread.
///
/// `@unchecked Sendable`: libpq's cancel object does not change, and `PQcancel` may be called on any
/// thread.
public final class Cancellation: @unchecked Sendable {
  private let pointer: OpaquePointer

  init?(_ connection: OpaquePointer) {
    guard let pointer = PQgetCancel(connection) else { return nil }
    self.pointer = pointer
  }

  deinit { PQfreeCancel(pointer) }

  /// Asks the server, over a connection of its own. A statement that it reaches in time fails with
  /// SQLSTATE 57014; there may be none any more. Blocks while the server cannot be reached.
  public func cancel() {
    var reason = [CChar](repeating: 0, count: 256)
    _ = PQcancel(pointer, &reason, Int32(reason.count))
  }
}

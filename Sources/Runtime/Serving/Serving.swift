public import Hummingbird
import ServiceLifecycle

extension ApplicationProtocol {
  /// Serves until the task is cancelled or the process is shut down gracefully. Then stops listening,
  /// and finishes requests that are under way; connections that clients keep open for longer than
  /// `openSecondsMax` are closed.
  ///
  /// Hummingbird's `run` waits for such clients without a limit. It must not be cancelled while it
  /// accepts connections: NIO ends the process, with "Deinited NIOAsyncWriter without calling
  /// finish()", if one has been accepted that nobody serves any more.
  ///
  /// - Throws: NIO's errors if the address cannot be had.
  public func serve(openSecondsMax: Int = 10) async throws {
    var configuration = ServiceGroupConfiguration(services: [self], logger: logger)
    configuration.maximumGracefulShutdownDuration = .seconds(openSecondsMax)
    let group = ServiceGroup(configuration: configuration)
    // A detached task is neither cancelled nor shut down with its parent.
    let serving = Task.detached { try await group.run() }
    try await withTaskCancellationOrGracefulShutdownHandler {
      do {
        try await serving.value
      } catch is CancellationError {
        // Clients have kept connections open.
      }
    } onCancelOrGracefulShutdown: {
      Task { await group.triggerGracefulShutdown() }
    }
  }
}

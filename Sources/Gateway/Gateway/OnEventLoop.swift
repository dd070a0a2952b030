import HummingbirdCore
import Logging
import NIOCore

/// Runs each connection's tasks on its event loop.
///
/// On Swift's global executor, each request would wake two more threads: one of the executor's, and
/// the event loop's to write the response. The price is that request handling must never block;
/// libpq has threads of its own.
struct OnEventLoop<Base: ServerChildChannel>: ServerChildChannel {
  let base: Base

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
    // Each connection keeps a receive buffer, which grows when it is full. Most requests fit into
    // this initial size.
    let buffers = AdaptiveRecvByteBufferAllocator(minimum: 64, initial: 512, maximum: 1 << 16)
    do {
      try channel.syncOptions?.setOption(.recvAllocator, value: buffers)
    } catch {
      return channel.eventLoop.makeFailedFuture(error)
    }
    return base.setup(channel: channel, logger: logger)
  }

  func handle(value: Base.Value, logger: Logger) async {
    await withTaskExecutorPreference(EventLoopTasks(value.channel.eventLoop)) {
      await base.handle(value: value, logger: logger)
    }
  }
}

/// A task executor that runs jobs on an event loop.
private final class EventLoopTasks: TaskExecutor {
  private let loop: any EventLoop

  init(_ loop: any EventLoop) { self.loop = loop }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.execute { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}

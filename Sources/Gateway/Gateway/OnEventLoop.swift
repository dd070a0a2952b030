import HummingbirdCore
import Logging
import NIOCore

/// Connections whose tasks run on their event loops.
///
/// On Swift's own threads, each request would wake two more: one of these, and the event loop to write its
/// answer. In return, nothing that answers requests may block: libpq has threads of its own.
struct OnEventLoop<Base: ServerChildChannel>: ServerChildChannel {
  let base: Base

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
    // A connection keeps its buffer, which grows when it is full. Most requests are smaller than this.
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

/// Runs tasks on an event loop.
private final class EventLoopTasks: TaskExecutor {
  private let loop: any EventLoop

  init(_ loop: any EventLoop) { self.loop = loop }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.execute { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}

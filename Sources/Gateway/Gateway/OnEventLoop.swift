import HummingbirdCore
import Logging
import NIOCore
import NIOHTTPTypesHTTP1

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

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
      try limitUnsent(channel)
    } catch {
      return channel.eventLoop.makeFailedFuture(error)
    }
    return base.setup(channel: channel, logger: logger).flatMapThrowing { value in
      let pipeline = channel.pipeline.syncOperations
      let codec = try pipeline.handler(type: HTTP1ToHTTPServerCodec.self)
      try pipeline.addHandler(ConnectionHeader(), position: .before(codec))
      return value
    }
  }

  func handle(value: Base.Value, logger: Logger) async {
    await withTaskExecutorPreference(EventLoopTasks(value.channel.eventLoop)) {
      await base.handle(value: value, logger: logger)
    }
  }
}

/// Limits how much of what a connection is sent is buffered, and how long for a peer that has gone
/// without a trace, such as a phone that has changed its network.
private func limitUnsent(_ channel: any Channel) throws {
  let (low, high) = (GatewayLimits.heldBytes / 2, GatewayLimits.heldBytes)
  try channel.syncOptions?.setOption(.writeBufferWaterMark, value: .init(low: low, high: high))
  try channel.syncOptions?.setOption(
    .socketOption(.so_sndbuf), value: .init(GatewayLimits.sendBufferBytes))
  #if os(Linux)
    try channel.syncOptions?.setOption(
      .tcpOption(.init(rawValue: TCP_USER_TIMEOUT)),
      value: .init(GatewayLimits.unacknowledgedSeconds * 1000))
  #endif
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

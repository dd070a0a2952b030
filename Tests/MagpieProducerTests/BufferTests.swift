import Events
import TestSupport
import Testing

@testable import MagpieProducer

@Suite("Waiting for room in the buffer")
struct BufferTests {
  @Test("callers are admitted in the order in which they came, whoever else is cancelled")
  func order() async throws {
    let buffer = Buffer(maxEvents: 1, maxBytes: .max)
    var ticket = try await buffer.admit(like(0), bytes: 1)
    var waiters: [Task<Buffer.Ticket, any Error>] = []
    for number in 1...30 {
      waiters.append(Task { try await buffer.admit(like(number), bytes: 1) })
      try await eventually { buffer.roomWaiterCount == number }
    }
    for index in stride(from: 0, to: 30, by: 3) {
      let cancelled = waiters[index]
      cancelled.cancel()
      await #expect(throws: CancellationError.self) { try await cancelled.value }
    }
    for (index, waiter) in waiters.enumerated() where index % 3 != 0 {
      buffer.settle(ticket)
      try #require(buffer.takeUndelivered().map(\.event.id) == ["like-\(index + 1)"])
      ticket = try await waiter.value
    }
    #expect(buffer.roomWaiterCount == 0)
  }

  @Test("once a caller that needs much room is cancelled, the next one that fits is admitted")
  func cancelledFirst() async throws {
    let buffer = Buffer(maxEvents: 10, maxBytes: 10)
    _ = try await buffer.admit(like(0), bytes: 5)
    let large = Task { try await buffer.admit(like(1), bytes: 8) }
    try await eventually { buffer.roomWaiterCount == 1 }
    let small = Task { try await buffer.admit(like(2), bytes: 2) }
    try await eventually { buffer.roomWaiterCount == 2 }
    large.cancel()
    await #expect(throws: CancellationError.self) { try await large.value }
    _ = try await small.value
  }
}

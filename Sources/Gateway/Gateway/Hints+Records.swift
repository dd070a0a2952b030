import Events

// Decides when streams look after a record.
extension Hints {
  /// Notes a published record that may change the screens that the hint names.
  func hint(_ hint: Hint, _ record: Position) {
    let isWaiting = state.withLock { state -> Bool? in
      guard state.watching[hint.subject] != nil else { return nil }
      guard case .person = hint.subject else { return false }
      let groups = ConsumerGroup.reading(record.topic, includingOptional: false)
      return !groups.isEmpty
        && groups.allSatisfy { group in
          state.unapplied.add(
            hint,
            .init(group: group, topic: record.topic, partition: record.partition),
            offset: record.offset)
        }
    }
    switch isWaiting {
    case true?: arrived.yield()
    case false?: schedule(hint)
    case nil: break
    }
  }

  /// Drops pending records of a partition at offset `end` or later, after the topic was recreated.
  func forget(_ topic: Topic, _ partition: Int32, from end: Int64) {
    state.withLock { $0.unapplied.forget(topic, partition, from: end) }
  }

  /// Wakes streams once the records of their hints are applied. Runs until ``close()`` or until its
  /// task is cancelled.
  ///
  /// - Parameter nextOffsets: reads the offsets that workers have stored for these sources; a
  ///   source without a row may be missing from its result.
  func follow(
    _ nextOffsets: ([UnappliedHints.Source]) async throws -> [(UnappliedHints.Source, Int64)]
  ) async {
    for await _ in arrivals {
      while !Task.isCancelled {
        let sources = state.withLock { $0.unapplied.sources }
        guard !sources.isEmpty else { break }
        do {
          for (source, offset) in try await nextOffsets(sources) {
            let hints = state.withLock { $0.unapplied.take(source, before: offset) }
            for hint in hints { wake(hint) }
          }
          await pause(.milliseconds(20))
        } catch {
          // While PostgreSQL is unavailable, looks would fail, too.
          await pause(.seconds(1))
        }
      }
    }
  }

  private func schedule(_ hint: Hint) {
    let isNew = state.withLock { state in
      state.scheduled.updateValue(true, forKey: hint) == nil
    }
    guard isNew else { return }
    Task {
      // Starts over if another hint arrived in the meantime.
      while let streams = takeScheduled(hint) {
        if case .person = hint.subject {
          await pause(.seconds(1))
          owe(hint)
          await pause(.seconds(1))
          wakeOwed(hint)
          continue
        }
        // Screens that many people see may change all the time: the more streams watch the subject,
        // the less often each of them looks.
        let first = Duration.milliseconds(max(500, streams * 1000 / GatewayLimits.looksPerSecond))
        for delay in [first, first, max(first, .seconds(4) - first * 2)] {
          await pause(delay)
          wake(hint)
          if state.withLock({ $0.scheduled[hint] ?? false }) { break }
        }
      }
    }
  }

  /// - Returns: the number of streams that watch the subject; nil if no hint arrived since the last
  ///   call.
  private func takeScheduled(_ hint: Hint) -> Int? {
    state.withLock { state in
      guard state.scheduled[hint] == true, let watching = state.watching[hint.subject] else {
        state.scheduled[hint] = nil
        return nil
      }
      state.scheduled[hint] = false
      return watching.count
    }
  }

  private func owe(_ hint: Hint) {
    state.withLock { state in
      for id in state.watching[hint.subject] ?? [] {
        state.streams[id]?.owed.formUnion(hint.screens)
      }
    }
  }

  private func wake(_ hint: Hint) { wake(hint.subject) { _ in hint.screens } }

  /// Wakes the streams that have not looked since the hint's screens were marked as owed.
  private func wakeOwed(_ hint: Hint) { wake(hint.subject) { $0.intersection(hint.screens) } }

  /// - Parameter screens: returns the screens to look at, given those that a stream owes.
  private func wake(
    _ subject: Subject, at screens: (_ owed: StreamScreens) -> StreamScreens
  ) {
    let continuations = state.withLock { state in
      (state.watching[subject] ?? []).compactMap { id -> AsyncStream<Void>.Continuation? in
        guard let stream = state.streams[id] else { return nil }
        let screens = screens(stream.owed)
        guard !screens.isEmpty else { return nil }
        state.streams[id]?.pending.formUnion(screens)
        return stream.continuation
      }
    }
    for continuation in continuations { continuation.yield() }
  }
}

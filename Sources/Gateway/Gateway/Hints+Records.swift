import Events

// When streams look after a record.
extension Hints {
  /// A record was published, which may change what the hint is about.
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

  /// Hints of a partition that ends at `end` are of records before it.
  func forget(_ topic: Topic, _ partition: Int32, from end: Int64) {
    state.withLock { $0.unapplied.forget(topic, partition, from: end) }
  }

  /// Wakes streams whose hints' records are applied, until ``close()`` or until its task is cancelled.
  ///
  /// - Parameter nextOffsets: what workers have stored for these sources; those without a row may be missing.
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
          // The looks fail, too.
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
      // Once more from the beginning if there was a hint meanwhile.
      while let streams = takeScheduled(hint) {
        if case .person = hint.subject {
          await pause(.seconds(1))
          owe(hint)
          await pause(.seconds(1))
          wakeOwed(hint)
          continue
        }
        // What many see may change all the time, so these streams look less often the more they are.
        let first = Duration.milliseconds(max(500, streams * 1000 / GatewayLimits.looksPerSecond))
        for delay in [first, first, max(first, .seconds(4) - first * 2)] {
          await pause(delay)
          wake(hint)
          if state.withLock({ $0.scheduled[hint] ?? false }) { break }
        }
      }
    }
  }

  /// - Returns: the number of streams that watch the subject; nil if there was no hint since.
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

  /// Those that have not looked since they owe it.
  private func wakeOwed(_ hint: Hint) { wake(hint.subject) { $0.intersection(hint.screens) } }

  /// - Parameter screens: at what to look, of what a stream owes.
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

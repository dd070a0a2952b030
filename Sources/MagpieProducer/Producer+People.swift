public import Events

/// People whom a person does not want to see or hear of, and people who leave.
extension Producer {
  /// Neither of the two sees the other's posts, comments, messages and profile in pages, or alarms of
  /// what the other did at any time, until the block is taken back.
  @discardableResult
  public func block(
    _ person: String, by user: String, id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    let data = PersonBlocked.with { ($0.user, $0.person) = (user, person) }
    return try await publish(.personBlocked(data), id: id, at: time)
  }

  /// Takes a block back: what it hid is visible again, unless the other person has blocked `user`.
  @discardableResult
  public func unblock(
    _ person: String, by user: String, id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    let data = PersonUnblocked.with { ($0.user, $0.person) = (user, person) }
    return try await publish(.personUnblocked(data), id: id, at: time)
  }

  /// No alarms of what the person does from now on; existing ones stay, and so do posts and comments.
  ///
  /// - Parameter until: when alarms begin again; nil if only unmuting ends it.
  @discardableResult
  public func mutePerson(
    _ person: String, by user: String, until: EventTime? = nil, id: String? = nil,
    at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    let data = PersonMuted.with {
      ($0.user, $0.person, $0.until) = (user, person, until?.rfc3339 ?? "")
    }
    return try await publish(.personMuted(data), id: id, at: time)
  }

  /// Alarms of what the person does from now on.
  @discardableResult
  public func unmutePerson(
    _ person: String, by user: String, id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    let data = PersonUnmuted.with { ($0.user, $0.person) = (user, person) }
    return try await publish(.personUnmuted(data), id: id, at: time)
  }

  /// Forgets a person who leaves: what they did, and what names them, until `time` has no effect any more,
  /// whenever it arrives. There is no way back. What happens to the same id later is somebody new's.
  @discardableResult
  public func eraseUser(
    _ user: String, id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    try await publish(.userErased(.with { $0.user = user }), id: id, at: time)
  }
}

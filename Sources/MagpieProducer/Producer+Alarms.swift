public import Events

/// Actions of people on their alarms.
extension Producer {
  /// A person has read one alarm. `notification` is its id, as returned by `alarm_page`.
  @discardableResult
  public func readAlarm(
    _ notification: String, of user: String, id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    var data = AlarmRead()
    data.user = user
    data.notification = notification
    return try await publish(.alarmRead(data), id: id, at: time)
  }

  /// A person has read all alarms up to now.
  @discardableResult
  public func readAllAlarms(of user: String, id: String? = nil, at time: EventTime? = nil)
    async throws -> Acknowledgement
  {
    var data = AlarmReadAll()
    data.user = user
    return try await publish(.alarmReadAll(data), id: id, at: time)
  }

  /// A person deletes one alarm. `notification` is its id, as returned by `alarm_page`.
  @discardableResult
  public func deleteAlarm(
    _ notification: String, of user: String, id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    var data = AlarmDeleted()
    data.user = user
    data.notification = notification
    return try await publish(.alarmDeleted(data), id: id, at: time)
  }

  /// A person deletes all alarms up to now.
  @discardableResult
  public func deleteAllAlarms(of user: String, id: String? = nil, at time: EventTime? = nil)
    async throws -> Acknowledgement
  {
    var data = AlarmAllDeleted()
    data.user = user
    return try await publish(.alarmAllDeleted(data), id: id, at: time)
  }

  /// A person mutes alarms of a type; existing ones stay.
  ///
  /// - Parameter type: `like`, `comment`, `follow`, `message`, `mention` or `post`.
  @discardableResult
  public func muteAlarms(
    _ type: String, of user: String, id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    var data = AlarmMuted()
    data.user = user
    data.type = type
    return try await publish(.alarmMuted(data), id: id, at: time)
  }

  /// A person unmutes alarms of a type.
  ///
  /// - Parameter type: as for ``muteAlarms(_:of:id:at:)``.
  @discardableResult
  public func unmuteAlarms(
    _ type: String, of user: String, id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    var data = AlarmUnmuted()
    data.user = user
    data.type = type
    return try await publish(.alarmUnmuted(data), id: id, at: time)
  }
}

import ArgumentParser
import Events

struct PublishReadAlarm: PublishOne {
  static let configuration = CommandConfiguration(
    commandName: "read-alarm", abstract: "Send alarm.read.")

  @Option(help: "Who has read it.")
  var user: String
  @Option(help: "Which, a UUID that alarms --json shows.")
  var notification: String
  @OptionGroup var event: EventOptions

  var payload: Payload {
    .alarmRead(
      .with {
        $0.user = user
        $0.notification = notification
      })
  }
}

struct PublishReadAllAlarms: PublishOne {
  static let configuration = CommandConfiguration(
    commandName: "read-all-alarms", abstract: "Send alarm.read-all: everything so far is read.")

  @Option(help: "Who has read them.")
  var user: String
  @OptionGroup var event: EventOptions

  var payload: Payload {
    .alarmReadAll(
      .with {
        $0.user = user
      })
  }
}

struct PublishDeleteAlarm: PublishOne {
  static let configuration = CommandConfiguration(
    commandName: "delete-alarm", abstract: "Send alarm.deleted.")

  @Option(help: "Whose alarm it is.")
  var user: String
  @Option(help: "Which, a UUID that alarms --json shows.")
  var notification: String
  @OptionGroup var event: EventOptions

  var payload: Payload {
    .alarmDeleted(
      .with {
        $0.user = user
        $0.notification = notification
      })
  }
}

struct PublishDeleteAllAlarms: PublishOne {
  static let configuration = CommandConfiguration(
    commandName: "delete-all-alarms",
    abstract: "Send alarm.all-deleted: everything so far is deleted.")

  @Option(help: "Whose alarms they are.")
  var user: String
  @OptionGroup var event: EventOptions

  var payload: Payload {
    .alarmAllDeleted(
      .with {
        $0.user = user
      })
  }
}

struct PublishMute: PublishOne {
  static let configuration = CommandConfiguration(
    commandName: "mute", abstract: "Send alarm.muted: no more alarms of a type, from now on.")

  @Option(help: "Who wants none.")
  var user: String
  @Option(help: "like, comment, follow, message, mention or post.")
  var type: String
  @OptionGroup var event: EventOptions

  var payload: Payload {
    .alarmMuted(
      .with {
        $0.user = user
        $0.type = type
      })
  }
}

struct PublishUnmute: PublishOne {
  static let configuration = CommandConfiguration(
    commandName: "unmute", abstract: "Send alarm.unmuted.")

  @Option(help: "Who wants them again.")
  var user: String
  @Option(help: "like, comment, follow, message, mention or post.")
  var type: String
  @OptionGroup var event: EventOptions

  var payload: Payload {
    .alarmUnmuted(
      .with {
        $0.user = user
        $0.type = type
      })
  }
}

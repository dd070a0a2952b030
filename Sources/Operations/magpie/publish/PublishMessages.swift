import ArgumentParser
import Events

struct PublishMessage: PublishOne {
  static let configuration = CommandConfiguration(
    commandName: "message", abstract: "Send message.sent.")

  @Option(help: "The message's id (default: a new one).")
  var message: String?
  @Option(help: "Who writes.")
  var sender: String
  @Option(help: "To whom.")
  var receiver: String
  @Option(help: "What.")
  var text: String
  @OptionGroup var event: EventOptions

  var payload: Payload {
    .messageSent(
      .with {
        $0.message = message ?? newID()
        $0.sender = sender
        $0.receiver = receiver
        $0.text = text
      })
  }
}

import ArgumentParser
import Events

struct PublishComment: PublishOne {
  static let configuration = CommandConfiguration(
    commandName: "comment", abstract: "Send comment.created.")

  @Option(help: "The comment's id (default: a new one).")
  var comment: String?
  @Option(help: "Who comments.")
  var actor: String
  @Option(help: "On which post.")
  var post: String
  @Option(help: "Whose post it is.")
  var owner: String
  @Option(help: "What is said.")
  var text: String
  @Option(help: "A person mentioned; may be repeated.")
  var mention: [String] = []
  @OptionGroup var event: EventOptions

  var payload: Payload {
    .commentCreated(
      .with {
        $0.comment = comment ?? newID()
        $0.actor = actor
        $0.post = post
        $0.postOwner = owner
        $0.text = text
        $0.mentions = mention
      })
  }
}

struct PublishDeleteComment: PublishOne {
  static let configuration = CommandConfiguration(
    commandName: "delete-comment", abstract: "Send comment.removed.")

  @Option(help: "The comment.")
  var comment: String
  @Option(help: "Who wrote it.")
  var actor: String
  @Option(help: "On which post.")
  var post: String
  @Option(help: "Whose post it is.")
  var owner: String
  @OptionGroup var event: EventOptions

  var payload: Payload {
    .commentRemoved(
      .with {
        $0.comment = comment
        $0.actor = actor
        $0.post = post
        $0.postOwner = owner
      })
  }
}

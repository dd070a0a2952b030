import ArgumentParser
import Events

struct PublishLike: PublishOne {
  static let configuration = CommandConfiguration(
    commandName: "like", abstract: "Send like.created.")

  @Option(help: "Who likes.")
  var actor: String
  @Option(help: "Which post.")
  var post: String
  @Option(help: "Whose post it is.")
  var owner: String
  @OptionGroup var event: EventOptions

  var payload: Payload {
    .likeCreated(
      .with {
        $0.actor = actor
        $0.post = post
        $0.postOwner = owner
      })
  }
}

struct PublishUnlike: PublishOne {
  static let configuration = CommandConfiguration(
    commandName: "unlike", abstract: "Send like.removed.")

  @Option(help: "Who liked.")
  var actor: String
  @Option(help: "Which post.")
  var post: String
  @Option(help: "Whose post it is.")
  var owner: String
  @OptionGroup var event: EventOptions

  var payload: Payload {
    .likeRemoved(
      .with {
        $0.actor = actor
        $0.post = post
        $0.postOwner = owner
      })
  }
}

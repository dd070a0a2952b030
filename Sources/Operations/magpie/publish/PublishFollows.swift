import ArgumentParser
import Events

struct PublishFollow: PublishOne {
  static let configuration = CommandConfiguration(
    commandName: "follow", abstract: "Send follow.created.")

  @Option(help: "Who follows.")
  var follower: String
  @Option(help: "Whom.")
  var followee: String
  @OptionGroup var event: EventOptions

  var payload: Payload {
    .followCreated(
      .with {
        $0.follower = follower
        $0.followee = followee
      })
  }
}

struct PublishUnfollow: PublishOne {
  static let configuration = CommandConfiguration(
    commandName: "unfollow", abstract: "Send follow.removed.")

  @Option(help: "Who followed.")
  var follower: String
  @Option(help: "Whom.")
  var followee: String
  @OptionGroup var event: EventOptions

  var payload: Payload {
    .followRemoved(
      .with {
        $0.follower = follower
        $0.followee = followee
      })
  }
}

import ArgumentParser
import Events

struct PublishPost: PublishOne {
  static let configuration = CommandConfiguration(
    commandName: "post", abstract: "Send post.published: a new post, or an edit.")

  @Option(help: "The post's id (default: a new one).")
  var post: String?
  @Option(help: "Who wrote it.")
  var author: String
  @Option(help: "Its title.")
  var title = ""
  @Option(help: "Its text.")
  var caption = ""
  @Option(help: "Its picture.")
  var imageURL = ""
  @Option(help: "A person mentioned; may be repeated.")
  var mention: [String] = []
  @OptionGroup var event: EventOptions

  var payload: Payload {
    .postPublished(
      .with {
        $0.post = post ?? newID()
        $0.author = author
        $0.title = title
        $0.caption = caption
        $0.imageURL = imageURL
        $0.mentions = mention
      })
  }
}

struct PublishDeletePost: PublishOne {
  static let configuration = CommandConfiguration(
    commandName: "delete-post", abstract: "Send post.deleted.")

  @Option(help: "The post.")
  var post: String
  @Option(help: "Whose post it is.")
  var author: String
  @OptionGroup var event: EventOptions

  var payload: Payload {
    .postDeleted(
      .with {
        $0.post = post
        $0.author = author
      })
  }
}

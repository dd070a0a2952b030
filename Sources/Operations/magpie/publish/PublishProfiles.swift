import ArgumentParser
import Events

struct PublishProfile: PublishOne {
  static let configuration = CommandConfiguration(
    commandName: "profile",
    abstract: "Send profile.changed: the whole profile, so what is left out is emptied.")

  @Option(help: "Whose profile.")
  var user: String
  @Option(help: "What others see.")
  var nickname = ""
  @Option(help: "A BCP 47 tag, such as ko-KR.")
  var locale = ""
  @Option(help: "The picture.")
  var imageURL = ""
  @Option(help: "The name.")
  var name = ""
  @Option(help: "The field of study or work.")
  var major = ""
  @Option(help: "The words about oneself.")
  var bio = ""
  @OptionGroup var event: EventOptions

  var payload: Payload {
    .profileChanged(
      .with {
        $0.user = user
        $0.nickname = nickname
        $0.locale = locale
        $0.imageURL = imageURL
        $0.name = name
        $0.major = major
        $0.bio = bio
      })
  }
}

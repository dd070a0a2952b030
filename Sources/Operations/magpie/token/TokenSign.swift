import ArgumentParser
import Events
import Gateway

struct TokenSign: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sign",
    abstract: "Print a token for each person, or a link that opens the pages as that person.",
    discussion: "Signs with the first HS256 secret of the key set; see `magpie token keys`.")

  @OptionGroup var tokens: TokenOptions

  @Argument(help: ArgumentHelp("Ids of people.", valueName: "person"))
  var people: [String]

  @Flag(help: "Print one JSON object per line.")
  var json = false

  private struct Line: Encodable {
    var person: String
    var token: String
    var link: String?
  }

  func validate() throws {
    guard people.allSatisfy(isSubject) else {
      throw ValidationError(
        "The id of a person has 1 to \(Limits.idBytes) bytes, without control characters, is "
          + "neither . nor .., and does not begin with \(FormerPerson.prefix).")
    }
  }

  func run() throws {
    let signer = try tokens.signer()
    for person in people {
      let token = signer.token(for: person, lifetime: tokens.lifetime)
      let link = tokens.url.map { pageLink($0, token: token) }
      if json {
        printJSON(Line(person: person, token: token, link: link))
      } else {
        Console.output.line(escapedForDisplay(link ?? token))
      }
    }
  }
}

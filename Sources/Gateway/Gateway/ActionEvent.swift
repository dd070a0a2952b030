import Events
import HTTPTypes

extension Action {
  /// Makes the event of one request, checked as the workers check it.
  ///
  /// - Parameters:
  ///   - path: the values of the path's parameters.
  ///   - body: a JSON object, or empty.
  ///   - author: the author of the post in the path, if ``readsPost``.
  ///   - eventID: ``OwnID/event(_:_:target:key:)``.
  /// - Throws: ``Problem`` that names the parameter or the body's member.
  func event(
    person: String, path: [String: String], body: [UInt8], author: String, eventID: String,
    time: EventTime, source: String
  ) throws(Problem) -> (event: Event, newID: String?) {
    var data: [String] = []
    var newID: String?
    for (name, source) in members.sorted(by: { $0.key < $1.key }) {
      let value: String
      switch source {
      case .person: value = person
      case .id(let parameter):
        value = try identifier(path[parameter] ?? "", parameter)
        // Only what somebody who has left wrote before can still be read.
        guard !FormerPerson.has(id: value) || type == .conversationRead else {
          throw Problem(.notFound, "It stands for somebody who has left.", field: parameter)
        }
      case .uuid(let parameter):
        value = try uuid(path[parameter] ?? "", parameter).uuidString.lowercased()
      case .author, .authorOfOwn: value = author
      case .newID:
        value = OwnID.new(person, event: eventID)
        newID = value
      }
      data.append("\(jsonText(name)):\(jsonText(value))")
    }
    for (name, value) in try bodyMembers(body) {
      data.append("\(jsonText(name)):\(String(decoding: value, as: UTF8.self))")
    }
    let line =
      #"{"type":"\#(type.rawValue)","id":\#(jsonText(eventID)),"source":\#(jsonText(source)),"#
      + #""time":"\#(time.rfc3339)","data":{\#(data.joined(separator: ","))}}"#
    do throws(EventError) {
      return (try StructuredEvent.decode(line), newID)
    } catch {
      throw Problem(error)
    }
  }

  /// The members of the body with their raw JSON values.
  private func bodyMembers(_ bytes: [UInt8]) throws(Problem) -> [(name: String, value: [UInt8])] {
    let members = try members(of: bytes)
    for name in required {
      let value = members.first { $0.name == name }.map {
        String(decoding: $0.value, as: UTF8.self)
      }
      // As in all events, an empty string counts as absent.
      guard let value, value != "\"\"", value != "null" else {
        throw Problem(.invalidMember, "\(name) is missing or empty; it is required.", field: name)
      }
    }
    return members
  }

  private func members(of bytes: [UInt8]) throws(Problem) -> [(name: String, value: [UInt8])] {
    guard !bytes.isEmpty else { return [] }
    guard String(validating: bytes, as: UTF8.self) != nil else {
      throw Problem(.invalidBody, "It is not UTF-8.")
    }
    let members: [(name: String, value: [UInt8])]
    do throws(EventError) {
      members = try JSONObjectScanner.rawMembers(of: bytes)
    } catch {
      throw Problem(.invalidBody, error.message)
    }
    if let unknown = members.first(where: { !body.contains($0.name) }) {
      throw Problem(
        .unknownMember,
        "The action does not have this member; it has: "
          + "\(body.isEmpty ? "none" : body.joined(separator: ", ")).", field: unknown.name)
    }
    return members
  }
}

extension Problem {
  /// Translates an error in the data of a request's event.
  init(_ error: EventError) {
    // The API uses snake case in bodies, as in its responses.
    let field = error.field.map { name in
      name.reduce(into: "") { $0 += $1.isUppercase ? "_" + $1.lowercased() : String($1) }
    }
    switch error.code {
    case .badJSON where field == nil: self.init(.invalidBody, error.message)
    case .unknownField: self.init(.unknownMember, error.message, field: field)
    case .valueTooLarge: self.init(.bodyTooLarge, error.message)
    default: self.init(.invalidMember, error.message, field: field)
    }
  }
}

extension PushMessage {
  /// The members that the app's code reads, under the same names at every provider.
  var appMembers: [(String, JSON)] {
    var members: [(String, JSON)] = [
      purpose == .removal
        ? ("remove", .list(removedIDs.map { .text($0) })) : ("id", .text(idText)),
      ("version", .number(version)),
    ]
    if !kind.isEmpty { members.append(("kind", .text(kind))) }
    guard purpose == .alert else { return members }
    if let deepLink { members.append(("link", .text(deepLink))) }
    if let image { members.append(("image", .text(image))) }
    if !spans.isEmpty { members.append(("spans", spansJSON)) }
    return members
  }

  /// ``appMembers`` and the texts, for receivers that show nothing by themselves.
  var allMembers: [(String, JSON)] {
    var members = appMembers
    if let badge { members.append(("badge", .number(Int64(badge)))) }
    guard purpose == .alert else { return members }
    members += [("title", .text(title)), ("body", .text(body))]
    if let thread { members.append(("thread", .text(thread))) }
    if let sound { members.append(("sound", .text(sound))) }
    members.append(("interruption", .text(interruption.rawValue)))
    return members
  }

  /// A list of `[kind, start, length]`.
  var spansJSON: JSON {
    .list(
      spans.map {
        .list([.text($0.kind), .number(Int64($0.start)), .number(Int64($0.length))])
      })
  }
}

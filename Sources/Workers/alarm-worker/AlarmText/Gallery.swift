extension AlarmTextEngine {
  /// A page with every locale and kind: one row per locale, one column per kind. Each cell shows
  /// one person, two people and many, and several events by one person if the sentence
  /// distinguishes them.
  /// - Parameters:
  ///   - actor: the first person's nickname.
  ///   - other: the second person's nickname.
  ///   - headText: the text of comments, messages and mentions.
  /// - Returns: a complete, self-contained HTML document.
  public func gallery(actor: String, other: String, headText: String) -> String {
    var html = """
      <!DOCTYPE html>
      <html lang="en"><meta charset="utf-8"><title>Alarms in every language</title>
      <style>
      body { font: 14px/1.5 system-ui, "Noto Sans", "Noto Sans CJK KR", sans-serif; margin: 1em }
      table { border-collapse: collapse }
      th, td { border: 1px solid #ccc; padding: .4em .6em; vertical-align: top; text-align: start }
      td p { margin: 0 0 .4em }
      .actor { font-weight: bold; color: #06c }
      .count { color: #a50 }
      .head { color: #555 }
      </style>
      <table><thead><tr><th>
      """
    for kind in kinds {
      html += "<th>\(kind.code) \(RenderedAlarm.escapedHTML(kind.name))"
    }
    html += "</thead>\n<tbody>\n"
    for locale in locales {
      let id = localeID(locale)
      html += "<tr lang=\"\(locale)\" dir=\"\(direction(of: id).rawValue)\"><th>\(locale)"
      for kind in kinds {
        html += "<td>"
        for sentence in samples(kind, actor: actor, other: other, headText: headText, locale) {
          html += "<p>\(sentence)</p>"
        }
      }
      html += "\n"
    }
    return html + "</tbody></table></html>\n"
  }

  private func samples(
    _ kind: AlarmKind, actor: String, other: String, headText: String, _ locale: String
  ) -> [String] {
    var input = AlarmInput(
      code: kind.code, actor: Actor(id: "actor", nickname: actor),
      other: Actor(id: "other", nickname: other))
    if [.comment, .message, .mention].contains(kind.code) { input.headText = headText }
    var samples: [String] = []
    for (people, things) in [(1, 1), (1, 2), (1, 3), (1, 12), (2, 1), (3, 1), (4, 1), (13, 1)] {
      input.actorCount = people
      input.count = things
      guard let alarm = try? render(input, locale: locale), !samples.contains(alarm.html) else {
        continue
      }
      samples.append(alarm.html)
    }
    return samples
  }
}

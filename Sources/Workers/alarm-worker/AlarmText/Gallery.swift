import Kinds

extension AlarmTextEngine {
  /// A page with every kind and locale: a section per kind, a row per locale. Each row shows the
  /// sentences that the kind distinguishes: nobody, one person, two people and many, several events
  /// by one person, numbers, absent arguments, and head text.
  /// - Parameters:
  ///   - actor: the first person's nickname.
  ///   - other: the second person's nickname.
  ///   - headText: the text of comments and messages.
  ///   - argument: the value of every text argument, by the argument's name.
  /// - Returns: a complete, self-contained HTML document.
  public func gallery(
    actor: String, other: String, headText: String, argument: (String) -> String
  ) -> String {
    var html = """
      <!DOCTYPE html>
      <html lang="en"><meta charset="utf-8"><title>Alarms in every language</title>
      <style>
      body { font: 14px/1.5 system-ui, "Noto Sans", "Noto Sans CJK KR", sans-serif; margin: 1em }
      h2 { font-size: 1.1em; margin: 1.2em 0 .3em }
      table { border-collapse: collapse; width: 100% }
      th, td { border: 1px solid #ccc; padding: .3em .6em; vertical-align: top; text-align: start }
      th { width: 5em }
      td p { margin: 0 }
      .actor { font-weight: bold; color: #06c }
      .count { color: #a50 }
      .head { color: #555 }
      .argument { color: #063 }
      </style>
      """
    for kind in kinds {
      html += "<h2>\(kind.code) \(RenderedAlarm.escapedHTML(kind.name))</h2>\n<table>\n"
      let inputs = samples(kind, actor: actor, other: other, headText: headText, argument)
      for locale in locales {
        let id = localeID(locale)
        html += "<tr lang=\"\(locale)\" dir=\"\(direction(of: id).rawValue)\"><th>\(locale)<td>"
        var shown: [String] = []
        for input in inputs {
          guard let alarm = try? render(input, locale: locale), !shown.contains(alarm.html) else {
            continue
          }
          shown.append(alarm.html)
          html += "<p>\(alarm.html)</p>"
        }
        html += "\n"
      }
      html += "</table>\n"
    }
    return html + "</html>\n"
  }

  private func samples(
    _ kind: AlarmKind, actor: String, other: String, headText: String,
    _ argument: (String) -> String
  ) -> [AlarmInput] {
    var first = AlarmInput(
      code: kind.code, actor: Actor(id: "actor", nickname: actor),
      other: Actor(id: "other", nickname: other))
    for argument in kind.arguments where argument.type == .number {
      first.arguments[argument.name] = "1"
    }
    var absent = first
    for declared in kind.arguments where declared.type == .text {
      first.arguments[declared.name] = argument(declared.name)
      if !declared.isOptional { absent.arguments[declared.name] = argument(declared.name) }
    }
    var samples = [first, absent]
    for (people, events) in [(1, 2), (1, 3), (1, 12), (2, 1), (3, 1), (4, 1), (13, 1)] {
      var sample = first
      (sample.actorCount, sample.count) = (people, events)
      samples.append(sample)
    }
    for number in ["0", "2", "3", "12", "1234"] {
      var sample = first
      for name in sample.arguments.keys where kind[argument: name]?.type == .number {
        sample.arguments[name] = number
      }
      samples.append(sample)
    }
    var withHeadText = first
    withHeadText.headText = headText
    samples.append(withHeadText)
    let withoutActor = samples.map { sample in
      var sample = sample
      sample.actor = nil
      sample.other = nil
      return sample
    }
    switch kind.actor {
    case .required: return samples
    case .optional: return samples + withoutActor
    case .none: return withoutActor
    }
  }
}

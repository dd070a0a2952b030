import AlarmText
import Events
import Model

// The canonical rows of the alarm-worker's tables, computed from the model's notifications and
// profiles. The field order is that of `AlarmTables.swift`.
extension SliceModels {
  func alarmRows(_ table: String, engine: AlarmTextEngine) throws -> RowSource? {
    switch table {
    case "profiles":
      return rows(
        profiles.allProfiles.lazy.map { row in
          CanonicalRow(
            person: row.user, key: [],
            fields: [row.nickname, row.locale, row.imageURL, row.name, row.major, row.bio]
              + version(row.version))
        })
    case "profile_edits":
      return rows(
        profiles.allProfileEdits.lazy.map { row in
          CanonicalRow(
            person: row.user, key: [row.field], fields: [row.value] + version(row.version))
        })
    case "alarms":
      var people: [BytewiseString: ModelProfile] = [:]
      for profile in profiles.allProfiles { people[BytewiseString(profile.user)] = profile }
      return rowSource(sorting: try shown.map { try alarm($0, people, engine) })
    default: return nil
    }
  }

  private func alarm(
    _ row: ModelNotification, _ people: [BytewiseString: ModelProfile], _ engine: AlarmTextEngine
  ) throws -> CanonicalRow {
    func actor(_ id: String) -> Actor {
      let profile = people[BytewiseString(id)]
      return Actor(id: id, nickname: profile?.nickname ?? "", name: profile?.name ?? "")
    }
    guard let code = AlarmCode(row.type) else {
      throw AlarmTextError.unknownKind(.like)
    }
    let rendered = try engine.render(
      AlarmInput(
        code: code, actor: row.actor.map(actor), other: row.secondActor.map(actor),
        actorCount: row.actorCount, count: row.contributionCount, headText: row.headText,
        isHeadTextCut: Limits.isHeadCut(row.headText), arguments: row.arguments ?? [:]),
      locale: people[BytewiseString(row.recipient)]?.locale ?? "")
    let kind = engine.kind(code)
    let fields = [
      "post": row.post ?? "", "comment": row.comment ?? "", "actor": row.actor ?? "",
      "recipient": row.recipient, "subject": row.subject, "source": row.source ?? "",
    ]
    let link = kind?.deepLink(fields.merging(row.arguments ?? [:]) { own, _ in own })
    return CanonicalRow(
      person: row.recipient, key: [row.id],
      fields: [
        "\(row.type)", row.actor, row.secondActor, "\(row.actorCount)",
        "\(row.contributionCount)", row.post, row.comment, row.headText, row.raisedAt.rfc3339,
        rendered.locale, rendered.text, jsonb(rendered.segments), jsonb(rendered.spans),
        rendered.legacy.message, rendered.legacy.headText, rendered.legacy.fromNickName, link,
        kind?.badgeIcon, kind?.highlightStyle, row.imageURL ?? "",
        jsonObject(row.arguments ?? [:]),
      ])
  }
}

/// Matches PostgreSQL's jsonb output, which puts shorter keys first.
func jsonb(_ segments: [Segment]) -> String {
  jsonb(
    segments.map { segment in
      [("kind", jsonString(segment.kind.name)), ("text", jsonString(segment.text))]
        + (segment.actorID.map { [("actor", jsonString($0))] } ?? [])
    })
}

func jsonb(_ spans: [Span]) -> String {
  jsonb(
    spans.map { span in
      [("kind", jsonString(span.kind.name))]
        + (span.actorID.map { [("actor", jsonString($0))] } ?? [])
        + [("start", "\(span.start)"), ("length", "\(span.length)")]
    })
}

private func jsonb(_ objects: [[(String, String)]]) -> String {
  "["
    + objects.map { members in
      "{" + members.map { "\"\($0)\": \($1)" }.joined(separator: ", ") + "}"
    }.joined(separator: ", ") + "]"
}

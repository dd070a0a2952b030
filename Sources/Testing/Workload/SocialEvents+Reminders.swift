import Events

// Reminders and digests. None is due while a test runs: reminders are of the year 2099, and cycles and
// digests are taken back at once.
extension SocialEvents {
  mutating func reminder() -> Payload {
    if random.chance(15), let (user, reminder) = reminders.pick(&random) {
      return .reminderCancelled(.with { ($0.user, $0.reminder) = (user, reminder) })
    }
    let user = workload.userID(Int.random(in: 0..<workload.users, using: &random))
    // One in five replaces an earlier one.
    let known = random.chance(20) ? reminders.pick(&random) : nil
    let (owner, id) = known ?? (user, "reminder-\(serial)")
    // Not at the end, where what takes it back would not be generated.
    let isLast = workload.events - arrived < 100
    switch isLast ? 3 : Int.random(in: 0..<4, using: &random) {
    case 0:
      reminders.add((owner, id))
      script.append(.reminderCancelled(.with { ($0.user, $0.reminder) = (owner, id) }))
      return .reminderCycleSet(cycle(id, of: owner))
    case 1:
      script.append(.digestSet(.with { $0.user = user }))
      return .digestSet(digest(of: user))
    default:
      reminders.add((owner, id))
      return .reminderSet(reminder(id, of: owner))
    }
  }

  private mutating func reminder(_ id: String, of user: String) -> ReminderSet {
    let (title, zone) = (anyTitle(), random.chance(50) ? anyZone() : "")
    let isLocal = random.chance(70)
    let rule = ["", "FREQ=DAILY", "FREQ=WEEKLY;BYDAY=MO,TH;COUNT=9"].randomElement(using: &random)
    let memo = random.chance(30) ? title : ""
    let day = 10 + Int.random(in: 0..<20, using: &random)
    return .with {
      ($0.user, $0.reminder, $0.title, $0.memo) = (user, id, title, memo)
      if isLocal {
        ($0.at, $0.zone) = ("2099-01-\(day)T07:30", zone)
      } else {
        $0.instant = "2099-01-\(day)T07:30:00Z"
      }
      ($0.repeat, $0.symbol, $0.link) = (rule ?? "", "⏰", "app://reminders/\(id)")
    }
  }

  private mutating func cycle(_ id: String, of user: String) -> ReminderCycleSet {
    let count = Int.random(in: 1...4, using: &random)
    let (titles, zone) = ((0..<count).map { _ in anyTitle() }, random.chance(50) ? anyZone() : "")
    let period = [CyclePeriod.day, .week].randomElement(using: &random)
    return .with {
      ($0.user, $0.cycle) = (user, id)
      $0.items = titles.enumerated().map { ReminderItem("item-\($0)", title: $1, symbol: "💧") }
      ($0.from, $0.to, $0.zone) = ("03:00", "03:10", zone)
      ($0.times, $0.period) = (Int32(count), period?.rawValue ?? "")
    }
  }

  private mutating func digest(of user: String) -> DigestSet {
    let (zone, day) = (
      random.chance(50) ? anyZone() : "", DigestDay.allCases.randomElement(using: &random)
    )
    let hasKinds = random.chance(50)
    return .with {
      ($0.user, $0.at, $0.zone) = (user, "03:00", zone)
      $0.days = day.map { [$0.rawValue] } ?? []
      $0.kinds = hasKinds ? ["like", "F02"] : []
    }
  }

  /// A zone with a whole offset, with half an hour, with daylight saving time, and without a place.
  mutating func anyZone() -> String {
    ["Asia/Seoul", "Asia/Kolkata", "America/New_York", "Etc/UTC"].randomElement(using: &random)
      ?? ""
  }

  /// At most as long as a title may be.
  private mutating func anyTitle() -> String {
    let voice = Voice.all.randomElement(using: &random) ?? Voice.all[0]
    return voice.sentences.randomElement(using: &random) ?? voice.name
  }
}

import ArgumentParser
import Events

/// The entries of the table of `magpie publish` for the topic reminders.
extension Publish {
  struct Reminder: EventFields {
    static let configuration = CommandConfiguration(
      commandName: "reminder",
      abstract: "Send reminder.set: a reminder that rings once or repeatedly.",
      discussion: """
        It replaces the person's reminder or cycle with the same id. Give either --at, and --zone if it \
        is not that of the profile, or --instant:
          magpie publish reminder --user minji --reminder vitamins --title "Vitamin D" \\
            --at 2026-11-23T07:00 --zone Asia/Seoul --repeat FREQ=DAILY
          magpie publish reminder --user minji --title Interview --instant 2026-11-23T01:30:00Z
        """)
    @Option(help: "The person who is reminded.") var user: String
    @Option(help: "The reminder's id (default: a new one).") var reminder: String?
    @Option(help: "What it is about.") var title: String
    @Option(help: "The text below the title.") var memo = ""
    @Option(help: "A picture in a few characters, such as an emoji.") var symbol = ""
    @Option(help: "What opens when it is tapped.") var link = ""
    @Option(help: "The local date and time of the first ring, such as 2026-11-23T07:00.")
    var at = ""
    @Option(help: "The time zone of --at, such as Asia/Seoul (default: the profile's).")
    var zone = ""
    @Option(help: "The first ring as RFC 3339, instead of --at and --zone.") var instant = ""
    @Option(name: .customLong("repeat"), help: "An RFC 5545 rule, such as FREQ=DAILY.")
    var rule = ""
    @Option(help: "The kind's code or name (default: reminder).") var kind = ""

    func validate() throws {
      guard at.isEmpty != instant.isEmpty else {
        throw ValidationError("Give either --at or --instant.")
      }
    }

    var payload: Payload {
      .reminderSet(
        .with {
          ($0.user, $0.reminder, $0.kind) = (user, reminder ?? newID(), kind)
          ($0.title, $0.memo, $0.symbol, $0.link) = (title, memo, symbol, link)
          ($0.at, $0.zone, $0.instant, $0.repeat) = (at, zone, instant, rule)
        })
    }
  }

  struct Cycle: EventFields {
    static let configuration = CommandConfiguration(
      commandName: "cycle",
      abstract: "Send reminder.cycle-set: items that take turns ringing between two times of day.",
      discussion: """
        It replaces the person's reminder or cycle with the same id:
          magpie publish cycle --user minji --cycle stretches --item neck=Neck \\
            --item wrists=Wrists --from 09:00 --to 18:00 --zone Asia/Seoul --times 4
        Items with more than a title can be sent with `magpie publish FILE`.
        """)
    @Option(help: "The person who is reminded.") var user: String
    @Option(help: "The cycle's id (default: a new one).") var cycle: String?
    @Option(
      help: ArgumentHelp("An item's id and its title; may be repeated.", valueName: "ID=TITLE"),
      transform: NamedValue.init)
    var item: [NamedValue]
    @Option(help: "The time of day from which it rings, HH:MM.") var from: String
    @Option(help: "The time of day until which it rings; the next day's if it is before --from.")
    var to: String
    @Option(help: "The time zone, such as Asia/Seoul (default: the profile's).") var zone = ""
    @Option(parsing: .unconditional, help: "How often it rings in a period, 1 to 100.")
    var times: Int32
    @Option(help: "day or week (default: day).") var period = ""
    @Option(help: "The kind's code or name (default: reminder).") var kind = ""

    var payload: Payload {
      .reminderCycleSet(
        .with {
          ($0.user, $0.cycle, $0.kind) = (user, cycle ?? newID(), kind)
          $0.items = item.map { ReminderItem($0.name, title: $0.value) }
          ($0.from, $0.to, $0.zone, $0.times, $0.period) = (from, to, zone, times, period)
        })
    }
  }

  struct CancelReminder: EventFields {
    static let configuration = command(
      "cancel-reminder", "Send reminder.cancelled: a reminder or cycle does not ring any more.")
    @Option(help: "The person who is reminded.") var user: String
    @Option(help: "The reminder's or cycle's id.") var reminder: String

    var payload: Payload {
      .reminderCancelled(.with { ($0.user, $0.reminder) = (user, reminder) })
    }
  }

  struct Digest: EventFields {
    static let configuration = CommandConfiguration(
      commandName: "digest",
      abstract: "Send digest.set: when a person is told of what happened since the last digest.",
      discussion: """
        It replaces the person's last digest, also its days and kinds. Without --at there are no digests \
        any more:
          magpie publish digest --user minji --at 08:30 --zone Asia/Seoul --day mo --day th --holds
          magpie publish digest --user minji
        """)
    @Option(help: "The person.") var user: String
    @Option(help: "The time of day, HH:MM (default: no digests any more).") var at = ""
    @Option(help: "The time zone, such as Asia/Seoul (default: the profile's).") var zone = ""
    @Option(help: "mo, tu, we, th, fr, sa or su; may be repeated (default: every day).")
    var day: [String] = []
    @Option(help: "A kind's code or name; may be repeated (default: all kinds).")
    var kind: [String] = []
    @Flag(help: "Alarms of these kinds wait for the digest instead of ringing on their own.")
    var holds = false

    var payload: Payload {
      .digestSet(
        .with {
          ($0.user, $0.at, $0.zone) = (user, at, zone)
          ($0.days, $0.kinds, $0.holds) = (day, kind, holds)
        })
    }
  }
}

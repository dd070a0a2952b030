public import Devices
public import Events
public import Providers

/// A message to send to a device: a committed row of `push_claims`.
public struct Claim: Sendable {
  /// Random, new for each claim, so that an answer to an earlier claim of the same alarm and device
  /// is not recorded for a later one.
  public var number: Int64
  public var device: Device
  /// The partition of `alarm-changes` whose lane records the answer.
  public var partition: Int32
  /// The unit of rate limiting and circuit breaking: see `DeviceToken.scope(at:app:)`.
  public var scope: String
  public var fingerprint: [UInt8]
  public var sealedToken: [UInt8]
  public var message: PushMessage
  /// When it was claimed first. A repetition keeps this time, unless the clock was set back.
  public var claimedAt: EventTime
  /// When the device was read from the database for this attempt.
  public var preparedAt: EventTime
  /// When the same bytes are sent again. This attempt is neither begun nor waited for after it.
  public var dueAt: EventTime
  /// The number of this attempt, from 1.
  public var attempt: Int

  /// A new number, never negative.
  static func newNumber() -> Int64 { .random(in: 1...Int64.max) }
}

/// How an attempt to send a claim ended, and when.
public struct Answered: Sendable {
  public var claim: Claim
  public var outcome: ClaimOutcome
  public var at: EventTime

  public init(_ claim: Claim, _ outcome: ClaimOutcome, at: EventTime) {
    (self.claim, self.outcome, self.at) = (claim, outcome, at)
  }
}

/// How an attempt to send a claim ended.
public enum ClaimOutcome: Sendable, Hashable {
  /// The provider's answer.
  case answer(ProviderAnswer)
  /// No request can be made from it, now or later.
  case unsendable(Unsendable)
  /// No answer, so the message may have arrived. The same bytes are sent again when the claim is
  /// due.
  case unanswered(reason: String)
  /// Not sent: its `dueAt` passed while it waited to be sent, or its device has changed since it
  /// was read.
  case unsent

  /// For metrics: `accepted`, `gone`, `retry`, `refused`, `broken`, `unsendable`, `unanswered` or `unsent`.
  public var label: String {
    switch self {
    case .answer(.accepted): "accepted"
    case .answer(.tokenGone): "gone"
    case .answer(.retry): "retry"
    case .answer(.refused): "refused"
    case .answer(.providerBroken): "broken"
    case .unsendable: "unsendable"
    case .unanswered: "unanswered"
    case .unsent: "unsent"
    }
  }

  /// All values of ``label``.
  public static let labels = [
    "accepted", "gone", "retry", "refused", "broken", "unsendable", "unanswered",
    "unsent",
  ]
}

/// The key of a device: a person and an installation.
struct DeviceKey: Sendable, Hashable {
  var user: BytewiseString
  var installation: BytewiseString

  init(_ user: String, _ installation: String) {
    (self.user, self.installation) = (BytewiseString(user), BytewiseString(installation))
  }

  init(_ device: Device) { self.init(device.user, device.installation) }
}

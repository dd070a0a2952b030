public import Devices
public import Events
public import Providers

/// A message that is to be sent to a device, as a committed row of `push_claims` says.
public struct Claim: Sendable {
  /// Drawn at random with each claim, so that an answer to an earlier one is not taken for that of a later
  /// one of the same alarm and device.
  public var number: Int64
  public var device: Device
  /// Of `alarm-changes`: the lane that owns it records the answer.
  public var partition: Int32
  /// What is rated and broken together with the device: see `DeviceToken.scope(at:app:)`.
  public var scope: String
  public var fingerprint: [UInt8]
  public var sealedToken: [UInt8]
  public var message: PushMessage
  /// When it was committed first.
  public var claimedAt: EventTime
  /// When its device was read for this attempt.
  public var preparedAt: EventTime
  /// When the same bytes are sent again. Nobody sends them, or waits for an answer, after that time.
  public var dueAt: EventTime
  /// How often it is sent with this time, from 1.
  public var attempt: Int

  /// A new number, never negative.
  static func newNumber() -> Int64 { .random(in: 1...Int64.max) }
}

/// What became of a claim.
public struct Answered: Sendable {
  public var claim: Claim
  public var outcome: ClaimOutcome
  public var at: EventTime

  public init(_ claim: Claim, _ outcome: ClaimOutcome, at: EventTime) {
    (self.claim, self.outcome, self.at) = (claim, outcome, at)
  }
}

/// What is recorded of a claim.
public enum ClaimOutcome: Sendable, Hashable {
  /// The provider's answer.
  case answer(ProviderAnswer)
  /// It could not be sent, and never can be.
  case unsendable(Unsendable)
  /// There was no answer, so it may have arrived: the same bytes again when the claim is due.
  case unanswered(reason: String)
  /// It was not sent: its time was over before its turn came, or its device has changed since.
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

  /// For metrics: every ``label``.
  public static let labels = [
    "accepted", "gone", "retry", "refused", "broken", "unsendable", "unanswered",
    "unsent",
  ]
}

/// A person's installation.
struct DeviceKey: Sendable, Hashable {
  var user: BytewiseString
  var installation: BytewiseString

  init(_ user: String, _ installation: String) {
    (self.user, self.installation) = (BytewiseString(user), BytewiseString(installation))
  }

  init(_ device: Device) { self.init(device.user, device.installation) }
}

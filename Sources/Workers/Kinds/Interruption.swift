/// How much a push of an alarm may disturb: Apple's interruption levels, without the one that needs Apple's permission.
public enum Interruption: String, Sendable, Hashable {
  /// Listed without light or sound.
  case passive
  /// Lights up the screen and plays a sound.
  case active
  /// Also shown while a focus or a summary holds back others, if the app has Apple's entitlement for it.
  case timeSensitive = "time-sensitive"
}

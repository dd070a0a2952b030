import LocalProviders
import Synchronization

// Faults of Apple, Google and the receiver of webhooks.
extension PlannedFault {
  /// One provider, or all of them, answer in another way.
  func disturbProviders(_ world: World, _ script: @escaping Providers.Script) {
    let all: [PushRequest.Provider] = [.apns, .fcm, .webhook]
    let disturbed = all.indices.contains(Int(target) % 4) ? [all[Int(target) % 4]] : all
    let providers = world.providers
    providers.begin(self) { disturbed.contains($0.provider) ? await script($0) : nil }
    world.injected.onHeal(self) { providers.end(self) }
  }

  /// 500 and 503, without a time after which to try again.
  func breakProviders(_ world: World) {
    disturbProviders(world) { [target] _ in PushReply(target % 2 == 0 ? 500 : 503) }
  }

  /// 429, and when to try again.
  func throttle(_ world: World) {
    disturbProviders(world) { [target] _ in
      PushReply(429, headers: ["retry-after": "\(1 + target % 5)"])
    }
  }

  /// They have taken the message, and nobody learns of it.
  func loseAnswers(_ world: World) { disturbProviders(world) { _ in .reset } }

  /// They answer after some seconds. Each fourth request is not answered within push-worker's 30 seconds, and not taken.
  func slowProviders(_ world: World) {
    let count = Mutex(0)
    disturbProviders(world) { _ in
      let number = count.withLock { count in
        count += 1
        return count
      }
      try? await Task.sleep(for: .seconds(number % 4 == 0 ? 35 : number % 4 * 2))
      return number % 4 == 0 ? PushReply(503) : nil
    }
  }

  /// No provider answers: each connection is reset, or nothing passes.
  func stopProviders(_ world: World) {
    let proxy = world.providers.proxy
    let resetting = target % 2 == 0 ? Repeated(everyMilliseconds: 10) { proxy.reset() } : nil
    proxy.conditions.isSilent = target % 2 != 0
    world.injected.onHeal(self) {
      resetting?.stop()
      // What did not arrive does not arrive later.
      proxy.reset()
      proxy.conditions.isSilent = false
    }
  }

  /// The app is deleted from a device, of which only its provider knows.
  func loseDevice(_ world: World) {
    let devices = PushEvents.deletable
    world.providers.lose(devices[Int(target) % devices.count].address)
  }
}

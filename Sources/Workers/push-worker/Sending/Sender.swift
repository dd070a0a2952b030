public import Devices
import Events
import Foundation
public import Lanes
public import Logging
import Providers
public import Pushes
public import ServiceLifecycle

/// Sends the claims of an outbox, and notes their answers in it. Runs beside the lanes. Ends before
/// them, when all requests are answered or have timed out.
public struct Sender: Service {
  /// The longest time to wait for an answer in seconds, even if the claim's `dueAt` is later.
  private static func answerSecondsMax(_ provider: PushProvider) -> Double {
    provider == .webhook ? Double(Webhook.timeout.components.seconds) : 30
  }

  private let outbox: Outbox
  private let keys: TokenKeys
  let apps: PushApps
  let clients: Clients
  let authorizations: Authorizations
  private let metrics: Metrics
  private let logger: Logger

  public init(
    outbox: Outbox, keys: TokenKeys, apps: PushApps, metrics: Metrics, logger: Logger
  ) {
    (self.outbox, self.keys, self.apps) = (outbox, keys, apps)
    (self.metrics, self.logger) = (metrics, logger)
    clients = Clients(apps)
    authorizations = Authorizations(apps: apps, clients: clients)
    for provider in PushProvider.allCases {
      metrics.begin(.pushDuration, [provider.rawValue])
      metrics.begin(.pushDelay, [provider.rawValue])
      metrics.set(.pushBroken, [provider.rawValue], to: 0)
      for label in ClaimOutcome.labels {
        metrics.increment(.pushes, [provider.rawValue, label], by: 0)
      }
    }
  }

  /// Returns after `Outbox.finish`, or when the process is shut down gracefully.
  public func run() async {
    let counting = Task { await countBroken() }
    defer { counting.cancel() }
    await withGracefulShutdownHandler {
      // Bounded by the outbox: lanes claim only what it has places for.
      await withDiscardingTaskGroup { group in
        for await claim in outbox.claims {
          group.addTask { await send(claim) }
        }
      }
      // The lanes still run, and record the last answers.
      let deadline = ContinuousClock.now + .seconds(5)
      while outbox.hasAnswers, .now < deadline, !Task.isCancelled {
        try? await Task.sleep(for: .milliseconds(20))
      }
    } onGracefulShutdown: {
      outbox.finish()
    }
    await clients.shutdown()
  }

  /// Sets the gauge of broken scopes until it is cancelled, also while nothing is sent: a breaker
  /// counts as closed once nothing is left to send.
  private func countBroken() async {
    repeat {
      let broken = outbox.broken(now: .now)
      for provider in PushProvider.allCases {
        metrics.set(.pushBroken, [provider.rawValue], to: Double(broken[provider] ?? 0))
      }
      try? await Task.sleep(for: .seconds(1))
    } while !Task.isCancelled
  }

  private func send(_ claim: Claim) async {
    let provider = claim.device.provider.rawValue
    let started = EventTime.now
    let outcome = await outcome(of: claim)
    let now = EventTime.now
    outbox.note(Answered(claim, outcome, at: now))
    metrics.increment(.pushes, [provider, outcome.label])
    metrics.observe(.pushDuration, [provider], seconds: seconds(from: started, to: now))
    if claim.message.purpose == .alert, outcome == .answer(.accepted) {
      metrics.observe(
        .pushDelay, [provider], seconds: seconds(from: claim.message.created, to: now))
    }
    logger.debug(
      "pushed",
      metadata: [
        "provider": "\(provider)", "notification": "\(claim.message.notification)",
        "purpose": "\(claim.message.purpose.rawValue)", "outcome": "\(outcome.label)",
      ])
  }

  func outcome(of claim: Claim) async -> ClaimOutcome {
    let now = EventTime.now
    // A claim that is due again may be sent by another lane.
    guard now < claim.dueAt, !outbox.isOutdated(claim) else { return .unsent }
    let token: DeviceToken
    do throws(TokenKeyError) {
      token = try keys.opened(claim.sealedToken, for: claim.device)
    } catch {
      guard case .unknownKey = error else { return .answer(.refused(reason: "sealed-token")) }
      // Other tokens of its app are sealed with keys that are in the file.
      return .answer(.retry(reason: "unknown-key", after: .seconds(60)))
    }
    let request: ProviderRequest
    do throws(Unmade) {
      request = try await self.request(claim, token, now: now)
    } catch {
      switch error {
      case .unsendable(let reason): return .unsendable(reason)
      case .answer(let answer): return .answer(answer)
      }
    }
    // An access token or a name may have taken seconds.
    guard !outbox.isOutdated(claim) else { return .unsent }
    do {
      let response = try await clients.response(
        to: request,
        seconds: min(
          Self.answerSecondsMax(claim.device.provider), seconds(from: .now, to: claim.dueAt)))
      return .answer(await answer(claim, response, sent: now))
    } catch {
      guard claim.device.provider == .webhook else {
        return .unanswered(reason: "\(type(of: error))")
      }
      return .answer(Webhook.answerToFailure(attempt: claim.attempt))
    }
  }

  private func answer(
    _ claim: Claim, _ response: ProviderResponse, sent: EventTime
  ) async -> ProviderAnswer {
    let (app, now) = (claim.device.app, EventTime.now)
    switch claim.device.provider {
    case .apns:
      let answer = APNs.answer(response, now: now)
      if case .providerBroken(let reason, _) = answer, APNs.isRenewalNeeded(reason: reason) {
        await authorizations.refuse(app, isFCM: false, sent: sent)
      }
      return answer
    case .fcm:
      let answer = FCM.answer(response, now: now)
      if case .providerBroken(let reason, _) = answer, FCM.isRenewalNeeded(reason: reason) {
        await authorizations.refuse(app, isFCM: true, sent: sent)
      }
      return answer
    case .webPush: return WebPush.answer(response, now: now)
    case .webhook: return Webhook.answer(response, attempt: claim.attempt, now: now)
    }
  }
}

private func seconds(from start: EventTime, to end: EventTime) -> Double {
  max(0, Double(end.microseconds - start.microseconds) / 1_000_000)
}

import EmbeddedStack
import Foundation
import Kafka

// What happens to Kafka.
extension PlannedFault {
  func stopBroker(_ world: World) throws {
    let broker = try embedded(world)
    world.injected.onHeal(self) { try broker.setUp() }
    try broker.setDown()
  }

  func slowBroker(_ world: World) throws {
    let broker = try embedded(world)
    world.injected.onHeal(self) { try broker.setRoundTripTime(milliseconds: 0) }
    try broker.setRoundTripTime(milliseconds: 50 + Int(target % 950))
  }

  /// The broker answers requests of one kind with errors, some now and some later.
  func refuseRequests(_ world: World) throws {
    let broker = try embedded(world)
    let (request, codes, isRepeated) = RefusedRequests.all[
      Int(target) % RefusedRequests.all.count]
    guard isRepeated else {
      world.injected.onHeal(self) { broker.clearErrors(request) }
      return broker.pushErrors(request, codes)
    }
    let refusing = Repeated(everyMilliseconds: 400) {
      broker.clearErrors(request)
      broker.pushErrors(request, codes)
    }
    world.injected.onHeal(self) {
      refusing.stop()
      broker.clearErrors(request)
    }
  }

  /// A broker that is somebody else's is restarted by the command that the environment names.
  func restartBroker() throws {
    guard let command = BrokerRestart.command else {
      throw CampaignError("\(BrokerRestart.variable) names no command")
    }
    let child = try ChildProcess("/bin/sh", ["-c", command], output: .inherit)
    guard child.wait(seconds: 120) == .exited(0) else {
      throw CampaignError("the broker was not restarted: \(command)")
    }
  }

  private func embedded(_ world: World) throws -> EmbeddedBroker {
    guard let broker = world.broker else { throw CampaignError("the broker is somebody else's") }
    return broker
  }
}

enum BrokerRestart {
  static let variable = "MAGPIE_CAMPAIGN_BROKER_RESTART"

  static var command: String? { ProcessInfo.processInfo.environment[variable] }
}

/// Requests, and errors that brokers give to them in ordinary life.
enum RefusedRequests {
  /// Once, where it makes a member join again: the embedded broker (librdkafka 2.0.2) aborts on a
  /// member that joins while it is joining.
  static let all: [(EmbeddedBroker.Request, [KafkaError.Code], isRepeated: Bool)] = [
    (.produce, [notLeader, requestTimedOut, notEnoughReplicas], true),
    (.fetch, [notLeader, requestTimedOut], true),
    (.metadata, [leaderNotAvailable], true),
    (.findCoordinator, [coordinatorNotAvailable, coordinatorLoading], true),
    (.heartbeat, [unknownMember], false),
    (.joinGroup, [coordinatorLoading], false),
    (.syncGroup, [notCoordinator], false),
    (.offsetCommit, [requestTimedOut, coordinatorLoading], true),
    (.listOffsets, [notLeader, leaderNotAvailable], true),
    (.initProducerID, [coordinatorLoading, notCoordinator], true),
  ]

  // Numbers as in the protocol's list of error codes.
  private static let leaderNotAvailable = KafkaError.Code(rawValue: 5)
  private static let notLeader = KafkaError.Code(rawValue: 6)
  private static let requestTimedOut = KafkaError.Code(rawValue: 7)
  private static let coordinatorLoading = KafkaError.Code(rawValue: 14)
  private static let coordinatorNotAvailable = KafkaError.Code(rawValue: 15)
  private static let notCoordinator = KafkaError.Code(rawValue: 16)
  private static let notEnoughReplicas = KafkaError.Code(rawValue: 19)
  private static let unknownMember = KafkaError.Code(rawValue: 25)
}

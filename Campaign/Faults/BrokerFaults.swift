import EmbeddedStack
import FaultInjection
import Foundation
import Kafka

// Faults of Kafka.
extension PlannedFault {
  func stopBroker(_ world: World) throws {
    guard let broker = world.broker else {
      world.injected.onHeal(self) { try BrokerCommand.start.run(on: target) }
      return try BrokerCommand.stop.run(on: target)
    }
    world.injected.onHeal(self) { for one in 1...World.brokers { try broker.setUp(broker: one) } }
    for one in 1...World.brokers { try broker.setDown(broker: one) }
  }

  func slowBroker(_ world: World) throws {
    let broker = try embedded(world)
    world.injected.onHeal(self) {
      for one in 1...World.brokers { try broker.setRoundTripTime(milliseconds: 0, broker: one) }
    }
    for one in 1...World.brokers {
      try broker.setRoundTripTime(milliseconds: 50 + Int(target % 950), broker: one)
    }
  }

  /// The broker answers requests of one API with errors, some immediately and some repeatedly.
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

  func restartBroker() throws { try BrokerCommand.restart.run(on: target) }

  func embedded(_ world: World) throws -> EmbeddedBroker {
    guard let broker = world.broker else { throw CampaignError("the broker is not embedded") }
    return broker
  }
}

/// Requests, and errors with which brokers answer them in normal operation.
enum RefusedRequests {
  /// Only once for errors that make a member rejoin: the embedded broker (librdkafka 2.0.2) aborts
  /// if a member joins while it is joining.
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

  // Error codes of the Kafka protocol.
  private static let leaderNotAvailable = KafkaError.Code(rawValue: 5)
  private static let notLeader = KafkaError.Code(rawValue: 6)
  private static let requestTimedOut = KafkaError.Code(rawValue: 7)
  private static let coordinatorLoading = KafkaError.Code(rawValue: 14)
  private static let coordinatorNotAvailable = KafkaError.Code(rawValue: 15)
  private static let notCoordinator = KafkaError.Code(rawValue: 16)
  private static let notEnoughReplicas = KafkaError.Code(rawValue: 19)
  private static let unknownMember = KafkaError.Code(rawValue: 25)
}

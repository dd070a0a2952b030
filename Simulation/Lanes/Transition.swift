import Lanes

/// One transition of the machine.
public struct Transition: Hashable, Sendable, CustomStringConvertible {
  enum State: Int, CaseIterable {
    case connecting, waitingToConnect, joining, waitingToJoin, polling
    case checkingTopics, lookingUp, askingLogStarts, claiming, waitingToClaim
    case committing, waitingToCommit, lookingUpCommit, waitingToLookUp
    case workingOnBacklog, comparing, leaving, none
  }

  enum Told: Int, CaseIterable {
    case connected, joined, records, noRecords, nothingAssigned, assigned, withdrawn, topicsExist
    case logStarts, claimed, backlogDone, moreBacklog, owner, notOwner, left
    case committed, unanswered, stored, foundCommitted, foundNotCommitted, foundFenced, waited
    case retry, fenced, stop, tooLarge, poison, poisonOfSeveral, poisonOfOne, poisonOfNone
    case tooMuchOfSeveral, tooMuchOfOne, tooMuchOfNone
  }

  enum Answer: Int, CaseIterable {
    case connect, join, poll, checkTopics, lookUp, askLogStarts, claim, resumePoll
    case commit, commitDeadLetters, wait, workOnBacklog, compare, rejoin, leave, end, stop
  }

  var state: State
  var told: Told
  var answer: Answer

  static let numbers = State.allCases.count * 64 * 32
  var number: Int { (state.rawValue * 64 + told.rawValue) * 32 + answer.rawValue }

  public var description: String {
    "\(state) \(told) → \(answer)"
  }
}

extension LaneMachine {
  var transitionState: Transition.State {
    switch state {
    case .connecting: .connecting
    case .waitingToConnect: .waitingToConnect
    case .joining: .joining
    case .waitingToJoin: .waitingToJoin
    case .polling: .polling
    case .checkingTopics: .checkingTopics
    case .lookingUp: .lookingUp
    case .askingLogStarts: .askingLogStarts
    case .claiming: .claiming
    case .waitingToClaim: .waitingToClaim
    case .workingOnBacklog: .workingOnBacklog
    case .comparing: .comparing
    case .leaving: .leaving
    case .new, .over: .none
    case .applying(let batch, _):
      switch batch {
      case .committing: .committing
      case .waitingToCommit: .waitingToCommit
      case .lookingUp: .lookingUpCommit
      case .waitingToLookUp: .waitingToLookUp
      }
    }
  }
}

extension LaneMachine {
  func told(_ input: LaneMachine.Input) -> Transition.Told {
    switch input {
    case .connected: .connected
    case .joined: .joined
    case .polled(let records, _): records.isEmpty ? .noRecords : .records
    case .assigned(let partitions): partitions.isEmpty ? .nothingAssigned : .assigned
    case .withdrawn: .withdrawn
    case .topicsExist: .topicsExist
    case .logStarts: .logStarts
    case .claimed: .claimed
    case .backlogDone(let hasMore): hasMore ? .moreBacklog : .backlogDone
    case .compared(let isOwner): isOwner ? .owner : .notOwner
    case .left: .left
    case .committed: .committed
    case .unanswered: .unanswered
    case .waited: .waited
    case .stored(let stored):
      switch outcome(stored) {
      case .committed: .foundCommitted
      case .notCommitted: .foundNotCommitted
      case .fenced: .foundFenced
      case nil: .stored
      }
    // The machine ignores why a comparison failed.
    case .failed where transitionState == .comparing: .retry
    case .failed(let disposition):
      switch disposition {
      case .retry: .retry
      case .tooMuch:
        switch transitionState == .committing ? inHand?.eventCount : nil {
        case nil: .retry
        case 0: .tooMuchOfNone
        case 1: .tooMuchOfOne
        default: .tooMuchOfSeveral
        }
      case .fenced: .fenced
      case .stop: .stop
      case .cut: .tooLarge
      case .poison:
        switch inHand?.eventCount {
        case nil: .poison
        case 0: .poisonOfNone
        case 1: .poisonOfOne
        default: .poisonOfSeveral
        }
      }
    }
  }
}

extension Transition.Answer {
  init(_ action: LaneMachine.Action) {
    self =
      switch action {
      case .connect: .connect
      case .join: .join
      case .poll: .poll
      case .checkTopics: .checkTopics
      case .step(.lookUp): .lookUp
      case .askLogStarts: .askLogStarts
      case .claim: .claim
      case .resumePoll: .resumePoll
      case .step(.commit): .commit
      case .step(.wait): .wait
      case .workOnBacklog: .workOnBacklog
      case .compare: .compare
      case .leave(let rejoins): rejoins ? .rejoin : .leave
      case .end: .end
      case .stop: .stop
      }
  }
}

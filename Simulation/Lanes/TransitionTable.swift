extension Transition {
  /// All transitions of the machine. A simulation fails if one of them was never taken, or any
  /// other was.
  public static let all: [Transition] = table.flatMap { state, lines in
    lines.flatMap { told, answers in
      answers.map { Transition(state: state, told: told, answer: $0) }
    }
  }

  private static let table: [(State, [(Told, [Answer])])] = [
    (
      .connecting,
      [
        (.connected, [.join]),
        (.retry, [.wait]),
        (.stop, [.stop]),
      ]
    ),
    (
      .waitingToConnect,
      [
        (.waited, [.connect, .end])
      ]
    ),
    (
      .joining,
      [
        (.joined, [.poll, .leave]),
        (.retry, [.wait]),
        (.stop, [.stop]),
      ]
    ),
    (
      .waitingToJoin,
      [
        (.waited, [.join, .end])
      ]
    ),
    (
      .polling,
      [
        (.records, [.poll, .commit, .workOnBacklog, .leave]),
        (.noRecords, [.poll, .workOnBacklog, .compare, .leave]),
        (.nothingAssigned, [.checkTopics]),
        (.assigned, [.lookUp]),
        (.withdrawn, [.resumePoll]),
        (.retry, [.poll, .workOnBacklog, .compare, .leave]),
        (.fenced, [.rejoin]),
        (.stop, [.leave]),
      ]
    ),
    (
      .checkingTopics,
      [
        (.topicsExist, [.resumePoll]),
        (.retry, [.resumePoll]),
        (.stop, [.leave]),
      ]
    ),
    (
      .lookingUp,
      [
        (.stored, [.askLogStarts, .claim]),
        (.retry, [.wait]),
        (.stop, [.leave]),
      ]
    ),
    (
      .askingLogStarts,
      [
        (.logStarts, [.claim]),
        (.retry, [.wait]),
        (.stop, [.leave]),
      ]
    ),
    (
      .claiming,
      [
        (.claimed, [.resumePoll]),
        (.retry, [.wait]),
        (.stop, [.leave]),
      ]
    ),
    (
      .waitingToClaim,
      [
        (.waited, [.lookUp, .leave])
      ]
    ),
    (
      .committing,
      [
        (.committed, [.poll, .commit, .workOnBacklog, .leave]),
        (.unanswered, [.wait]),
        (.retry, [.wait]),
        (.fenced, [.rejoin]),
        (.stop, [.leave]),
        (.tooLarge, [.commit, .leave]),
        (.poisonOfSeveral, [.commit, .leave]),
        (.poisonOfOne, [.commit, .commitDeadLetters, .leave]),
        (.poisonOfNone, [.leave]),
        (.tooMuchOfSeveral, [.commit, .leave]),
        (.tooMuchOfOne, [.lookUp]),
        (.tooMuchOfNone, [.wait]),
      ]
    ),
    (
      .waitingToCommit,
      [
        (.waited, [.commit, .leave])
      ]
    ),
    (
      .lookingUpCommit,
      [
        (.foundCommitted, [.poll, .commit, .workOnBacklog, .leave]),
        (.foundNotCommitted, [.commit, .commitDeadLetters, .wait, .leave]),
        (.foundFenced, [.rejoin]),
        (.retry, [.wait]),
        (.stop, [.leave]),
      ]
    ),
    (
      .waitingToLookUp,
      [
        (.waited, [.lookUp, .leave])
      ]
    ),
    (
      .workingOnBacklog,
      [
        (.backlogDone, [.poll, .commit, .compare, .leave]),
        (.moreBacklog, [.poll, .commit, .workOnBacklog, .compare, .leave]),
        (.retry, [.poll, .commit, .compare, .leave]),
        (.fenced, [.rejoin]),
        (.stop, [.leave]),
      ]
    ),
    (
      .comparing,
      [
        (.owner, [.poll, .leave]),
        (.notOwner, [.rejoin]),
        (.retry, [.poll, .leave]),
      ]
    ),
    (
      .leaving,
      [
        (.nothingAssigned, [.resumePoll]),
        (.assigned, [.resumePoll]),
        (.withdrawn, [.resumePoll]),
        (.left, [.join, .wait, .end, .stop]),
      ]
    ),
  ]
}

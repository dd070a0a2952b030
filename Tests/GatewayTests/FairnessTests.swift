import TestSupport
import Testing

@testable import Gateway

/// One person's many requests delay nobody else's.
@Suite struct FairnessTests {
  @Test("of those for whom something waits, each gets one in turn, in order of arrival")
  func queue() {
    var random = SeededGenerator()
    for _ in 0..<200 {
      var queue = FairQueue<Int>()
      // In the order of their next turns.
      var model: [(person: String, elements: [Int])] = []
      for number in 0..<100 {
        let person = ["ann", "bob", "cat", "dan"].randomElement(using: &random) ?? ""
        let isBusy = ["", "bob"].randomElement(using: &random) ?? ""
        if Bool.random(using: &random) {
          queue.append(number, of: person)
          if let index = model.firstIndex(where: { $0.person == person }) {
            model[index].elements.append(number)
          } else {
            model.append((person, [number]))
          }
        } else {
          let popped = queue.popFirst { $0 != isBusy }
          var expected: (person: String, element: Int)?
          if let index = model.firstIndex(where: { $0.person != isBusy }) {
            var next = model.remove(at: index)
            expected = (next.person, next.elements.removeFirst())
            if !next.elements.isEmpty { model.append(next) }
          }
          #expect(popped?.element == expected?.element && popped?.person == expected?.person)
        }
        #expect(queue.count == model.reduce(0) { $0 + $1.elements.count })
        #expect(
          queue.count(of: person) == model.first { $0.person == person }?.elements.count ?? 0)
      }
      #expect(queue.removeAll().sorted() == model.flatMap(\.elements).sorted())
      #expect(queue.count == 0)
    }
  }

  @Test("at most so many run at a time, and one of each person, whoever else waits")
  func turns() async {
    let (turns, tasks) = (Turns(3), Tasks())
    await withTaskGroup(of: Void.self) { group in
      for person in Array(repeating: "ann", count: 50) + ["bob", "cat", "dan", "eve"] {
        group.addTask {
          await turns.run(of: person) {
            await tasks.begin(person)
            await Task.yield()
            await tasks.end(person)
          }
        }
      }
    }
    #expect(await tasks.count == 54)
  }

  private actor Tasks {
    private var running: Set<String> = []
    private(set) var count = 0

    func begin(_ person: String) {
      #expect(running.count < 3 && running.insert(person).inserted)
      count += 1
    }

    func end(_ person: String) { running.remove(person) }
  }
}

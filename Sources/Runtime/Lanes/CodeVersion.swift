/// The version of this code, stored with dead letters and printed by `--version`.
public let codeVersion = "0.1.0"

public import Postgres
public enum Migrations {
  public static func check(_ connection: Connection) throws {}
}

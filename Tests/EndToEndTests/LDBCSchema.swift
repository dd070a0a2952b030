/// The benchmark's files as plain tables, and the expected results, computed by independent SQL.
enum LDBCSchema {
  static let tables = """
    CREATE SCHEMA ldbc;
    CREATE TABLE ldbc.person_file (id text, first_name text, last_name text, gender text,
      birthday text, creation_date timestamptz, ip text, browser text, place text);
    CREATE TABLE ldbc.knows_file (one text, other text, creation_date timestamptz);
    CREATE TABLE ldbc.post_file (id text, image text, creation_date timestamptz, ip text,
      browser text, language text, content text, length text, creator text, forum text, place text);
    CREATE TABLE ldbc.comment_file (id text, creation_date timestamptz, ip text, browser text,
      content text, length text, creator text, place text, reply_of_post text,
      reply_of_comment text);
    CREATE TABLE ldbc.likes_file (person text, post text, creation_date timestamptz);
    CREATE TABLE ldbc.update_file (line text);

    """

  static let views = """
    CREATE TABLE ldbc.updates AS
      SELECT string_to_array(line, '|') AS f FROM ldbc.update_file;
    CREATE FUNCTION ldbc.at(ms text) RETURNS timestamptz IMMUTABLE LANGUAGE sql AS
      $$ SELECT to_timestamp(0) + interval '1 millisecond' * ms::bigint $$;
    CREATE TABLE ldbc.person AS
      SELECT id, first_name || ' ' || last_name AS name FROM ldbc.person_file
      UNION SELECT f[4], f[5] || ' ' || f[6] FROM ldbc.updates WHERE f[3] = '1';
    CREATE TABLE ldbc.friendship AS
      SELECT one, other, creation_date AS created FROM ldbc.knows_file
      UNION SELECT f[4], f[5], ldbc.at(f[6]) FROM ldbc.updates WHERE f[3] = '8';
    CREATE TABLE ldbc.follow AS
      SELECT follower, followee, min(created) AS created FROM (
        SELECT one, other, created FROM ldbc.friendship
        UNION SELECT other, one, created FROM ldbc.friendship) t (follower, followee, created)
      WHERE follower IN (SELECT id FROM ldbc.person) AND followee IN (SELECT id FROM ldbc.person)
      GROUP BY follower, followee;
    CREATE TABLE ldbc.post AS
      SELECT id, creator AS author, coalesce(content, '') AS content, coalesce(image, '') AS image,
        creation_date AS created FROM ldbc.post_file
      UNION SELECT f[4], f[12], f[10], f[5], ldbc.at(f[6]) FROM ldbc.updates WHERE f[3] = '6';
    CREATE TABLE ldbc.any_comment AS
      SELECT id, creator AS author, content, creation_date AS created,
        coalesce(reply_of_post, '') AS post, coalesce(reply_of_comment, '') AS parent
      FROM ldbc.comment_file
      UNION SELECT f[4], f[10], f[8], ldbc.at(f[5]), replace(f[12], '-1', ''),
        replace(f[13], '-1', '') FROM ldbc.updates WHERE f[3] = '7';
    CREATE TABLE ldbc.comment AS
      WITH RECURSIVE thread AS (
        SELECT id, author, content, created, post FROM ldbc.any_comment WHERE post <> ''
        UNION SELECT c.id, c.author, c.content, c.created, t.post
        FROM ldbc.any_comment c JOIN thread t ON c.parent = t.id AND c.post = '')
      SELECT t.*, p.author AS post_owner FROM thread t JOIN ldbc.post p ON p.id = t.post
      WHERE t.author IN (SELECT id FROM ldbc.person);
    CREATE TABLE ldbc.likes AS
      SELECT l.person, l.post, p.author AS post_owner, min(l.created) AS created FROM (
        SELECT person, post, creation_date FROM ldbc.likes_file
        UNION SELECT f[4], f[5], ldbc.at(f[6]) FROM ldbc.updates WHERE f[3] = '2'
      ) l (person, post, created) JOIN ldbc.post p ON p.id = l.post
      WHERE l.person IN (SELECT id FROM ldbc.person)
      GROUP BY l.person, l.post, p.author;
    CREATE INDEX ON ldbc.follow (follower);
    CREATE INDEX ON ldbc.post (author);
    CREATE INDEX ON ldbc.likes (post);
    CREATE INDEX ON ldbc.comment (post);
    ANALYZE;

    """

  /// Recipient, type, subject, UTC day, number of actors: likes by post and day, each comment, follows
  /// by day; without people's own actions.
  static let notifications = """
    SELECT post_owner, 0, post, (created AT TIME ZONE 'UTC')::date::text, count(*) FROM ldbc.likes
    WHERE person <> post_owner GROUP BY 1, 2, 3, 4
    UNION ALL
    SELECT post_owner, 1, id, NULL, 1 FROM ldbc.comment WHERE author <> post_owner
    UNION ALL
    SELECT followee, 2, '', (created AT TIME ZONE 'UTC')::date::text, count(*) FROM ldbc.follow
    GROUP BY 1, 2, 3, 4
    """
}

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
    CREATE TABLE ldbc.language_file (person text, language text, line serial);
    CREATE TABLE ldbc.update_file (line text);

    """

  static let views = """
    CREATE TABLE ldbc.updates AS
      SELECT string_to_array(line, '|') AS f FROM ldbc.update_file;
    CREATE FUNCTION ldbc.at(ms text) RETURNS timestamptz IMMUTABLE LANGUAGE sql AS
      $$ SELECT to_timestamp(0) + interval '1 millisecond' * ms::bigint $$;
    CREATE TABLE ldbc.person AS
      SELECT p.*, name AS nickname, '' AS image FROM (
        SELECT id, first_name || ' ' || last_name AS name, coalesce((
          SELECT l.language FROM ldbc.language_file l WHERE l.person = id ORDER BY l.line LIMIT 1
        ), '') AS locale FROM ldbc.person_file
        UNION SELECT f[4], f[5] || ' ' || f[6], split_part(f[13], ';', 1)
        FROM ldbc.updates WHERE f[3] = '1') p;
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
        creation_date AS created, NULL::timestamptz AS edited FROM ldbc.post_file
      UNION SELECT f[4], f[12], f[10], f[5], ldbc.at(f[6]), NULL
      FROM ldbc.updates WHERE f[3] = '6';
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
      SELECT t.*, p.author AS post_owner, NULL::timestamptz AS edited
      FROM thread t JOIN ldbc.post p ON p.id = t.post
      WHERE t.author IN (SELECT id FROM ldbc.person);
    CREATE TABLE ldbc.likes AS
      SELECT l.person, l.post, p.author AS post_owner, min(l.created) AS created FROM (
        SELECT person, post, creation_date FROM ldbc.likes_file
        UNION SELECT f[4], f[5], ldbc.at(f[6]) FROM ldbc.updates WHERE f[3] = '2'
      ) l (person, post, created) JOIN ldbc.post p ON p.id = l.post
      WHERE l.person IN (SELECT id FROM ldbc.person)
      GROUP BY l.person, l.post, p.author;
    -- Other people's likes, comments and follows, which raise alarms.
    CREATE VIEW ldbc.contribution AS
      SELECT post_owner AS recipient, 0 AS type, post AS subject,
        (created AT TIME ZONE 'UTC')::date::text AS day, person AS actor, post, '' AS comment, created
      FROM ldbc.likes WHERE person <> post_owner
      UNION ALL
      SELECT post_owner, 1, id, NULL, author, post, id, created
      FROM ldbc.comment WHERE author <> post_owner
      UNION ALL
      SELECT followee, 2, '', (created AT TIME ZONE 'UTC')::date::text, follower, '', '', created
      FROM ldbc.follow;
    CREATE INDEX ON ldbc.person (id);
    CREATE INDEX ON ldbc.follow (follower, followee);
    CREATE INDEX ON ldbc.post (id);
    CREATE INDEX ON ldbc.post (author);
    CREATE INDEX ON ldbc.likes (post);
    CREATE INDEX ON ldbc.comment (post);
    ANALYZE;

    """

  /// Recipient, type, subject, UTC day, number of actors: likes by post and day, each comment, follows
  /// by day; without people's own actions.
  static let notifications = """
    SELECT recipient, type, subject, day, count(*) FROM ldbc.contribution GROUP BY 1, 2, 3, 4
    """

  /// Changes the plain tables, because the files have no blocks, edits or images, and everybody is
  /// followed back; `ldbc.change` has an event of each change. Hashes choose, so every run is the same.
  static let changes = """
    CREATE TABLE ldbc.block (blocker text, blocked text);
    CREATE VIEW ldbc.apart (one, other) AS
      SELECT blocker, blocked FROM ldbc.block UNION SELECT blocked, blocker FROM ldbc.block;
    CREATE TABLE ldbc.change (type text, data jsonb, number serial);
    CREATE FUNCTION ldbc.hash(key text) RETURNS int IMMUTABLE LANGUAGE sql AS
      $$ SELECT ('x' || left(md5(key), 4))::bit(16)::int $$;

    WITH changed AS (
      DELETE FROM ldbc.follow WHERE ldbc.hash(follower || ' ' || followee) % 4 = 0 RETURNING *)
    INSERT INTO ldbc.change
      SELECT 'follow.removed', jsonb_build_object('follower', follower, 'followee', followee)
      FROM changed;
    WITH changed AS (
      INSERT INTO ldbc.block SELECT DISTINCT recipient, actor FROM ldbc.contribution
      WHERE ldbc.hash(actor || ' ' || recipient) % 24 = 0 RETURNING *)
    INSERT INTO ldbc.change
      SELECT 'person.blocked', jsonb_build_object('user', blocker, 'person', blocked) FROM changed;
    WITH changed AS (
      UPDATE ldbc.person SET image = 'https://img.example/' || id,
        nickname = (ARRAY['', reverse(name), '\u{200B} '])[1 + ldbc.hash(id) % 3]
      WHERE ldbc.hash(id) % 8 > 0 RETURNING *)
    INSERT INTO ldbc.change
      SELECT 'profile.changed', jsonb_build_object(
        'user', id, 'name', name, 'nickname', nickname, 'imageUrl', image, 'locale', locale)
      FROM changed;
    WITH changed AS (
      UPDATE ldbc.post SET content = 'edited ' || content, edited = '2013-01-01 00:00:00Z'
      WHERE ldbc.hash(id) % 8 = 0 RETURNING *)
    INSERT INTO ldbc.change
      SELECT 'post.published', jsonb_build_object(
        'post', id, 'author', author, 'caption', content, 'imageUrl', image)
      FROM changed;
    WITH changed AS (
      UPDATE ldbc.comment SET content = 'edited ' || content, edited = '2013-01-01 00:00:00Z'
      WHERE ldbc.hash(id) % 8 = 0 RETURNING *)
    INSERT INTO ldbc.change
      SELECT 'comment.created', jsonb_build_object(
        'comment', id, 'actor', author, 'post', post, 'postOwner', post_owner, 'text', content)
      FROM changed;
    ANALYZE;
    """

  /// The changes as lines for `magpie publish`, after everything in the files.
  static let changeLines = """
    SELECT jsonb_build_object(
      'type', 'magpie.' || type || '.v1', 'id', 'change-' || number, 'source', 'test',
      'time', '2013-01-01T00:00:00Z', 'data', data)::text
    FROM ldbc.change
    """
}

-- Each edge once: in e from the lower number, in ed from the end of lower degree.
CREATE TABLE e AS
SELECT DISTINCT LEAST(a, b) AS src, GREATEST(a, b) AS dst
FROM (SELECT ((n * 2654435761 + 1) % 4294967291 / 64 % 200)::INTEGER AS a, ((n * 2246822519 + 2) % 4294967291 / 64 % 200)::INTEGER AS b
      FROM generate_series(1::BIGINT, 2000::BIGINT) AS s(n)) AS drawn
WHERE a <> b;
CREATE TABLE ed AS
WITH degree AS (SELECT node, COUNT(*) AS d FROM (SELECT src AS node FROM e UNION ALL SELECT dst FROM e) AS ends GROUP BY node)
SELECT CASE WHEN s.d <= t.d THEN src ELSE dst END AS src, CASE WHEN s.d <= t.d THEN dst ELSE src END AS dst
FROM e JOIN degree AS s ON s.node = e.src JOIN degree AS t ON t.node = e.dst;

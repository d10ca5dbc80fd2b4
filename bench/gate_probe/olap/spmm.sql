-- A sparse a(i, k) and a dense b(k, j).
CREATE TABLE a AS
SELECT i, k, (i + k - 150)::DOUBLE PRECISION / 16 AS v
FROM (SELECT DISTINCT ((n * 2654435761 + 1) % 4294967291 / 64 % 150)::INTEGER AS i, ((n * 2246822519 + 2) % 4294967291 / 64 % 160)::INTEGER AS k
      FROM generate_series(1::BIGINT, 2500::BIGINT) AS s(n)) AS cell;
CREATE TABLE b AS
SELECT k::INTEGER AS k, j::INTEGER AS j, (k * 3 % 17 - j)::DOUBLE PRECISION / 8 AS v
FROM generate_series(0::BIGINT, 159::BIGINT) AS s(k) CROSS JOIN generate_series(0::BIGINT, 15::BIGINT) AS t(j);

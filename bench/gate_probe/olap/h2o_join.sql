-- One key in ten has no match on the other side.
CREATE TABLE small AS
SELECT (i * 7 % 11 + 2)::INTEGER AS id1, 'id' || (i * 7 % 11 + 2)::TEXT AS id4, i::DOUBLE PRECISION / 8 AS v2
FROM generate_series(1::BIGINT, 10::BIGINT) AS s(i);
CREATE TABLE medium AS
SELECT (i % 11 + 1)::INTEGER AS id1, (i * 37 % 301 + 20)::INTEGER AS id2, 'id' || (i % 11 + 1)::TEXT AS id4,
       'id' || (i * 37 % 301 + 20)::TEXT AS id5, i::DOUBLE PRECISION / 8 AS v2
FROM generate_series(1::BIGINT, 300::BIGINT) AS s(i);
CREATE TABLE big AS
SELECT (i % 11 + 1)::INTEGER AS id1, (i % 300 + 1)::INTEGER AS id2, (i * 3571 % 6007 + 500)::INTEGER AS id3,
       'id' || (i % 11 + 1)::TEXT AS id4, 'id' || (i % 300 + 1)::TEXT AS id5, 'id' || (i * 3571 % 6007 + 500)::TEXT AS id6,
       i::DOUBLE PRECISION / 8 AS v2
FROM generate_series(1::BIGINT, 6000::BIGINT) AS s(i);
CREATE TABLE x AS
SELECT (h1 % 11 + 1)::INTEGER AS id1, (h2 % 300 + 1)::INTEGER AS id2, (h3 % 6000 + 1)::INTEGER AS id3,
       'id' || (h1 % 11 + 1)::TEXT AS id4, 'id' || (h2 % 300 + 1)::TEXT AS id5, 'id' || (h3 % 6000 + 1)::TEXT AS id6,
       (h4 % 1000)::DOUBLE PRECISION / 8 AS v1
FROM (SELECT (i * 2654435761 + 1) % 4294967291 / 64 AS h1, (i * 2246822519 + 2) % 4294967291 / 64 AS h2,
             (i * 3266489917 + 3) % 4294967291 / 64 AS h3, (i * 668265263 + 4) % 4294967291 / 64 AS h4
      FROM generate_series(1::BIGINT, 6000::BIGINT) AS s(i)) AS mixed;

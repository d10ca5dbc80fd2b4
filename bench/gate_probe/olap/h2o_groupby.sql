CREATE TABLE x AS
SELECT 'id' || lpad((h1 % 100 + 1)::TEXT, 3, '0') AS id1, 'id' || lpad((h2 % 100 + 1)::TEXT, 3, '0') AS id2,
       'id' || lpad((h3 % 90 + 1)::TEXT, 10, '0') AS id3, (h4 % 100 + 1)::INTEGER AS id4, (h5 % 100 + 1)::INTEGER AS id5,
       (h6 % 90 + 1)::INTEGER AS id6, (h7 % 5 + 1)::INTEGER AS v1, (h8 % 15 + 1)::INTEGER AS v2,
       (h9 % 100000)::DOUBLE PRECISION / 1024 AS v3
FROM (SELECT (i * 2654435761 + 1) % 4294967291 / 64 AS h1, (i * 2246822519 + 2) % 4294967291 / 64 AS h2,
             (i * 3266489917 + 3) % 4294967291 / 64 AS h3, (i * 668265263 + 4) % 4294967291 / 64 AS h4,
             (i * 374761393 + 5) % 4294967291 / 64 AS h5, (i * 2654435789 + 6) % 4294967291 / 64 AS h6,
             (i * 1597334677 + 7) % 4294967291 / 64 AS h7, (i * 3812015801 + 8) % 4294967291 / 64 AS h8,
             (i * 958689263 + 9) % 4294967291 / 64 AS h9
      FROM generate_series(1::BIGINT, 9000::BIGINT) AS s(i)) AS mixed;

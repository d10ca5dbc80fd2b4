-- Stein variational gradient descent: particles start in one cloud and move to the samples of a density, here three bumps of
-- a standard deviation of 1/2. All pairs are near (theta 0), so that the partition holds while the particles move.
CREATE TABLE x (i BIGINT, c BIGINT, val DOUBLE PRECISION, PRIMARY KEY (i, c));
INSERT INTO x SELECT i, c, random_normal(7, i * 2 + c, 0.5) FROM generate_series(0, 299) AS a(i) CROSS JOIN generate_series(0, 1) AS b(c);
CREATE TABLE s (i BIGINT, c BIGINT, val DOUBLE PRECISION, PRIMARY KEY (i, c));
CREATE TABLE partition_by (leaf_size BIGINT, theta DOUBLE PRECISION);
INSERT INTO partition_by VALUES (32, 0.0);
CREATE TABLE bandwidth (id BIGINT PRIMARY KEY, h DOUBLE PRECISION);
INSERT INTO bandwidth VALUES (0, 0.4);
\i partition.sql
\i particles.sql
\i stein.sql

CREATE TABLE bump (k BIGINT, c BIGINT, val DOUBLE PRECISION, PRIMARY KEY (k, c));
INSERT INTO bump VALUES (0, 0, 0.0), (0, 1, 1.6), (1, 0, -1.5), (1, 1, -1.0), (2, 0, 1.5), (2, 1, -1.0);
CREATE VIEW log_density AS
WITH square AS (
  SELECT p.leaf, p.m, b.k, SUM((p.x - b.val) * (p.x - b.val)) AS val
  FROM particle p JOIN bump b ON b.c = p.c
  GROUP BY p.leaf, p.m, b.k
),
density AS (SELECT leaf, m, SUM(exp(-val / (2 * 0.5 * 0.5))) AS val FROM square GROUP BY leaf, m)
SELECT SUM(ln(val)) AS l FROM density;

-- The scores are a gradient too.
PREPARE score AS UPDATE particle SET s = grad(log_density, x);
PREPARE move AS UPDATE particle SET x = particle.x + 0.5 * phi.val
FROM phi WHERE phi.leaf = particle.leaf AND phi.c = particle.c AND phi.m = particle.m;

CREATE TABLE start (leaf BIGINT, c BIGINT, m BIGINT, x DOUBLE PRECISION, PRIMARY KEY (leaf, c, m));
INSERT INTO start SELECT leaf, c, m, x FROM particle;

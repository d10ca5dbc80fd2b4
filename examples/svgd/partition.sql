-- The leaves of a set of particles, and which pairs of leaves are near and which nodes far from each other: from
--
-- x(i, c, val)                   positions in any number of dimensions
-- partition_by(leaf_size, theta) particles a leaf; a pair of boxes is far if its radii are at most theta of its distance
--
-- Particles are put in the order of their Morton codes, in slots; a leaf is leaf_size consecutive slots and a node of level v
-- 2^v consecutive leaves. The walk starts from the root with itself and splits each pair that is not far into pairs of
-- children.

-- The code takes the bits of the axes in turn, axis 0 first, of the position in the bounding box as an integer.
CREATE TABLE slot (i BIGINT PRIMARY KEY, slot BIGINT, leaf BIGINT);
INSERT INTO slot
WITH axis AS (
  SELECT c, MIN(val) AS low, CASE WHEN MAX(val) > MIN(val) THEN MAX(val) - MIN(val) ELSE 1.0 END AS span
  FROM x GROUP BY c
),
resolution AS (
  SELECT COUNT(*) AS axes, LEAST(21, 63 / COUNT(*)) AS bits FROM axis
),
quantized AS (
  SELECT x.i, x.c, LEAST(floor((x.val - a.low) / a.span * (1::BIGINT << r.bits::INTEGER)::DOUBLE PRECISION)::BIGINT,
                         (1::BIGINT << r.bits::INTEGER) - 1) AS q, r.axes, r.bits
  FROM x JOIN axis a ON a.c = x.c CROSS JOIN resolution r
),
morton AS (
  SELECT i, SUM((q >> b.bit & 1) << (b.bit * axes + axes - 1 - c)::INTEGER)::BIGINT AS code
  FROM quantized JOIN generate_series(0, 20) AS b(bit) ON b.bit < bits
  GROUP BY i
),
ordered AS (
  SELECT i, ROW_NUMBER() OVER (ORDER BY code, i) - 1 AS slot FROM morton
)
SELECT o.i, o.slot, o.slot / p.leaf_size FROM ordered o CROSS JOIN partition_by p;

CREATE TABLE box (level BIGINT, node BIGINT, c BIGINT, low DOUBLE PRECISION, high DOUBLE PRECISION,
                  centre DOUBLE PRECISION, PRIMARY KEY (level, node, c));
INSERT INTO box
WITH leaves AS (
  SELECT s.leaf, x.c, MIN(x.val) AS low, MAX(x.val) AS high FROM x JOIN slot s ON s.i = x.i GROUP BY s.leaf, x.c
),
levels AS (
  SELECT g.level FROM generate_series(0, 40) AS g(level) CROSS JOIN (SELECT MAX(leaf) AS last FROM slot) m
  WHERE g.level = 0 OR m.last >> (g.level - 1) > 0
)
SELECT v.level, l.leaf >> v.level AS node, l.c, MIN(l.low), MAX(l.high), 0.5 * (MIN(l.low) + MAX(l.high))
FROM leaves l CROSS JOIN levels v
GROUP BY v.level, l.leaf >> v.level, l.c;

CREATE TABLE node (level BIGINT, node BIGINT, parent BIGINT, radius DOUBLE PRECISION, PRIMARY KEY (level, node));
INSERT INTO node
SELECT level, node, node >> 1, 0.5 * sqrt(SUM((high - low) * (high - low))) FROM box GROUP BY level, node;

-- a <= b, and at level 0 every pair that is not far is near.
CREATE TABLE node_pair (level BIGINT, a BIGINT, b BIGINT, far BOOLEAN, PRIMARY KEY (level, a, b));
INSERT INTO node_pair
WITH RECURSIVE walk AS (
  SELECT MAX(level) AS level, 0::BIGINT AS a, 0::BIGINT AS b, FALSE AS far FROM node
  UNION ALL
  SELECT u.level, u.node, v.node,
         (u.radius + v.radius) * (u.radius + v.radius) <= p.theta * p.theta * d.square AND d.square > 0
  FROM walk w JOIN node u ON u.level = w.level - 1 AND u.parent = w.a
              JOIN node v ON v.level = w.level - 1 AND v.parent = w.b
              CROSS JOIN partition_by p
              CROSS JOIN LATERAL (
    SELECT SUM((f.centre - g.centre) * (f.centre - g.centre)) AS square
    FROM box f JOIN box g ON g.c = f.c
    WHERE f.level = u.level AND f.node = u.node AND g.level = v.level AND g.node = v.node) d
  WHERE NOT w.far AND u.node <= v.node
)
SELECT level, a, b, far FROM walk;

CREATE VIEW near AS SELECT a, b FROM node_pair WHERE level = 0 AND NOT far;

-- The slots [a_low, a_high) and [b_low, b_high) of each far pair of nodes.
CREATE VIEW far AS
SELECT f.a * w.width AS a_low, LEAST((f.a + 1) * w.width, n.n) AS a_high,
       f.b * w.width AS b_low, LEAST((f.b + 1) * w.width, n.n) AS b_high
FROM node_pair f
CROSS JOIN LATERAL (SELECT p.leaf_size << f.level::INTEGER AS width FROM partition_by p) w
CROSS JOIN (SELECT COUNT(*) AS n FROM slot) n
WHERE f.far;

-- The near pairs as a grid of one axis. apart = 0: a leaf with itself, all of whose pairs of particles are in both orders.
CREATE TABLE near_pair (p BIGINT PRIMARY KEY, a BIGINT, b BIGINT, apart DOUBLE PRECISION);
INSERT INTO near_pair
SELECT ROW_NUMBER() OVER (ORDER BY a, b) - 1, a, b, CASE WHEN a = b THEN 0.0 ELSE 1.0 END FROM near;

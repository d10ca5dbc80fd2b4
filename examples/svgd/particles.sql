-- The particles x(i, c, val), s(i, c, val) as grids: in the slots of partition.sql, by leaf and place in the leaf. A place that
-- the last leaf has no particle for has live = 0.
CREATE TABLE place (leaf BIGINT, m BIGINT, live DOUBLE PRECISION, PRIMARY KEY (leaf, m));
CREATE TABLE particle (leaf BIGINT, c BIGINT, m BIGINT, x DOUBLE PRECISION, s DOUBLE PRECISION, live DOUBLE PRECISION,
                       PRIMARY KEY (leaf, c, m));
CREATE VIEW placed AS
SELECT s.i, s.leaf, s.slot % p.leaf_size AS m FROM slot s CROSS JOIN partition_by p;

INSERT INTO place
SELECT l.leaf, m.m, CASE WHEN t.i IS NULL THEN 0.0 ELSE 1.0 END
FROM (SELECT DISTINCT leaf FROM slot) l CROSS JOIN (SELECT DISTINCT m FROM placed) m
     LEFT JOIN placed t ON t.leaf = l.leaf AND t.m = m.m;

INSERT INTO particle
SELECT p.leaf, a.c, p.m, COALESCE(x.val, 0.0), COALESCE(s.val, 0.0), p.live
FROM place p CROSS JOIN (SELECT DISTINCT c FROM x) a
     LEFT JOIN placed t ON t.leaf = p.leaf AND t.m = p.m
     LEFT JOIN x ON x.i = t.i AND x.c = a.c
     LEFT JOIN s ON s.i = t.i AND s.c = a.c;

-- Stein's update of particles x with scores s under the kernel k(x, y) = exp(-|x - y|^2 / (2 h^2)), over the near pairs:
--
--   phi_i = SUM over j of k_ij (s_j + (x_i - x_j) / h^2) / N
--
-- particle(leaf, c, m, x, s, live)    place(leaf, m, live)    neighbour(leaf, q, other, near)    slot    bandwidth(id, h)
--
-- The sum is two products with the matrix k: of s - x / h^2, and of ones. A grid of neighbours instead of a list of pairs of
-- leaves makes every step one over arrays, forwards and backwards.
--
-- Differentiate `objective` with respect to x and s of particle and h of bandwidth.
CREATE VIEW phi AS
WITH weight AS (
  SELECT SUM(1 / (h * h)) AS w FROM bandwidth
),
source AS (
  SELECT n.leaf, n.q, v.c, v.m, v.x, v.s, n.near * v.live AS near
  FROM neighbour n JOIN particle v ON v.leaf = n.other
),
square AS (
  SELECT v.leaf, v.q, u.m AS i, v.m AS j, SUM((u.x - v.x) * (u.x - v.x)) AS val
  FROM source v JOIN particle u ON u.leaf = v.leaf AND u.c = v.c
  GROUP BY v.leaf, v.q, u.m, v.m
),
kernel AS (
  SELECT leaf, q, i, j, exp(-0.5 * w * val) AS val FROM square CROSS JOIN weight
),
pull AS (
  SELECT leaf, q, c, m, near * (s - w * x) AS val FROM source CROSS JOIN weight
),
pulls AS (
  SELECT k.leaf, k.i AS m, v.c, SUM(k.val * v.val) AS val
  FROM kernel k JOIN pull v ON v.leaf = k.leaf AND v.q = k.q AND v.m = k.j
  GROUP BY k.leaf, k.i, v.c
),
ones AS (
  SELECT n.leaf, n.q, p.m, n.near * p.live AS val FROM neighbour n JOIN place p ON p.leaf = n.other
),
masses AS (
  SELECT k.leaf, k.i AS m, SUM(k.val * v.val) AS val
  FROM kernel k JOIN ones v ON v.leaf = k.leaf AND v.q = k.q AND v.m = k.j
  GROUP BY k.leaf, k.i
)
SELECT u.leaf, u.c, u.m, u.live * (y.val + w * u.x * z.val) / n.n AS val
FROM particle u JOIN pulls y ON y.leaf = u.leaf AND y.m = u.m AND y.c = u.c
                JOIN masses z ON z.leaf = u.leaf AND z.m = u.m
                CROSS JOIN weight CROSS JOIN (SELECT COUNT(*) AS n FROM slot) n;

CREATE VIEW objective AS SELECT SUM(val * val) AS l FROM phi;

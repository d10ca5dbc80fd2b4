-- Stein's update of particles x with scores s under the kernel k(x, y) = exp(-|x - y|^2 / (2 h^2)), over the near pairs:
--
--   phi_i = SUM over j of k_ij (s_j + (x_i - x_j) / h^2) / N
--
-- particle(leaf, c, m, x, s, live)    near_pair(p, a, b, apart)    slot    bandwidth(id, h)
--
-- The sum is two products with the matrix k: of s - x / h^2, and of ones. One matrix of a pair of leaves a < b serves both
-- orders: what b does to a by its rows, and what a does to b by its columns.
--
-- Differentiate `objective` with respect to x and s of particle and h of bandwidth.
CREATE VIEW phi AS
WITH weight AS (
  SELECT SUM(1 / (h * h)) AS w FROM bandwidth
),
source AS (
  SELECT leaf, c, m, x, live * (s - w * x) AS pull FROM particle CROSS JOIN weight
),
first AS (
  SELECT n.p, u.c, u.m, u.x, n.apart * u.pull AS pull FROM near_pair n JOIN source u ON u.leaf = n.a
),
second AS (
  SELECT n.p, v.c, v.m, v.x, v.pull FROM near_pair n JOIN source v ON v.leaf = n.b
),
first_ones AS (
  SELECT n.p, u.m, n.apart * u.live AS live FROM near_pair n JOIN place u ON u.leaf = n.a
),
second_ones AS (
  SELECT n.p, v.m, v.live FROM near_pair n JOIN place v ON v.leaf = n.b
),
square AS (
  SELECT u.p, u.m AS i, v.m AS j, SUM((u.x - v.x) * (u.x - v.x)) AS val
  FROM first u JOIN second v ON v.p = u.p AND v.c = u.c
  GROUP BY u.p, u.m, v.m
),
kernel AS (
  SELECT p, i, j, exp(-0.5 * w * val) AS val FROM square CROSS JOIN weight
),
to_first AS (
  SELECT k.p, v.c, k.i AS m, SUM(k.val * v.pull) AS val
  FROM kernel k JOIN second v ON v.p = k.p AND v.m = k.j
  GROUP BY k.p, v.c, k.i
),
to_second AS (
  SELECT k.p, u.c, k.j AS m, SUM(k.val * u.pull) AS val
  FROM first u JOIN kernel k ON k.p = u.p AND k.i = u.m
  GROUP BY k.p, u.c, k.j
),
mass_of_first AS (
  SELECT k.p, k.i AS m, SUM(k.val * v.live) AS val
  FROM kernel k JOIN second_ones v ON v.p = k.p AND v.m = k.j
  GROUP BY k.p, k.i
),
mass_of_second AS (
  SELECT k.p, k.j AS m, SUM(k.val * u.live) AS val
  FROM kernel k JOIN first_ones u ON u.p = k.p AND u.m = k.i
  GROUP BY k.p, k.j
),
first_pulls AS (
  SELECT n.a AS leaf, t.c, t.m, SUM(t.val) AS val FROM to_first t JOIN near_pair n ON n.p = t.p GROUP BY n.a, t.c, t.m
),
second_pulls AS (
  SELECT n.b AS leaf, t.c, t.m, SUM(t.val) AS val FROM to_second t JOIN near_pair n ON n.p = t.p GROUP BY n.b, t.c, t.m
),
first_masses AS (
  SELECT n.a AS leaf, t.m, SUM(t.val) AS val FROM mass_of_first t JOIN near_pair n ON n.p = t.p GROUP BY n.a, t.m
),
second_masses AS (
  SELECT n.b AS leaf, t.m, SUM(t.val) AS val FROM mass_of_second t JOIN near_pair n ON n.p = t.p GROUP BY n.b, t.m
)
SELECT u.leaf, u.c, u.m, u.live * (y.val + z.val + w * u.x * (f.val + g.val)) / n.n AS val
FROM particle u JOIN first_pulls y ON y.leaf = u.leaf AND y.c = u.c AND y.m = u.m
                JOIN second_pulls z ON z.leaf = u.leaf AND z.c = u.c AND z.m = u.m
                JOIN first_masses f ON f.leaf = u.leaf AND f.m = u.m
                JOIN second_masses g ON g.leaf = u.leaf AND g.m = u.m
                CROSS JOIN weight CROSS JOIN (SELECT COUNT(*) AS n FROM slot) n;

CREATE VIEW objective AS SELECT SUM(val * val) AS l FROM phi;

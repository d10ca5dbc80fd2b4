-- A character-level GPT with one block: forward pass and loss, every size taken from the data.
-- The same model as jax_gpt.py with `--head untied`, and the same table names.
--
-- batch(b, t, token, target)   one row per position of each sequence; target is the token to predict
-- wte(v, c, val) wpe(t, c, val)                                   token and position embeddings
-- h0_ln_1(c, val) h0_ln_2(c, val) ln_f(c, val)                    LayerNorm gains
-- h0_wq(c, h, d, val) h0_wk(c, h, d, val) h0_wv(c, h, d, val)     projections into heads
-- h0_wo(h, d, c, val)                                             projection out of heads
-- h0_w_fc(c, f, val) h0_w_proj(f, c, val)                         MLP
-- w_head(c, v, val)                                               logits
--
-- Every column but val is a dimension. Differentiate `loss` with respect to the val of any parameter table.
WITH x0 AS (
  SELECT tok.b, tok.t, e.c, e.val + p.val AS val
  FROM batch tok
  JOIN wte e ON e.v = tok.token
  JOIN wpe p ON p.t = tok.t AND p.c = e.c
),
-- attention
mean1 AS (
  SELECT b, t, AVG(val) AS val FROM x0 GROUP BY b, t
),
var1 AS (
  SELECT x.b, x.t, AVG((x.val - m.val) * (x.val - m.val)) AS val
  FROM x0 x JOIN mean1 m ON m.b = x.b AND m.t = x.t
  GROUP BY x.b, x.t
),
n1 AS (
  SELECT x.b, x.t, x.c, (x.val - m.val) / sqrt(s.val + 0.00001) * g.val AS val
  FROM x0 x
  JOIN mean1 m ON m.b = x.b AND m.t = x.t
  JOIN var1 s ON s.b = x.b AND s.t = x.t
  JOIN h0_ln_1 g ON g.c = x.c
),
q AS (
  SELECT n.b, n.t, w.h, w.d, SUM(n.val * w.val) AS val
  FROM n1 n JOIN h0_wq w ON w.c = n.c
  GROUP BY n.b, n.t, w.h, w.d
),
k AS (
  SELECT n.b, n.t, w.h, w.d, SUM(n.val * w.val) AS val
  FROM n1 n JOIN h0_wk w ON w.c = n.c
  GROUP BY n.b, n.t, w.h, w.d
),
v AS (
  SELECT n.b, n.t, w.h, w.d, SUM(n.val * w.val) AS val
  FROM n1 n JOIN h0_wv w ON w.c = n.c
  GROUP BY n.b, n.t, w.h, w.d
),
-- i asks, j answers: only the positions up to its own; COUNT(*) is the number of channels of a head
scores AS (
  SELECT q.b, q.h, q.t AS i, k.t AS j, SUM(q.val * k.val) / sqrt(COUNT(*)) AS val
  FROM q JOIN k ON k.b = q.b AND k.h = q.h AND k.d = q.d AND k.t <= q.t
  GROUP BY q.b, q.h, q.t, k.t
),
peaks AS (
  SELECT b, h, i, j, val, MAX(val) OVER (PARTITION BY b, h, i) AS peak FROM scores
),
weights AS (
  SELECT b, h, i, j, exp(val - peak) AS val FROM peaks
),
totals AS (
  SELECT b, h, i, j, val, SUM(val) OVER (PARTITION BY b, h, i) AS total FROM weights
),
att AS (
  SELECT b, h, i, j, val / total AS val FROM totals
),
o AS (
  SELECT a.b, a.i AS t, a.h, v.d, SUM(a.val * v.val) AS val
  FROM att a JOIN v ON v.b = a.b AND v.h = a.h AND v.t = a.j
  GROUP BY a.b, a.i, a.h, v.d
),
y1 AS (
  SELECT o.b, o.t, w.c, SUM(o.val * w.val) AS val
  FROM o JOIN h0_wo w ON w.h = o.h AND w.d = o.d
  GROUP BY o.b, o.t, w.c
),
x1 AS (
  SELECT x.b, x.t, x.c, x.val + y.val AS val
  FROM x0 x JOIN y1 y ON y.b = x.b AND y.t = x.t AND y.c = x.c
),
-- MLP
mean2 AS (
  SELECT b, t, AVG(val) AS val FROM x1 GROUP BY b, t
),
var2 AS (
  SELECT x.b, x.t, AVG((x.val - m.val) * (x.val - m.val)) AS val
  FROM x1 x JOIN mean2 m ON m.b = x.b AND m.t = x.t
  GROUP BY x.b, x.t
),
n2 AS (
  SELECT x.b, x.t, x.c, (x.val - m.val) / sqrt(s.val + 0.00001) * g.val AS val
  FROM x1 x
  JOIN mean2 m ON m.b = x.b AND m.t = x.t
  JOIN var2 s ON s.b = x.b AND s.t = x.t
  JOIN h0_ln_2 g ON g.c = x.c
),
u AS (
  SELECT n.b, n.t, w.f, SUM(n.val * w.val) AS val
  FROM n2 n JOIN h0_w_fc w ON w.c = n.c
  GROUP BY n.b, n.t, w.f
),
gelu AS (
  SELECT b, t, f,
         0.5 * val * (1.0 + tanh(0.7978845608028654 * (val + 0.044715 * val * val * val))) AS val
  FROM u
),
y2 AS (
  SELECT g.b, g.t, w.c, SUM(g.val * w.val) AS val
  FROM gelu g JOIN h0_w_proj w ON w.f = g.f
  GROUP BY g.b, g.t, w.c
),
x2 AS (
  SELECT x.b, x.t, x.c, x.val + y.val AS val
  FROM x1 x JOIN y2 y ON y.b = x.b AND y.t = x.t AND y.c = x.c
),
-- logits and cross-entropy
mean3 AS (
  SELECT b, t, AVG(val) AS val FROM x2 GROUP BY b, t
),
var3 AS (
  SELECT x.b, x.t, AVG((x.val - m.val) * (x.val - m.val)) AS val
  FROM x2 x JOIN mean3 m ON m.b = x.b AND m.t = x.t
  GROUP BY x.b, x.t
),
n3 AS (
  SELECT x.b, x.t, x.c, (x.val - m.val) / sqrt(s.val + 0.00001) * g.val AS val
  FROM x2 x
  JOIN mean3 m ON m.b = x.b AND m.t = x.t
  JOIN var3 s ON s.b = x.b AND s.t = x.t
  JOIN ln_f g ON g.c = x.c
),
logits AS (
  SELECT n.b, n.t, w.v, SUM(n.val * w.val) AS val
  FROM n3 n JOIN w_head w ON w.c = n.c
  GROUP BY n.b, n.t, w.v
),
highest AS (
  SELECT b, t, MAX(val) AS val FROM logits GROUP BY b, t
),
norms AS (
  SELECT z.b, z.t, SUM(exp(z.val - m.val)) AS val
  FROM logits z JOIN highest m ON m.b = z.b AND m.t = z.t
  GROUP BY z.b, z.t
),
loss AS (
  SELECT AVG(m.val + ln(n.val) - z.val) AS l
  FROM batch tok
  JOIN logits z ON z.b = tok.b AND z.t = tok.t AND z.v = tok.target
  JOIN highest m ON m.b = tok.b AND m.t = tok.t
  JOIN norms n ON n.b = tok.b AND n.t = tok.t
)
SELECT l FROM loss;

-- products of two factors' rows, u(i, k) and v(j, k), at the cells of a sparse r(i, j)
SELECT r.i, r.j, SUM(u.x * v.x) AS x
FROM r
JOIN u ON u.i = r.i
JOIN v ON v.j = r.j AND v.k = u.k
GROUP BY r.i, r.j;

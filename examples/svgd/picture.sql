-- The particles before and after as an SVG picture, a line a mark: none has a comma, so that none is quoted.
COPY (
  WITH moved AS (
    SELECT 0 AS panel, round(550 * a.x) / 10 AS x, round(550 * b.x) / 10 AS y, a.leaf, a.m FROM start a JOIN start b ON b.leaf = a.leaf AND b.m = a.m AND b.c = 1 WHERE a.c = 0
    UNION ALL
    SELECT 1, round(550 * a.x) / 10, round(550 * b.x) / 10, a.leaf, a.m FROM particle a JOIN particle b ON b.leaf = a.leaf AND b.m = a.m AND b.c = 1 WHERE a.c = 0
  ),
  lines AS (
    SELECT 0 AS part, 0::BIGINT AS leaf, 0::BIGINT AS m,
           '<svg xmlns=''http://www.w3.org/2000/svg'' width=''720'' height=''380'' font-family=''sans-serif'' font-size=''14''>' AS line
    UNION ALL SELECT 1, 0, 0, '<rect width=''720'' height=''380'' fill=''white''/>'
    UNION ALL SELECT 2, 0, 0, '<text x=''180'' y=''24'' text-anchor=''middle''>before</text>'
    UNION ALL SELECT 3, 0, 0, '<text x=''540'' y=''24'' text-anchor=''middle''>after</text>'
    UNION ALL
    SELECT 4, a.k, p.panel, '<circle cx=''' || (180 + 360 * p.panel + 55 * a.val)::TEXT || ''' cy=''' || (200 - 55 * b.val)::TEXT
                            || ''' r=''55'' fill=''none'' stroke=''#c44e52''/>'
    FROM bump a JOIN bump b ON b.k = a.k AND b.c = 1 CROSS JOIN generate_series(0, 1) AS p(panel) WHERE a.c = 0
    UNION ALL
    SELECT 5 + t.panel, t.leaf, t.m, '<circle cx=''' || (180 + 360 * t.panel + t.x)::TEXT || ''' cy=''' || (200 - t.y)::TEXT
                          || ''' r=''2'' fill=''#4c72b0''/>'
    FROM moved t JOIN particle p ON p.leaf = t.leaf AND p.m = t.m AND p.c = 0 WHERE p.live = 1
    UNION ALL SELECT 7, 0, 0, '</svg>'
  )
  SELECT line FROM lines ORDER BY part, leaf, m
) TO 'particles.svg' (FORMAT csv);

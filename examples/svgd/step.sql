EXECUTE score;
EXECUTE move;

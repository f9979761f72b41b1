"""Control flow at trace time: branches, loops, what merges behind them and what loops carry."""

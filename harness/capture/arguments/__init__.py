"""Values of a call as Python text, and the memory behind them."""

"""The statements of a T function, its parameters and its calls."""

"""The record: lines of judged cases, their index, and questions to them."""
